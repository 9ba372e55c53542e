// Places for the temporaries of a run in one block of memory. Two levels, both pure functions:
//
// plan_arena puts buffers with lifetimes at offsets so that no two that live together overlap:
// largest first, each into the tightest gap that its time allows (greedy by size with best fit,
// Pisarchyk and Lee 2020).
//
// plan_storage decides which values share a buffer: a view shares its operand's, an in-place result
// takes over the buffer of the operand that dies. A buffer lives from its first definition to the
// last use of any value in it, so in place is refused where another view lives on. On several
// streams the order of steps is not the order of time, so no buffer is used again before the end.
#pragma once

#include "runtime/plan.h"
#include "runtime/tensor.h"

#include <functional>

namespace tg {

struct BufferLife {
  int64_t bytes = 0;
  uint32_t first = 0, last = 0; // steps, both included
};

struct ArenaPlan {
  std::vector<int64_t> offsets; // one per buffer, multiples of kAlignment
  int64_t bytes = 0;            // of the whole arena
};
ArenaPlan plan_arena(llvm::ArrayRef<BufferLife> buffers);

/// The most bytes that live at one step: no arena can be smaller.
int64_t peak_bytes(llvm::ArrayRef<BufferLife> buffers);

/// What a backend wants of one value or step.
struct StorageRequest {
  /// Bytes of a value in the layout that the backend chose; 0 keeps it out of the arena (it is
  /// absent, or the backend holds it elsewhere).
  std::function<int64_t(PlanValueId)> bytes;
  /// The operand whose buffer, from its start, the result of this step shares without a copy;
  /// kNoValue where the step computes.
  std::function<PlanValueId(PlanStepId)> view_of;
  /// Whether the backend can run this step in place of PlanStep::in_place; empty: it always can.
  std::function<bool(PlanStepId)> in_place;
};

inline constexpr uint32_t kNoBuffer = UINT32_MAX;

/// Buffers of one phase. Inputs, weights and constants have none: the backend holds them; a view of
/// one has none either. Nor have load results that runs need (pinned): they outlive the phase.
struct Storage {
  std::vector<uint32_t> buffer; // of each value, or kNoBuffer
  std::vector<BufferLife> buffers;
  std::vector<bool> runs_in_place; // of each step: in_place is honoured
  /// Of each step: the view is honoured. It is not where the result outlives the load phase and
  /// what it views does not: then the step must copy.
  std::vector<bool> is_view;
  std::vector<PlanValueId> root; // of each value: whose memory it is; itself where it has its own
};
Storage plan_storage(const Plan& plan, Phase phase, const StorageRequest& request);

} // namespace tg
