// What generated kernels of an executable take, where they stand against a library's.
#include "runtime/cuda/executable.h"

namespace tg::cuda {

namespace {

/// From the first element of a value to its last, as it lies.
int64_t span_bytes(const TensorType& type, const Shape& strides) {
  int64_t last = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    last += (type.shape[axis] - 1) * strides[axis];
  return device_bytes({type.dtype, {last + 1}});
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

} // namespace tg::cuda
