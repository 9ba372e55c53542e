// Assigns the temporaries of a run to offsets in one block of memory.
// There are two levels, both pure functions.
//
// plan_arena assigns offsets to buffers with lifetimes, such that no two buffers that are live
// at the same time overlap.
// It takes the largest buffer first and puts each into the tightest gap that is free
// for its lifetime (greedy by size with best fit, Pisarchyk and Lee 2020).
//
// plan_storage decides which values share a buffer. A view shares its operand's buffer.
// An in-place result reuses the buffer of an operand that dies at that step.
// A buffer lives from its first definition to the last use of any value in it,
// so in-place execution is refused if another view of the buffer is used later.
// With several streams the order of steps is not the order of time,
// so no buffer is reused before the end of the run.
#pragma once

#include "runtime/plan.h"
#include "runtime/tensor.h"

#include <functional>

namespace tg {

struct BufferLife {
  int64_t bytes = 0;
  uint32_t first = 0, last = 0; // first and last step, inclusive
};

struct ArenaPlan {
  std::vector<int64_t> offsets; // one per buffer, multiples of kAlignment
  int64_t bytes = 0;            // size of the whole arena
};
ArenaPlan plan_arena(llvm::ArrayRef<BufferLife> buffers);

/// Returns the largest number of bytes that are live at one step. No arena can be smaller.
int64_t peak_bytes(llvm::ArrayRef<BufferLife> buffers);

/// A backend's requirements for the values and steps of a plan.
struct StorageRequest {
  /// Returns the size of a value in bytes, in the layout that the backend chose.
  /// 0 keeps the value out of the arena (it is absent, or the backend stores it elsewhere).
  std::function<int64_t(PlanValueId)> bytes;
  /// Returns the operand whose buffer the result of this step shares without a copy,
  /// starting at the same address. Returns kNoValue if the step computes.
  std::function<PlanValueId(PlanStepId)> view_of;
  /// Returns true if the backend can run this step in place of PlanStep::in_place. Empty:
  /// always true.
  std::function<bool(PlanStepId)> in_place;
};

inline constexpr uint32_t kNoBuffer = UINT32_MAX;

/// The buffers of one phase. Inputs, weights and constants have none because the backend stores
/// them; neither do views of them.
/// Load results that run steps read (pinned) have none either because they outlive the phase.
struct Storage {
  std::vector<uint32_t> buffer; // for each value, its buffer or kNoBuffer
  std::vector<BufferLife> buffers;
  std::vector<bool> runs_in_place; // for each step: in_place is honoured
  /// For each step: the view is honoured. It is not if the result outlives the load phase
  /// and the viewed value does not; the step must then copy.
  std::vector<bool> is_view;
  std::vector<PlanValueId> root; // of each value: the owner of its memory, perhaps itself
};
Storage plan_storage(const Plan& plan, Phase phase, const StorageRequest& request);

} // namespace tg
