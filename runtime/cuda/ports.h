// All inputs of a run, or all outputs, in pinned memory, laid out as they lie on the device: values
// that lie behind each other in one block there do so here, and are one transfer.
#pragma once

#include "runtime/cuda/value_memory.h"

namespace tg::cuda {

class Ports {
public:
  struct Port {
    PlanValueId value = kNoValue;
    std::byte* pinned = nullptr;
    int64_t bytes = 0;
  };

  Ports() = default;
  static Result<Ports> make(GpuDevice& device, const Plan& plan, const ValueMemory& memory,
                            llvm::ArrayRef<PlanValueId> values);

  llvm::ArrayRef<Port> each() const { return each_; }
  Result<void> copy_in(GpuDevice& device, Stream stream) const;
  Result<void> copy_out(GpuDevice& device, Stream stream) const;

private:
  struct Transfer {
    Address device = 0;
    std::byte* host = nullptr;
    int64_t bytes = 0;
    ValueMemory::Block block{};
  };
  std::vector<Port> each_;
  std::vector<Transfer> transfers_;
};

} // namespace tg::cuda
