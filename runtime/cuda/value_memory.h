// The device memory of the values of a plan. Weights that runs read stay in place.
// Inputs are consecutive. Every other value of a run is in one arena by its lifetime over the
// units, except several outputs, which are consecutive. Views share the memory of the viewed value.
// Libraries have one workspace, with zeros at its end.
#pragma once

#include "runtime/backend.h"
#include "runtime/cuda/device/device.h"

#include <set>

namespace tg::cuda {

/// The values that one unit of a plan touches.
struct UnitValues {
  bool view = false;
  PlanValueId viewed = kNoValue, result = kNoValue; // of a view
  llvm::ArrayRef<PlanValueId> values;               // of parameters
};

class ValueMemory {
public:
  /// The plan must outlive this object and be complete when values are placed.
  explicit ValueMemory(const Plan& plan) : plan_(plan) {}

  void place(llvm::ArrayRef<UnitValues> units);
  /// Computes the total. Errors: `memory_limit`.
  Result<void> add_up(int64_t limit, int64_t workspace, int64_t zeros);
  Result<void> reserve_workspace(GpuDevice& device, Stream stream);
  Result<void> reserve(GpuDevice& device);
  const MemoryUse& use() const { return use_; }

  enum class Block : uint8_t { Inputs, Weights, Arena }; // allocations
  Block block_of(PlanValueId value) const;
  PlanValueId root(PlanValueId value) const { return root_[value]; }
  /// Returns 0 if the value is not on the device.
  Address address(PlanValueId value) const { return addresses_[root_[value]]; }
  /// Returns true if a value must be copied to the device at load.
  bool is_loaded(PlanValueId value) const { return addresses_[value] != 0 && stays(value); }
  Address workspace() const { return workspace_; }
  Address zeros() const { return zeros_; }

  /// Returns the bytes of all given values, each counted once.
  int64_t bytes_of(llvm::ArrayRef<PlanValueId> values) const;
  /// Calls `use` with the type of each value, once, and its place in that scratch memory.
  template <class Use>
  Result<void> on_scratch(llvm::ArrayRef<PlanValueId> values, Address scratch, Use use) const;
  /// From now on the values are in that scratch memory.
  void use_scratch(llvm::ArrayRef<PlanValueId> values, Address scratch);
  /// For restore_addresses() after memory was lent.
  std::vector<Address> addresses() const { return addresses_; }
  void restore_addresses(std::vector<Address> addresses) { addresses_ = std::move(addresses); }

private:
  bool stays(PlanValueId value) const;
  void find_roots(llvm::ArrayRef<UnitValues> units);
  std::vector<PlanValueId> adjacent_outputs() const;

  const Plan& plan_;
  std::vector<PlanValueId> root_; // of values: owner of the memory
  std::vector<int64_t> offsets_;  // of values, in the arena or among the values that stay
  std::vector<Address> addresses_;
  Address workspace_ = 0, zeros_ = 0;
  int64_t zero_bytes_ = 0;
  MemoryUse use_;
};

template <class Use>
Result<void> ValueMemory::on_scratch(llvm::ArrayRef<PlanValueId> values, Address scratch,
                                     Use use) const {
  std::set<PlanValueId> seen;
  for (PlanValueId value : values) {
    PlanValueId root = root_[value];
    if (!seen.insert(root).second) continue;
    TG_CHECK(use(root, scratch));
    scratch += static_cast<Address>(device_bytes(plan_.values[root].type));
  }
  return {};
}

/// All inputs of a run, or all outputs, in pinned memory with the device's layout:
/// values that are consecutive in one block there are consecutive here, and are one transfer.
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
