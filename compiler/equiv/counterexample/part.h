// Two large models that differ, shown by two small ones: where they part (narrow.h), at small
// shapes, with few inputs that are not zero (minimise.h).
#pragma once

#include "compiler/equiv/equivalent.h"
#include "compiler/equiv/field/field.h"
#include "compiler/ir/evaluation.h"

namespace tg {

/// `point` is one at which output `output` differs in the field. nullopt if float64 shows no
/// difference there, or if that would be the models themselves.
std::optional<Equivalence::Part> find_part(const Joined& joined, size_t output,
                                           const Evaluation<Field>::Leaves& point,
                                           const EquivalenceOptions& options);

} // namespace tg
