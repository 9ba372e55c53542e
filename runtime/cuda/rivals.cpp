// What generated kernels take, where they stand against a library's.
#include "runtime/cuda/executable.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::cuda {

namespace {

/// From the first element of a value to its last, as it lies.
int64_t span_bytes(const TensorType& type, const Shape& strides) {
  int64_t last = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    last += (type.shape[axis] - 1) * strides[axis];
  return device_bytes({type.dtype, {last + 1}});
}

/// The problem as a plan of one step, and how its values lie.
struct ProductPlan {
  Plan plan;
  std::vector<Shape> lies; // by value
};

ProductPlan plan_of(const MatmulProblem& p) {
  ProductPlan made;
  PlanStep step;
  step.op = OpKind::Matmul;
  step.attrs = {Value::of_enum(p.relu ? "relu" : "none")};
  auto value = [&](Shape shape, Shape strides) {
    PlanValue v;
    v.kind = PlanValue::Kind::Input;
    v.type = {p.dtype, std::move(shape)};
    made.plan.values.push_back(std::move(v));
    made.lies.push_back(std::move(strides));
    return static_cast<PlanValueId>(made.lies.size() - 1);
  };
  auto matrix = [&](int64_t rows, int64_t columns, const MatrixLayout& how) {
    return value({rows, columns}, how.transposed ? Shape{1, how.leading} : Shape{how.leading, 1});
  };
  step.operands = {matrix(p.m, p.k, p.x), matrix(p.k, p.n, p.y),
                   p.bias ? value({p.n}, {1}) : kNoValue,
                   p.residual ? matrix(p.m, p.n, p.result) : kNoValue};
  step.result = matrix(p.m, p.n, p.result);
  PlanValue& result = made.plan.values[step.result];
  result.kind = PlanValue::Kind::Temporary;
  result.defined_by = 0;
  result.is_output = result.pinned = true;
  made.plan.outputs = {{"y", step.result}};
  made.plan.steps = {std::move(step)};
  return made;
}

} // namespace

/// By itself, on scratch memory; once, where there is a database.
Result<double> CudaExecutable::time_generated(ScratchTimer& timer, CubinCache& cache,
                                              const Plan& plan, const Group& group,
                                              const StridesOf& strides) {
  std::string why;
  auto kernel = generate(plan, group, strides, why);
  if (!kernel) return error(Code::no_kernel, "{0}", why);
  PlanDb* known = (libraries_.dnn_plans ? libraries_.dnn_plans : libraries_.blas_plans).get();
  std::string key = timer.conditions() + ("kernel " + kernel_source(*kernel).name);
  if (std::optional<PlanEntry> entry = known ? known->find(key) : std::nullopt)
    return entry->microseconds;
  Function function = 0;
  TG_TRY(uint32_t row, kernel_row(*kernel, cache, function));
  --table_[row].uses; // timed, not yet used
  auto bytes_of = [&](const KernelParameter& p) {
    return span_bytes(plan.values[p.value].type, strides(p.value));
  };
  int64_t bytes = 0;
  for (const KernelParameter& p : kernel->parameters) bytes += bytes_of(p);
  DType dtype = plan.values[group.results[0]].type.dtype;
  TG_TRY(double time, timer.time(bytes, dtype, [&](GpuDevice& device, Address at, Stream stream) {
    llvm::SmallVector<Address, 8> parameters;
    for (const KernelParameter& p : kernel->parameters) {
      parameters.push_back(at);
      at += static_cast<Address>(bytes_of(p));
    }
    return device.launch(function, table_[row].blocks, table_[row].tunables.threads, parameters,
                         stream);
  }));
  if (known) known->store(key, {"generated", time});
  return time;
}

/// Why a product of few rows is not the library's; "" where it is.
std::string CudaExecutable::rival_of(const MatmulProblem& problem, double library,
                                     CubinCache& cache, ScratchTimer& timer) {
  if (!has_few_rows(problem)) return "";
  ProductPlan product = plan_of(problem);
  auto time = time_generated(timer, cache, product.plan, Group{{0}, {product.plan.steps[0].result}},
                             [&](PlanValueId id) { return product.lies[id]; });
  if (!time || *time * kClearlyFaster > library) return "";
  return llvm::formatv("{0:f1} us, cuBLASLt {1:f1} us", *time, library);
}

} // namespace tg::cuda
