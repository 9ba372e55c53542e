// Checks that the shapes of a model with ranges hold for all sizes in them. The model is
// instantiated at a sample of the ranges with open sizes (lang/core/sizes/open_size.h). Each answer
// that does not hold for all sizes divides them, and the other part is checked at a sample of its
// own, so that in the end every size belongs to a part for which the instantiation is the same.
// Errors are therefore errors at a sample, which the message shows. A model is refused
// if a part can neither be shown empty nor sampled, or if there are too many parts: nothing is
// accepted without a proof.
#pragma once

#include "compiler/ir/from_ast.h"

namespace tg {

/// Most parts of the ranges that a check instantiates.
inline constexpr size_t kMaxSizeParts = 64;

/// Returns true if a parameter of the model has a range.
bool has_ranges(const Program& program, FnRef model);

/// Requires that check_names found no errors and that all other parameters have values, by default
/// or in `settings`, which may also fix sizes with ranges. Returns true if no error was reported.
/// Errors: those of `instantiate`; `not_constant` for a construct that requires a number;
/// `dimension_mismatch` for a condition that could not be proved.
bool check_open(const Program& program, FnRef model, DiagnosticSink& sink,
                const ModelSettings& settings = {});

} // namespace tg
