// Presents and checks chains of rewrites: the part of a graph that a step changes as two small
// models; how often each rule was applied; and, if an optimised model differs from its source, the
// rule of the wrong step.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/extract/cost/cost.h"
#include "compiler/ir/graph.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/rules/rule.h"
#include "compiler/verify/equivalent.h"

namespace tg {

/// Returns one side of a step as a separate model. Its inputs are the bindings of the rule's
/// variables (weights and constants if they are such), named as in the rule.
Graph step_fragment(const Derivation& chain, const DerivationStep& step, const Rule& rule,
                    bool before);

/// Describes the variables bound to leaves of the model: "x = image, w = layer1.weight".
std::string step_leaves(const Derivation& chain, const DerivationStep& step, const Rule& rule);

/// Returns the number of steps of each rule, most often used first, then by name.
std::vector<RuleCount> count_rules(const Derivation& chain, llvm::ArrayRef<Rule> rules);

/// Checks the result's chain against the text of the rules (verify/replay.h). Errors: `internal`;
/// `limit_no_answer` if `stop` ended the check, or the earlier search for the chain.
Result<void> confirm_chain(const Optimized& optimized, llvm::ArrayRef<Rule> rules,
                           const Graph& source, const StopToken& stop = {});

/// Checks that the result is exactly the same function as its source (verify/equivalent.h).
/// Requires the chain. Errors: `optimiser_differs` with the first wrong step, its rule and both its
/// sides, or with the statement that no step is wrong.
Result<Equivalence> verify_optimized(const Graph& source, const Optimized& optimized,
                                     llvm::ArrayRef<Rule> rules, const EquivalenceOptions& options);

// Replaces operators of a graph by the backend's kernels, with a proof that both graphs are equal.

/// Returns the chain from `plain` to `fused` (ExtractedGraph) by rules that fuse operators into a
/// preceding convolution or product. Both are over the same symbols, and RuleIds are positions in
/// `rules`. Rules of a class riskier than `numerics` are skipped. Errors: `internal` if the rules
/// do not lead there; then the kernels must not be used.
Result<Derivation> explain_kernels(const Graph& plain, const Graph& fused,
                                   llvm::ArrayRef<Rule> rules, Numerics numerics);

struct WithKernels {
  Graph graph;
  double cost_us = 0;
  Derivation chain; // from the graph without kernels
};
/// Returns the graph with the kernels of the prices' device that make it cheapest, for searches
/// that end before the fusion rules have been applied everywhere. Other operators are unchanged.
/// Returns nullopt if nothing is gained or the rules do not lead there.
std::optional<WithKernels> use_kernels(const Graph& graph, llvm::ArrayRef<Rule> rules,
                                       PriceCache& prices, Numerics numerics);

/// Returns the graph with activations and sums fused into the preceding products and convolutions
/// as far as that pays. Its price is the same for all ways to write such a chain.
Graph with_fused_kernels(const Graph& graph, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                         Numerics numerics, Extractor extractor);

} // namespace tg
