#include "runtime/cuda/matmul.h"

#include "lang/core/op.h"

namespace tg::cuda {

namespace {

/// Algorithms that are asked for, and measured where there are several.
constexpr int kMostCandidates = 8;

Result<void> check(int status, const char* what) {
  if (status == 0) return {};
  return error(Code::device, "cuBLASLt gave no {0} (status {1})", what, status);
}

int data_type(DType dtype) {
  return dtype == DType::F16 ? kLtReal16F : dtype == DType::BF16 ? kLtReal16BF : kLtReal32F;
}

int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

/// 0 where one matrix serves the whole batch; -1 where some axes broadcast and others do not.
int64_t batch_stride(llvm::ArrayRef<int64_t> shape, int64_t batch) {
  int64_t own = product(shape.drop_back(2));
  if (own == batch && batch > 1) return shape.back() * shape[shape.size() - 2];
  return own == 1 ? 0 : -1;
}

} // namespace

std::optional<MatmulProblem> matmul_problem(const Plan& plan, const PlanStep& step) {
  if (step.op != OpKind::Matmul) return std::nullopt;
  auto type = [&](size_t i) -> const TensorType& { return plan.values[step.operands[i]].type; };
  const TensorType& result = plan.values[step.result].type;
  llvm::ArrayRef<int64_t> x = type(0).shape, y = type(1).shape, out = result.shape;
  std::optional<Act> act = parse_act(step.attrs[0].text);
  if (!is_float(result.dtype) || !act || (*act != Act::None && *act != Act::Relu))
    return std::nullopt;
  for (PlanValueId operand : step.operands)
    if (operand != kNoValue && plan.values[operand].type.dtype != result.dtype) return std::nullopt;
  MatmulProblem p;
  p.dtype = result.dtype;
  p.m = out[out.size() - 2];
  p.n = out.back();
  p.k = x.back();
  p.batch = product(out.drop_back(2));
  p.x_stride = batch_stride(x, p.batch);
  p.y_stride = batch_stride(y, p.batch);
  p.bias = step.operands[2] != kNoValue;
  p.residual = step.operands[3] != kNoValue;
  p.relu = *act == Act::Relu;
  if (p.x_stride < 0 || p.y_stride < 0) return std::nullopt;
  if (p.batch > 1 && p.x_stride > 0 && p.y_stride == 0) { // one matrix: rows go on
    p.m *= p.batch;
    p.batch = 1;
    p.x_stride = 0;
  }
  return p;
}

Result<std::unique_ptr<BlasLt>> BlasLt::open() {
  std::unique_ptr<BlasLt> blas(new BlasLt());
  TG_TRY(blas->file_, SharedLibrary::open(Library::CublasLt));
  LtApi& api = blas->api_;
  const SharedLibrary& file = *blas->file_;
  bool complete = file.find(api.create, "cublasLtCreate") &&
                  file.find(api.destroy, "cublasLtDestroy") &&
                  file.find(api.desc_create, "cublasLtMatmulDescCreate") &&
                  file.find(api.desc_destroy, "cublasLtMatmulDescDestroy") &&
                  file.find(api.desc_set, "cublasLtMatmulDescSetAttribute") &&
                  file.find(api.layout_create, "cublasLtMatrixLayoutCreate") &&
                  file.find(api.layout_destroy, "cublasLtMatrixLayoutDestroy") &&
                  file.find(api.layout_set, "cublasLtMatrixLayoutSetAttribute") &&
                  file.find(api.preference_create, "cublasLtMatmulPreferenceCreate") &&
                  file.find(api.preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
                  file.find(api.preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
                  file.find(api.heuristic, "cublasLtMatmulAlgoGetHeuristic") &&
                  file.find(api.matmul, "cublasLtMatmul");
  if (!complete) return error(Code::no_backend, "cuBLASLt lacks a function: an older version?");
  TG_CHECK(check(api.create(&blas->handle_), "handle"));
  return blas;
}

Result<std::unique_ptr<BlasLt>> BlasLt::over(const LtApi& api) {
  std::unique_ptr<BlasLt> blas(new BlasLt());
  blas->api_ = api;
  TG_CHECK(check(api.create(&blas->handle_), "handle"));
  return blas;
}

BlasLt::~BlasLt() {
  if (handle_) api_.destroy(handle_);
}

Result<LtObject> BlasLt::layout(DType dtype, int64_t rows, int64_t columns, int64_t batch,
                                int64_t stride) const {
  void* raw = nullptr;
  TG_CHECK(check(api_.layout_create(&raw, data_type(dtype), static_cast<uint64_t>(rows),
                                    static_cast<uint64_t>(columns), rows),
                 "layout"));
  LtObject object(raw, [destroy = api_.layout_destroy](void* p) { destroy(p); });
  if (batch > 1) {
    auto count = static_cast<int32_t>(batch);
    TG_CHECK(check(api_.layout_set(raw, kLtBatchCount, &count, sizeof count), "batch"));
    TG_CHECK(check(api_.layout_set(raw, kLtBatchStride, &stride, sizeof stride), "batch"));
  }
  return object;
}

Result<std::unique_ptr<MatmulPlan>> BlasLt::plan(const MatmulProblem& p,
                                                 int64_t workspace_limit) const {
  auto plan = std::make_unique<MatmulPlan>();
  plan->api_ = &api_;
  plan->handle_ = handle_;
  plan->problem_ = p;
  void* desc = nullptr;
  TG_CHECK(check(api_.desc_create(&desc, kLtCompute32F, kLtReal32F), "product"));
  plan->desc_ = LtObject(desc, [destroy = api_.desc_destroy](void* d) { destroy(d); });
  int32_t epilogue = (p.relu ? kLtEpilogueRelu : 0) | (p.bias ? kLtEpilogueBias : 0);
  if (epilogue == 0) epilogue = kLtEpilogueNone;
  TG_CHECK(check(api_.desc_set(desc, kLtEpilogue, &epilogue, sizeof epilogue), "epilogue"));
  TG_TRY(plan->y_, layout(p.dtype, p.n, p.k, p.batch, p.y_stride));
  TG_TRY(plan->x_, layout(p.dtype, p.k, p.m, p.batch, p.x_stride));
  TG_TRY(plan->result_, layout(p.dtype, p.n, p.m, p.batch, p.m * p.n));
  TG_CHECK(find_algorithms(*plan, workspace_limit));
  return plan;
}

Result<void> BlasLt::find_algorithms(MatmulPlan& plan, int64_t workspace_limit) const {
  void* raw = nullptr;
  TG_CHECK(check(api_.preference_create(&raw), "preference"));
  LtObject preference(raw, [destroy = api_.preference_destroy](void* p) { destroy(p); });
  auto limit = static_cast<uint64_t>(workspace_limit);
  TG_CHECK(check(api_.preference_set(raw, kLtMaxWorkspace, &limit, sizeof limit), "preference"));
  std::vector<LtHeuristic> found(kMostCandidates);
  int count = 0;
  int status =
      api_.heuristic(handle_, plan.desc_.get(), plan.y_.get(), plan.x_.get(), plan.result_.get(),
                     plan.result_.get(), raw, kMostCandidates, found.data(), &count);
  for (int i = 0; status == 0 && i < count; ++i)
    if (found[i].state == 0) plan.found_.push_back(found[i]);
  if (!plan.found_.empty()) return {};
  const MatmulProblem& p = plan.problem_;
  return error(Code::no_kernel, "cuBLASLt has no algorithm for {0} x {1} x {2} (status {3})", p.m,
               p.n, p.k, status);
}

Result<void> MatmulPlan::run(size_t candidate, const MatmulAddresses& at, void* stream) const {
  auto pointer = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  if (problem_.bias) {
    void* bias = pointer(at.bias);
    TG_CHECK(check(api_->desc_set(desc_.get(), kLtBiasPointer, &bias, sizeof bias), "bias"));
  }
  const LtHeuristic& how = found_[candidate];
  float alpha = 1, beta = problem_.residual ? 1.0f : 0.0f;
  return check(api_->matmul(handle_, desc_.get(), &alpha, pointer(at.y), y_.get(), pointer(at.x),
                            x_.get(), &beta, pointer(problem_.residual ? at.residual : at.result),
                            result_.get(), pointer(at.result), result_.get(), &how.algorithm,
                            pointer(at.workspace), how.workspace_bytes, stream),
               "product");
}

} // namespace tg::cuda
