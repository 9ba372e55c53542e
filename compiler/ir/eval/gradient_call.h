// `grad(loss, wrt = [w, b])`: derivatives of a tensor of one element, as nodes of the graph.
#pragma once

#include "compiler/ir/eval/nodes.h"

namespace tg::eval {

/// Returns one tensor for each of `wrt`: a list or tuple for a list or tuple, a tensor for a
/// tensor. `args` holds the loss, `wrt`, and the values held constant (Unit if there are none).
Val gradient_call(Nodes& nodes, Report& report, const Frame& frame, const ast::Expr& e,
                  llvm::ArrayRef<Val> args);

} // namespace tg::eval
