// The reference kernels: lang/core/semantics.h over float, sums in double, one thread. RefStep is a
// plan step made ready to run on them; other backends use it for what they have no kernel for.
#pragma once

#include "lang/core/semantics.h"
#include "runtime/plan.h"

#include <cstddef>

namespace tg {

/// Refers to the plan, which must outlive it and not change.
class RefStep {
public:
  RefStep(const Plan& plan, const PlanStep& step);

  /// Scratch that run() needs.
  int64_t workspace_bytes() const { return scratch_ * static_cast<int64_t>(sizeof(double)); }
  /// Row-major f32 memory of each operand (null where absent) and of the result, and
  /// workspace_bytes aligned for double. The result may be the memory of PlanStep::in_place.
  void bind(llvm::ArrayRef<const float*> operands, float* result, std::byte* workspace);
  /// Allocates nothing for operators of up to eight operands.
  void run() const;

private:
  OpKind op_;
  llvm::SmallVector<const Value*, 4> attrs_;
  llvm::SmallVector<ConstView<float>, 4> operands_;
  View<float> result_;
  int64_t scratch_ = 0; // elements
  double* workspace_ = nullptr;
  std::optional<FusedBody> body_; // of a fused_map
};

} // namespace tg
