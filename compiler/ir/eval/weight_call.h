// Builtins on weights for training: `params(loss)`, `path(w)` and `update(w, value)`.
#pragma once

#include "compiler/ir/eval/nodes.h"
#include "lang/syntax/builtins.h"

namespace tg::eval {

/// `args` holds a value for each parameter of the builtin.
Val weight_call(Builtin kind, Nodes& nodes, Report& report, const Frame& frame, const ast::Expr& e,
                llvm::ArrayRef<Val> args);

} // namespace tg::eval
