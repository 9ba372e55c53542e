#include "runtime/cuda/kernel_table.h"

#include <algorithm>

namespace tg::cuda {

namespace {

/// Blocks beyond this number per multiprocessor would wait anyway;
/// a loop over the grid covers the others.
constexpr int64_t kBlocksPerMultiprocessor = 32;

/// Returns the bytes from the first element of a value to its last, as stored.
int64_t span_bytes(const TensorType& type, const Shape& strides) {
  int64_t last = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    last += (type.shape[axis] - 1) * strides[axis];
  return device_bytes({type.dtype, {last + 1}});
}

} // namespace

Result<uint32_t> KernelTable::find_or_load(Kernel& kernel, CubinCache& cache) {
  KernelSource source = kernel_source(kernel);
  auto it = known_.find(source.name);
  if (it != known_.end()) return it->second;
  std::string text = prelude_text() + function_text(source);
  TG_TRY(Cubin cubin, cache.get(text, device_.architecture()));
  TG_TRY(Function loaded, device_.load(cubin, source.name));
  KernelRow row{source.name, kernel.schedule, kernel.tunables, 1, {}, 0};
  row.blocks = std::min(kernel.full_blocks(), device_.multiprocessors() * kBlocksPerMultiprocessor);
  auto use = kernel_use(cubin, source.name);
  if (!use) use = device_.use(loaded);
  if (use) row.use = *use;
  known_[source.name] = static_cast<uint32_t>(rows_.size());
  rows_.push_back(std::move(row));
  functions_.push_back(loaded);
  return static_cast<uint32_t>(rows_.size() - 1);
}

Result<uint32_t> KernelTable::row(Kernel& kernel, CubinCache& cache) {
  TG_TRY(uint32_t row, find_or_load(kernel, cache));
  ++rows_[row].uses;
  return row;
}

Result<void> KernelTable::launch(uint32_t row, llvm::ArrayRef<Address> parameters,
                                 Stream stream) const {
  return device_.launch(functions_[row], rows_[row].blocks, rows_[row].tunables.threads, parameters,
                        stream);
}

Result<double> KernelTable::time(ScratchTimer& timer, CubinCache& cache, PlanDb* known,
                                 const Plan& plan, const Group& group, const StridesOf& strides) {
  std::string why;
  auto kernel = generate(plan, group, strides, why);
  if (!kernel) return error(Code::no_kernel, "{0}", why);
  std::string key = timer.conditions() + ("kernel " + kernel_source(*kernel).name);
  if (std::optional<PlanEntry> entry = known ? known->find(key) : std::nullopt)
    return entry->microseconds;
  TG_TRY(uint32_t row, find_or_load(*kernel, cache));
  auto bytes_of = [&](const KernelParameter& p) {
    return span_bytes(plan.values[p.value].type, strides(p.value));
  };
  int64_t bytes = 0;
  for (const KernelParameter& p : kernel->parameters) bytes += bytes_of(p);
  DType dtype = plan.values[group.results[0]].type.dtype;
  TG_TRY(double time, timer.time(bytes, dtype, [&](GpuDevice&, Address at, Stream stream) {
    llvm::SmallVector<Address, 8> parameters;
    for (const KernelParameter& p : kernel->parameters) {
      parameters.push_back(at);
      at += static_cast<Address>(bytes_of(p));
    }
    return launch(row, parameters, stream);
  }));
  if (known) known->store(key, {"generated", time});
  return time;
}

} // namespace tg::cuda
