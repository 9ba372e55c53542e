#include "runtime/cuda/value_memory.h"

#include "runtime/arena.h"
#include "runtime/execute.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>

#include <map>

namespace tg::cuda {

bool ValueMemory::stays(PlanValueId value) const {
  const PlanValue& v = plan_.values[value];
  return v.kind == PlanValue::Kind::Weight || v.kind == PlanValue::Kind::Constant ||
         (v.kind == PlanValue::Kind::Temporary && plan_.steps[v.defined_by].phase == Phase::Load);
}

ValueMemory::Block ValueMemory::block_of(PlanValueId value) const {
  PlanValueId root = root_[value];
  if (plan_.values[root].kind == PlanValue::Kind::Input) return Block::Inputs;
  return stays(root) ? Block::Weights : Block::Arena;
}

void ValueMemory::find_roots(llvm::ArrayRef<UnitValues> units) {
  root_.resize(plan_.values.size());
  for (PlanValueId id = 0; id < root_.size(); ++id) root_[id] = id;
  for (const UnitValues& unit : units)
    if (unit.view) root_[unit.result] = root_[unit.viewed];
}

/// Returns the outputs to be placed consecutively, so that one copy fetches several.
std::vector<PlanValueId> ValueMemory::adjacent_outputs() const {
  llvm::SmallSetVector<PlanValueId, 4> made;
  for (const PlanOutput& output : plan_.outputs)
    if (block_of(output.value) == Block::Arena) made.insert(root_[output.value]);
  if (made.size() < 2) return {};
  return {made.begin(), made.end()};
}

void ValueMemory::place(llvm::ArrayRef<UnitValues> units) {
  find_roots(units);
  offsets_.assign(plan_.values.size(), -1);
  std::vector<PlanValueId> together = adjacent_outputs();
  std::vector<BufferLife> lives;
  std::map<PlanValueId, size_t> life_of;
  auto touch = [&](PlanValueId value, uint32_t unit) {
    value = root_[value];
    if (block_of(value) != Block::Arena) {
      offsets_[value] = 0; // needed on the device
      return;
    }
    if (llvm::is_contained(together, value)) return;
    auto [it, fresh] = life_of.try_emplace(value, lives.size());
    if (fresh) lives.push_back({device_bytes(plan_.values[value].type), unit, unit});
    lives[it->second].last = unit;
  };
  for (uint32_t u = 0; u < units.size(); ++u) {
    if (units[u].view) touch(units[u].viewed, u);
    for (PlanValueId value : units[u].values) touch(value, u);
  }
  for (const PlanOutput& output : plan_.outputs)
    touch(output.value, static_cast<uint32_t>(units.size()));
  ArenaPlan arena = plan_arena(lives);
  for (const auto& [value, life] : life_of) offsets_[value] = arena.offsets[life];
  use_.arena = arena.bytes;
  for (PlanValueId value : together) {
    offsets_[value] = use_.arena;
    use_.arena = add_bytes(use_.arena, device_bytes(plan_.values[value].type));
  }
}

Result<void> ValueMemory::add_up(int64_t limit, int64_t workspace, int64_t zeros) {
  for (PlanValueId id = 0; id < plan_.values.size(); ++id) {
    if (root_[id] != id || offsets_[id] < 0 || !stays(id)) continue;
    offsets_[id] = use_.weights;
    use_.weights = add_bytes(use_.weights, device_bytes(plan_.values[id].type));
  }
  for (PlanValueId id : plan_.inputs)
    use_.io = add_bytes(use_.io, device_bytes(plan_.values[id].type));
  use_.workspace = workspace;
  zero_bytes_ = zeros;
  if (zeros)
    use_.workspace = add_bytes((workspace + kDeviceAlignment - 1) & -kDeviceAlignment, zeros);
  addresses_.assign(plan_.values.size(), 0);
  return check_memory(plan_, use_, limit);
}

Result<void> ValueMemory::reserve_workspace(GpuDevice& device, Stream stream) {
  TG_TRY(workspace_, device.allocate(use_.workspace));
  if (zero_bytes_ == 0) return {};
  zeros_ = workspace_ + static_cast<Address>(use_.workspace - zero_bytes_);
  return device.fill(zeros_, 0, zero_bytes_, stream);
}

Result<void> ValueMemory::reserve(GpuDevice& device) {
  TG_TRY(Address weights, device.allocate(use_.weights));
  TG_TRY(Address arena, device.allocate(use_.arena));
  TG_TRY(Address inputs, device.allocate(use_.io));
  for (PlanValueId id = 0; id < plan_.values.size(); ++id)
    if (root_[id] == id && offsets_[id] >= 0 && plan_.values[id].kind != PlanValue::Kind::Input)
      addresses_[id] = (stays(id) ? weights : arena) + static_cast<Address>(offsets_[id]);
  for (PlanValueId id : plan_.inputs) {
    addresses_[id] = inputs;
    inputs += static_cast<Address>(device_bytes(plan_.values[id].type));
  }
  return {};
}

int64_t ValueMemory::bytes_of(llvm::ArrayRef<PlanValueId> values) const {
  std::set<PlanValueId> seen;
  int64_t bytes = 0;
  for (PlanValueId value : values)
    if (seen.insert(root_[value]).second)
      bytes = add_bytes(bytes, device_bytes(plan_.values[root_[value]].type));
  return bytes;
}

void ValueMemory::use_scratch(llvm::ArrayRef<PlanValueId> values, Address scratch) {
  (void)on_scratch(values, scratch, [&](PlanValueId root, Address at) -> Result<void> {
    addresses_[root] = at;
    return {};
  });
}

} // namespace tg::cuda
