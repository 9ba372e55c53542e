// Rewrites a plan step by step. Old and new steps are emitted in order.
// finish() removes unread steps and values and recomputes lifetimes,
// so that the plan's invariants hold again.
#pragma once

#include "runtime/plan.h"

#include <functional>

namespace tg::cuda {

struct EditedPlan {
  Plan plan;
  std::vector<PlanStepId> origin;  // of each step: its old number; kNever if new
  std::vector<PlanValueId> values; // of each value: its number during editing
};

class PlanEdit {
public:
  explicit PlanEdit(const Plan& plan);

  /// Returns a temporary of this type, to be defined by the step emitted with it.
  /// Its number follows those of the plan and of earlier temporaries.
  PlanValueId value(const TensorType& type);
  /// Returns a constant whose elements all equal `number`.
  PlanValueId constant(const TensorType& type, double number);
  PlanValueId constant(const TensorType& type, std::vector<double> elements);
  void emit(PlanStep step, PlanStepId origin);
  /// Returns the plan as written so far.
  const Plan& plan() const { return edited_.plan; }
  /// Outputs may be redirected to other values before finish().
  std::vector<PlanOutput>& outputs() { return edited_.plan.outputs; }
  EditedPlan finish();

private:
  void drop_unread();
  void drop_undefined();
  void renew_lifetimes();

  EditedPlan edited_;
};

/// Emits steps that replace one step, in its phase and on its stream.
/// The first waits for the events of the replaced step, and the one that defines its result signals
/// its events.
class Expansion {
public:
  Expansion(PlanEdit& edit, const PlanStep& replaced, PlanStepId origin)
      : edit_(edit), replaced_(replaced), origin_(origin) {}

  PlanEdit& edit() { return edit_; }
  const PlanStep& replaced() const { return replaced_; }
  TensorType type(PlanValueId id) const { return edit_.plan().values[id].type; }

  /// Emits a step and returns its new value of this type.
  PlanValueId step(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                   const TensorType& result);
  /// Emits a step and returns `result`.
  PlanValueId emit(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                   PlanValueId result);

private:
  PlanEdit& edit_;
  const PlanStep& replaced_;
  PlanStepId origin_;
  bool first_ = true;
};

/// Composes origins: `second` was made from the plan of `first`.
std::vector<PlanStepId> compose(llvm::ArrayRef<PlanStepId> first,
                                llvm::ArrayRef<PlanStepId> second);

/// Expands a fused_map into its operators. Rules combine chains of pointwise operators into one,
/// but here the grouping into kernels is decided later (fusion.h),
/// and rewrites of the plan look for the operators that models use.
/// Only maps next to such a rewrite are expanded.
EditedPlan expand_maps(const Plan& plan, const std::function<bool(const PlanStep&)>& wanted);

/// Expands the maps that only a softmax reads.
EditedPlan expand_maps_before_softmax(const Plan& plan);

/// Expands attention into its products and softmax: the library's fused attention is matched
/// on those (cudnn/attention.h), and the others have kernels.
/// Expands resize along each axis into a gather if elements are copied,
/// into a weighted sum of a few gathers, which is one kernel, or into a product with a matrix
/// of many weights.
EditedPlan expand_operators(const Plan& plan);

/// Emits one resize, axis by axis.
void emit_resize(PlanEdit& edit, const PlanStep& resize, PlanStepId origin);

} // namespace tg::cuda
