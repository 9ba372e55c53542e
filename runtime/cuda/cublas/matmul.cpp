#include "runtime/cuda/cublas/matmul.h"

#include "lang/core/op.h"
#include "runtime/cuda/codegen/pull.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cuda {

namespace {

/// The maximum number of requested algorithms; if there are several, they are measured.
constexpr int kMostCandidates = 8;

Result<void> check(int status, const char* what) {
  if (status == 0) return {};
  return error(Code::device, "cuBLASLt returned no {0} (status {1})", what, status);
}

int data_type(DType dtype) {
  return dtype == DType::F16 ? kLtReal16F : dtype == DType::BF16 ? kLtReal16BF : kLtReal32F;
}

/// Returns the distance in elements between matrices of a batch indexed by `out`;
/// nullopt if it is not uniform.
std::optional<int64_t> batch_stride(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                                    llvm::ArrayRef<int64_t> out) {
  std::optional<int64_t> stride, next; // next: required stride of the next outer axis
  for (size_t back = 1; back <= out.size(); ++back) {
    if (out[out.size() - back] == 1) continue;
    bool there = back <= shape.size() && shape[shape.size() - back] != 1;
    int64_t own = there ? strides[shape.size() - back] : 0;
    if (next && own != *next) return std::nullopt;
    if (!stride) stride = own;
    next = own * out[out.size() - back];
  }
  return stride.value_or(0);
}

/// Returns nullopt if neither rows nor columns are contiguous.
std::optional<MatrixLayout> layout_of(llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> strides,
                                      llvm::ArrayRef<int64_t> out_batch) {
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  int64_t down = strides[strides.size() - 2], right = strides.back();
  MatrixLayout layout;
  if ((right == 1 || columns == 1) && (rows == 1 || down >= columns)) {
    layout.leading = rows == 1 ? columns : down;
  } else if ((down == 1 || rows == 1) && (columns == 1 || right >= rows)) {
    layout.leading = columns == 1 ? rows : right;
    layout.transposed = true;
  } else {
    return std::nullopt;
  }
  std::optional<int64_t> stride = batch_stride(shape.drop_back(2), strides.drop_back(2), out_batch);
  if (!stride) return std::nullopt;
  layout.stride = *stride;
  return layout;
}

/// If a batch shares one matrix y and its rows are contiguous across matrices,
/// makes it one product.
void merge_batch(MatmulProblem& p) {
  bool goes_on = p.y.stride == 0 && !p.x.transposed && p.x.stride == p.m * p.x.leading &&
                 p.result.stride == p.m * p.result.leading;
  if (p.batch == 1 || !goes_on) return;
  p.m *= p.batch;
  p.batch = 1;
  p.x.stride = p.result.stride = 0;
}

Shape strides_or_row_major(const Shape& strides, llvm::ArrayRef<int64_t> shape) {
  return strides.empty() ? contiguous_strides(shape) : strides;
}

} // namespace

std::string text(const MatmulProblem& p) {
  std::string out = llvm::formatv("matmul {0} {1}x{2}x{3}", dtype_name(p.dtype), p.m, p.k, p.n);
  if (p.batch > 1) out += llvm::formatv(" batch {0}", p.batch);
  auto layout = [&](const char* name, const MatrixLayout& l, int64_t plain) {
    if (p.batch > 1 || l.transposed || l.leading != plain)
      out += llvm::formatv(" {0}{1}:{2}+{3}", name, l.transposed ? "'" : "", l.leading, l.stride);
  };
  layout("x", p.x, p.k);
  layout("y", p.y, p.n);
  layout("z", p.result, p.n);
  for (auto [on, word] :
       {std::pair{p.bias, " bias"}, std::pair{p.residual, " residual"}, std::pair{p.relu, " relu"},
        std::pair{p.gelu, " gelu_tanh"}, std::pair{p.tf32, " tf32"}})
    if (on) out += word;
  return out;
}

bool has_few_rows(const MatmulProblem& problem) {
  return problem.batch == 1 && problem.m < kFewRows && !problem.gelu;
}

std::optional<MatmulProblem> matmul_problem(const Plan& plan, const PlanStep& step,
                                            const MatmulStrides& strides, bool allow_tf32) {
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
  for (int64_t size : out.drop_back(2)) p.batch *= size;
  auto left = layout_of(x, strides_or_row_major(strides.x, x), out.drop_back(2));
  auto right = layout_of(y, strides_or_row_major(strides.y, y), out.drop_back(2));
  auto made = layout_of(out, strides_or_row_major(strides.result, out), out.drop_back(2));
  if (!left || !right || !made || made->transposed) return std::nullopt;
  p.x = *left;
  p.y = *right;
  p.result = *made;
  p.bias = step.operands[2] != kNoValue;
  p.residual = step.operands[3] != kNoValue;
  p.relu = *act == Act::Relu;
  p.tf32 = allow_tf32 && p.dtype == DType::F32;
  merge_batch(p);
  return p;
}

