// From two large models that differ to a small pair of models that does.
//
// 1. Where they part. All nodes are evaluated at one point of the field. From outputs that differ
//    we follow equal operators down to the last pair of operands that differ and of which neither
//    occurs on the other side; what both sides of that pair compute alike becomes an input. At the
//    values that these inputs had in the models, the pair differs.
// 2. Smaller shapes. One size after the other is replaced, in all leaves and shapes where it is,
//    then one axis of one leaf, by 1, 2, ...; a change stays if both sides are well typed, have one
//    type, and still differ (delta debugging, Zeller and Hildebrandt 2002).
//
// So a wrong step in the middle of a network is shown by the few operators that it is about.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/verify/counterexample/adversary.h"
#include "compiler/verify/equivalent.h"
#include "compiler/verify/field/field.h"
#include "compiler/verify/join.h"

#include <string>

namespace tg {

/// The pair at which output `output` of the models parts: the output itself, or `y`. `point` is one
/// at which it differs.
Joined narrow(const Joined& joined, size_t output, const Evaluation<Field>::Leaves& point);

/// The pair at the smallest shapes found at which `differs` still says so; `attempts` bounds how
/// often it is asked.
Joined shrink(Joined pair, llvm::function_ref<bool(const Joined&)> differs, size_t attempts);

/// Both sides as one file with the models `left` and `right`, which have the same inputs.
std::string as_models(const Joined& pair);

/// Two large models that differ, shown by two small ones: where they part, at small shapes, with
/// few inputs that are not zero (minimise.cpp). `point` is one at which output `output` differs in
/// the field. nullopt if float64 shows no difference there, or if that would be the models
/// themselves.
std::optional<Equivalence::Part> find_part(const Joined& joined, size_t output,
                                           const Evaluation<Field>::Leaves& point,
                                           const EquivalenceOptions& options);

// Counterexamples in float64, made small: most of the inputs zero, what is left small integers
// where these still show the difference.

/// What `attempt` shows at `difference`; `minimise` makes it small first. Evaluates at most a few
/// hundred times, and no more than some 10^10 operations.
Counterexample counterexample_of(const Trial& trial, Attempt attempt, Trial::Difference difference,
                                 bool minimise);

/// Floating-point operations of one evaluation of all nodes; an element of a result counts as one.
double evaluation_flops(const Graph& graph);

/// A counterexample as a person reads it: the tensors and what the two sides make of them, on a
/// line: "x = [[-1, 2]], c = -2: left 4, right -2": small leaves whole, of large ones what is not
/// zero; "" where the counterexample does not hold all that is not zero.
std::string example_text(const Graph& graph, const Counterexample& example);

} // namespace tg
