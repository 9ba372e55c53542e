// The checks that need no values: names, argument names and counts, assignment, existing types.
// They run over every function of a program, called or not, so that a library
// is checked without being used. Instantiation (compiler/ir/from_ast.h)
// checks shapes and relies on these checks.
#pragma once

#include "lang/check/modules.h"

namespace tg {

/// Reports errors in the functions and models of all modules; returns true if there are none.
/// Errors: unknown_name, duplicate_name, unknown_argument, missing_argument, too_many_arguments,
/// wrong_kind, not_assignable.
bool check_names(const Program& program, DiagnosticSink& sink);

} // namespace tg
