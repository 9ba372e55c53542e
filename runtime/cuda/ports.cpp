#include "runtime/cuda/value_memory.h"

#include <cstring>

namespace tg::cuda {

Result<Ports> Ports::make(GpuDevice& device, const Plan& plan, const ValueMemory& memory,
                          llvm::ArrayRef<PlanValueId> values) {
  Ports ports;
  int64_t bytes = 0;
  for (PlanValueId value : values) bytes = add_bytes(bytes, device_bytes(plan.values[value].type));
  TG_TRY(std::byte * pinned, device.allocate_pinned(bytes));
  std::memset(pinned, 0, static_cast<size_t>(bytes));
  for (PlanValueId value : values) {
    Address at = memory.address(value);
    int64_t own = device_bytes(plan.values[value].type);
    ValueMemory::Block block = memory.block_of(value);
    Transfer* last = ports.transfers_.empty() ? nullptr : &ports.transfers_.back();
    if (last && last->block == block && last->device + static_cast<Address>(last->bytes) == at)
      last->bytes += own;
    else
      ports.transfers_.push_back({at, pinned, own, block});
    ports.each_.push_back({value, pinned, plan.values[value].type.bytes()});
    pinned += own;
  }
  return ports;
}

Result<void> Ports::copy_in(GpuDevice& device, Stream stream) const {
  for (const Transfer& each : transfers_)
    TG_CHECK(device.copy_in(each.device, each.host, each.bytes, stream));
  return {};
}

Result<void> Ports::copy_out(GpuDevice& device, Stream stream) const {
  for (const Transfer& each : transfers_)
    TG_CHECK(device.copy_out(each.host, each.device, each.bytes, stream));
  return {};
}

} // namespace tg::cuda