Result<std::unique_ptr<BlasLt>> BlasLt::open() {
  std::unique_ptr<BlasLt> blas(new BlasLt());
  TG_TRY(blas->file_, SharedLibrary::open(Library::CublasLt));
  LtApi& api = blas->api_;
  const SharedLibrary& file = *blas->file_;
  const char* missing = nullptr;
  TG_CUBLASLT(TG_LIBRARY_LOAD)
  if (missing)
    return error(Code::no_backend, "cuBLASLt lacks the function {0}: the version may be too old",
                 missing);
  size_t (*version)() = nullptr;
  if (file.find(version, "cublasLtGetVersion"))
    blas->version_ += " " + version_text(Library::CublasLt, static_cast<int64_t>(version()));
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

/// Rows and columns in the library's sense, of the matrix as stored.
Result<LtObject> BlasLt::layout(DType dtype, int64_t rows, int64_t columns, int64_t batch,
                                const MatrixLayout& how) const {
  if (how.transposed) std::swap(rows, columns);
  void* raw = nullptr;
  TG_CHECK(check(api_.layout_create(&raw, data_type(dtype), static_cast<uint64_t>(rows),
                                    static_cast<uint64_t>(columns), how.leading),
                 "layout"));
  LtObject object(raw, [destroy = api_.layout_destroy](void* p) { destroy(p); });
  if (batch > 1) {
    auto count = static_cast<int32_t>(batch);
    TG_CHECK(check(api_.layout_set(raw, kLtBatchCount, &count, sizeof count), "batch"));
    TG_CHECK(check(api_.layout_set(raw, kLtBatchStride, &how.stride, sizeof how.stride), "batch"));
  }
  return object;
}

Result<void> BlasLt::describe(void* desc, const MatmulProblem& p) const {
  int32_t epilogue = (p.relu ? kLtEpilogueRelu : 0) | (p.gelu ? kLtEpilogueGelu : 0) |
                     (p.bias ? kLtEpilogueBias : 0);
  if (epilogue == 0) epilogue = kLtEpilogueNone;
  TG_CHECK(check(api_.desc_set(desc, kLtEpilogue, &epilogue, sizeof epilogue), "epilogue"));
  int32_t a = p.y.transposed, b = p.x.transposed; // CUBLAS_OP_N is 0, CUBLAS_OP_T 1
  if (a) TG_CHECK(check(api_.desc_set(desc, kLtTransposeA, &a, sizeof a), "transpose"));
  if (b) TG_CHECK(check(api_.desc_set(desc, kLtTransposeB, &b, sizeof b), "transpose"));
  return {};
}

Result<std::unique_ptr<MatmulPlan>> BlasLt::plan(const MatmulProblem& p,
                                                 int64_t workspace_limit) const {
  auto plan = std::make_unique<MatmulPlan>();
  plan->api_ = &api_;
  plan->handle_ = handle_;
  plan->problem_ = p;
  void* desc = nullptr;
  int compute = p.tf32 ? kLtComputeTf32 : kLtCompute32F;
  TG_CHECK(check(api_.desc_create(&desc, compute, kLtReal32F), "product"));
  plan->desc_ = LtObject(desc, [destroy = api_.desc_destroy](void* d) { destroy(d); });
  TG_CHECK(describe(desc, p));
  TG_TRY(plan->y_, layout(p.dtype, p.n, p.k, p.batch, p.y));
  TG_TRY(plan->x_, layout(p.dtype, p.k, p.m, p.batch, p.x));
  TG_TRY(plan->result_, layout(p.dtype, p.n, p.m, p.batch, p.result));
  TG_CHECK(find_algorithms(*plan, workspace_limit));
  return plan;
}

Result<void> BlasLt::find_algorithms(MatmulPlan& plan, int64_t workspace_limit) const {
  void* raw = nullptr;
  TG_CHECK(check(api_.preference_create(&raw), "preference"));
  LtObject preference(raw, [destroy = api_.preference_destroy](void* p) { destroy(p); });
  auto limit = static_cast<uint64_t>(workspace_limit);
  TG_CHECK(check(api_.preference_set(raw, kLtMaxWorkspace, &limit, sizeof limit), "preference"));
  uint32_t reductions = kLtReduceInComputeType;
  TG_CHECK(check(api_.preference_set(raw, kLtReductionSchemes, &reductions, sizeof reductions),
                 "preference"));
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

std::string MatmulPlan::name(size_t candidate) const {
  std::string text;
  for (uint64_t word : found_[candidate].algorithm.data)
    text += (text.empty() ? "" : ".") + llvm::utohexstr(word, /*LowerCase=*/true);
  return text;
}

std::optional<size_t> MatmulPlan::find(llvm::StringRef name) const {
  for (size_t c = 0; c < found_.size(); ++c)
    if (this->name(c) == name) return c;
  return std::nullopt;
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
