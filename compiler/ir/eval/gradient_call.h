// `grad(loss, wrt = [w, b])`: the derivatives of a tensor of one element, as nodes of the graph.
#pragma once

#include "compiler/ir/eval/nodes.h"

namespace tg::eval {

/// As many tensors as `wrt` names: a list or tuple as it is, one tensor for one. `args`: the loss,
/// `wrt`, and what is taken for given (Unit where nothing is).
Val gradient_call(Nodes& nodes, Report& report, const Frame& frame, const ast::Expr& e,
                  llvm::ArrayRef<Val> args);

} // namespace tg::eval
