// The checks that need no values: names, argument names and counts, assignment, types that exist.
// They run over every function of a program, called or not, so that a library is checked without a
// use. Shapes are checked by instantiation (compiler/ir/from_ast.h), which relies on these.
#pragma once

#include "lang/check/modules.h"

namespace tg {

/// Reports what is wrong in the functions and models of all modules; true if nothing is.
/// Errors: unknown_name, duplicate_name, unknown_argument, missing_argument, too_many_arguments,
/// wrong_kind, not_assignable.
bool check_names(const Program& program, DiagnosticSink& sink);

} // namespace tg
