// Where a function may change its mind: values of inputs at and around the numbers that a graph is
// written with. A clip at 1000, a comparison with 25 or a sum that crosses 19 shows at no ordinary
// input; it shows here.
#pragma once

#include "compiler/ir/graph.h"

#include <vector>

namespace tg {

/// The numbers in constants and attributes of what these nodes are computed from, and those that
/// operators stand for (6 of relu6); ascending, each once, without 0. At most 64, those nearest to
/// 1 in magnitude.
std::vector<double> literals_of(const Graph& graph, llvm::ArrayRef<NodeId> roots);

/// Values for inputs: each literal of both signs with its neighbours (a little less and more, one
/// less and more, half and twice as much), then, for who has time for more, the same of sums,
/// differences, products and quotients of two, in an order without meaning. Finite, each once;
/// empty if there are no literals.
std::vector<double> threshold_values(llvm::ArrayRef<double> literals);

} // namespace tg
