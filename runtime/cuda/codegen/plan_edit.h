// A plan rewritten step by step. Steps are emitted in order, old ones or new; finish() leaves out
// what nothing reads any more, steps and values, and renews lifetimes, so that the plan's
// invariants hold again.
#pragma once

#include "runtime/plan.h"

#include <functional>

namespace tg::cuda {

struct EditedPlan {
  Plan plan;
  std::vector<PlanStepId> origin;  // of each step: which it was; kNever for a new one
  std::vector<PlanValueId> values; // of each value: its number while the plan was edited
};

class PlanEdit {
public:
  explicit PlanEdit(const Plan& plan);

  /// A temporary of this type, which the step that is emitted with it will define. Its number is
  /// the next after those of the plan and of earlier ones.
  PlanValueId value(const TensorType& type);
  /// Every element of it.
  PlanValueId constant(const TensorType& type, double number);
  PlanValueId constant(const TensorType& type, std::vector<double> elements);
  void emit(PlanStep step, PlanStepId origin);
  /// As far as it is written.
  const Plan& plan() const { return edited_.plan; }
  /// Outputs may be given another value before finish().
  std::vector<PlanOutput>& outputs() { return edited_.plan.outputs; }
  EditedPlan finish();

private:
  void drop_unread();
  void drop_undefined();
  void renew_lifetimes();

  EditedPlan edited_;
};

/// Emits steps in the place of one, in its phase and on its stream. The first waits for the events
/// that it waits for, and the one that defines its result signals its events.
class Expansion {
public:
  Expansion(PlanEdit& edit, const PlanStep& replaced, PlanStepId origin)
      : edit_(edit), replaced_(replaced), origin_(origin) {}

  PlanEdit& edit() { return edit_; }
  const PlanStep& replaced() const { return replaced_; }
  TensorType type(PlanValueId id) const { return edit_.plan().values[id].type; }

  /// Returns a new value of this type.
  PlanValueId step(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                   const TensorType& result);
  /// Returns `result`.
  PlanValueId emit(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                   PlanValueId result);

private:
  PlanEdit& edit_;
  const PlanStep& replaced_;
  PlanStepId origin_;
  bool first_ = true;
};

/// Composes origins: `second` was made from the plan that `first` belongs to.
std::vector<PlanStepId> compose(llvm::ArrayRef<PlanStepId> first,
                                llvm::ArrayRef<PlanStepId> second);

/// A fused_map as the operators that it is made of: rules name chains of pointwise operators as
/// one, but what becomes one kernel here is decided later (fusion.h), and rewrites of the plan look
/// for what models spell. Only maps beside which such a rewrite looks are taken apart.
EditedPlan expand_maps(const Plan& plan, const std::function<bool(const PlanStep&)>& wanted);

/// Those that a softmax alone reads.
EditedPlan expand_maps_before_softmax(const Plan& plan);

/// attention as the products and the softmax that it is: what the library runs as one is found in
/// those (cudnn/attention.h), and for the others there are kernels. resize as a gather along each
/// axis, where elements are taken as they are, a sum of a few gathers times their weights, which is
/// one kernel, or a product with the matrix of many weights.
EditedPlan expand_operators(const Plan& plan);

/// One resize, axis by axis.
void emit_resize(PlanEdit& edit, const PlanStep& resize, PlanStepId origin);

} // namespace tg::cuda
