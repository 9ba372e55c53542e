// Chains of rewrites for people, and what is proved with them: the part of a graph that a step
// changes as two small models; how often each rule was applied; and, where an optimised model
// differs from its source, the rule whose step made the difference.
#pragma once

#include "compiler/equiv/equivalent.h"
#include "compiler/optimizer/optimize.h"

namespace tg {

/// One of a step's two sides as a model of its own: what the rule's variables stand for are its
/// inputs (weights and constants where they are such), named as in the rule.
Graph step_fragment(const Derivation& chain, const DerivationStep& step, const Rule& rule,
                    bool before);

/// "x = image, w = layer1.weight": variables of a step that stand for leaves of the model.
std::string step_leaves(const Derivation& chain, const DerivationStep& step, const Rule& rule);

/// Rules and how many steps each has, most often used first, then by name.
std::vector<RuleCount> count_rules(const Derivation& chain, llvm::ArrayRef<Rule> rules);

/// Holds the result's chain against the rules' own text (equiv/replay.h). Errors: `internal`;
/// `limit_no_answer` where `stop` ended this, or the search for the chain before it.
Result<void> confirm_chain(const Optimized& optimized, llvm::ArrayRef<Rule> rules,
                           const Graph& source, const StopToken& stop = {});

/// Whether the result is the same function as its source, exactly (equiv/equivalent.h). Requires
/// the chain. Errors: `optimiser_differs` names the first step that is wrong, its rule and both its
/// sides, or else says that no step is.
Result<Equivalence> verify_optimized(const Graph& source, const Optimized& optimized,
                                     llvm::ArrayRef<Rule> rules, const EquivalenceOptions& options);

} // namespace tg
