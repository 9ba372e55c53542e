// A graph with a backend's kernels in place of the operators that they stand for, and why the two
// are equal.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/extract/cost/cost.h"
#include "compiler/ir/graph.h"
#include "compiler/rules/rule.h"

namespace tg {

/// The chain from `plain` to `fused` (ExtractedGraph) by rules that put what follows a convolution
/// or product into it; both over the same symbols, RuleIds as positions in `rules`. Rules of a
/// class above `numerics` are left out. Errors: `internal` where the rules at hand do not lead
/// there: then the kernels must not be used.
Result<Derivation> explain_kernels(const Graph& plain, const Graph& fused,
                                   llvm::ArrayRef<Rule> rules, Numerics numerics);

struct WithKernels {
  Graph graph;
  double cost_us = 0;
  Derivation chain; // from the graph without
};
/// The graph with those kernels of the prices' device that make it cheapest, its operators
/// otherwise as they are; for searches that end before the rules of fusion have been everywhere.
/// nullopt where that gains nothing or the rules do not lead there.
std::optional<WithKernels> use_kernels(const Graph& graph, llvm::ArrayRef<Rule> rules,
                                       PriceCache& prices, Numerics numerics);

} // namespace tg
