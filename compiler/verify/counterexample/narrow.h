// Reduces two large models that differ to a small pair that differs.
//
// 1. Localise. All nodes are evaluated at one point of the field. From outputs that differ, equal
//    operators are followed down to the last pair of operands that differ and of which neither
//    occurs on the other side. Values that both sides of that pair compute alike become inputs.
//    At the values of these inputs in the models, the pair differs.
// 2. Shrink shapes. One size after the other is replaced, in all leaves and shapes with that
//    size, and then one axis of one leaf, by 1, 2, ... A change is kept if both sides are well
//    typed, have the same type, and still differ (delta debugging, Zeller and Hildebrandt 2002).
//
// So a wrong step in the middle of a network is shown by the few operators involved.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/verify/counterexample/adversarial_inputs.h"
#include "compiler/verify/equivalent.h"
#include "compiler/verify/field/field.h"
#include "compiler/verify/join.h"

#include <string>

namespace tg {

/// Returns the pair at which output `output` of the models starts to differ: the output itself, or
/// `y`. It must differ at `point`.
Joined narrow(const Joined& joined, size_t output, const Evaluation<Field>::Leaves& point);

/// Returns the pair at the smallest shapes found for which `differs` returns true; `attempts`
/// limits the number of its calls.
Joined shrink(Joined pair, llvm::function_ref<bool(const Joined&)> differs, size_t attempts);

/// Writes both sides as one file with the models `left` and `right`, which have the same inputs.
std::string as_models(const Joined& pair);

/// Shows the difference of two large models by two small ones: localised, at small shapes, with few
/// nonzero inputs (minimise.cpp). Output `output` must differ in the field at `point`. Returns
/// nullopt if float64 shows no difference there, or if the result would be the models themselves.
std::optional<Equivalence::Part> find_part(const Joined& joined, size_t output,
                                           const Evaluation<Field>::Leaves& point,
                                           const EquivalenceOptions& options);

// Minimises counterexamples in float64: most inputs become zero, and the others small integers if
// these still show the difference.

/// Returns the counterexample that `attempt` shows at `difference`, minimised with `minimise`.
/// Evaluates at most a few hundred times, and at most some 10^10 operations.
Counterexample counterexample_of(const Trial& trial, Attempt attempt, Trial::Difference difference,
                                 bool minimise);

/// Returns the floating-point operations of one evaluation of all nodes; a result element counts as
/// one.
double evaluation_flops(const Graph& graph);

/// Formats a counterexample on one line, with the tensors and the results of both sides: "x = [[-1,
/// 2]], c = -2: left 4, right -2". Small leaves are complete, large ones list nonzero elements.
/// Returns "" if the counterexample does not store all nonzero elements.
std::string example_text(const Graph& graph, const Counterexample& example);

} // namespace tg
