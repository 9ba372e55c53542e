// Chains of rewrites for people, and what is proved with them: the part of a graph that a step
// changes as two small models; how often each rule was applied; and, where an optimised model
// differs from its source, the rule whose step made the difference.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/extract/cost/cost.h"
#include "compiler/ir/graph.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/rules/rule.h"
#include "compiler/verify/equivalent.h"

namespace tg {

/// One of a step's two sides as a model of its own: what the rule's variables stand for are its
/// inputs (weights and constants where they are such), named as in the rule.
Graph step_fragment(const Derivation& chain, const DerivationStep& step, const Rule& rule,
                    bool before);

/// "x = image, w = layer1.weight": variables of a step that stand for leaves of the model.
std::string step_leaves(const Derivation& chain, const DerivationStep& step, const Rule& rule);

/// Rules and how many steps each has, most often used first, then by name.
std::vector<RuleCount> count_rules(const Derivation& chain, llvm::ArrayRef<Rule> rules);

/// Checks the result's chain against the rules' own text (verify/replay.h). Errors: `internal`;
/// `limit_no_answer` where `stop` ended this, or the search for the chain before it.
Result<void> confirm_chain(const Optimized& optimized, llvm::ArrayRef<Rule> rules,
                           const Graph& source, const StopToken& stop = {});

/// Checks that the result is exactly the same function as its source (verify/equivalent.h).
/// Requires the chain. Errors: `optimiser_differs` names the first step that is wrong, its rule and
/// both its sides, or else says that no step is.
Result<Equivalence> verify_optimized(const Graph& source, const Optimized& optimized,
                                     llvm::ArrayRef<Rule> rules, const EquivalenceOptions& options);

// A graph with a backend's kernels in place of the
// operators that they stand for, and why the two are equal.

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

/// Price of the graph once the activations and sums behind its products and convolutions are part
/// of these, as far as that pays: the same for all spellings of such a chain. Units: microseconds.
double price_fused(const Graph& graph, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                   Numerics numerics);

} // namespace tg
