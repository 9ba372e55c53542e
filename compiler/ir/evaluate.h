// Evaluates a graph in float64 (or over another scalar) without a runtime: node by node in the
// graph's order, through the one definition of the operators (lang/core/semantics.h). For property
// tests of rules, constant folding and checks; a network on real inputs belongs to a backend.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/semantics.h"

#include <functional>
#include <vector>

namespace tg {

/// Row-major elements of one node.
using NodeValues = std::vector<double>;
/// The contents of an input or weight: as many values as its type has elements.
using LeafSource = std::function<NodeValues(const Graph&, NodeId)>;

/// Leaves from (seed, name or path, element) alone, so that two graphs over the same leaves see the
/// same numbers. Uniform in (-1, 1), kept away from 0 by 2^-10, so that quotients stay tame;
/// positive, in (0, 1), where `positive` says so for the name.
LeafSource random_leaves(uint64_t seed, std::function<bool(llvm::StringRef)> positive = {});

/// Values of the outputs, in their order. Errors: `not_constant` names the first leaf for which
/// `leaves` gives the wrong number of values.
Result<std::vector<NodeValues>> evaluate(const Graph& graph, const LeafSource& leaves);

/// Values of the nodes asked for, in the order asked.
Result<std::vector<NodeValues>> evaluate(const Graph& graph, const LeafSource& leaves,
                                         llvm::ArrayRef<NodeId> wanted);

/// max |a - b| over max |b|; infinity if sizes differ or a value is not finite. 0 if both are zero.
double max_rel_diff(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b);

} // namespace tg
