// Recipes: the rewrites of one optimisation, repeated at other sizes
// (egraph/explain/instantiate.h). size_recipes.h selects recipes for the ranges of open sizes.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/rules/rule.h"
#include "lang/core/result.h"
#include "tangram/tangram.h"

#include <algorithm>

namespace tangram {

/// Copies the chain, whose symbols may change later. Of the options, prices are used. RuleIds are
/// positions in `rules`.
Recipe to_recipe(const tg::Derivation& chain, std::vector<tg::Rule> rules, const tg::Graph& source,
                 OptimizeOptions options);

} // namespace tangram

namespace tg {

/// A recipe at the sizes of a source. Costs are those of tangram::Repeated.
struct RepeatedGraph {
  Graph graph; // rewritten, even if that costs more
  size_t steps = 0, skipped = 0;
  double source_us = 0, result_us = 0;

  bool source_is_better() const { return result_us > source_us; }
  double cost_us() const { return std::min(source_us, result_us); }
};

/// Repeats the recipe, and checks the chain against the text of the rules. Adds to the symbols of
/// the source. Errors: `models_differ`; those of prices.
Result<RepeatedGraph> repeat(const tangram::Recipe& recipe, const Graph& source);

/// Returns the rules that the steps of the chain apply, or that made terms of it, each once.
std::vector<Rule> rules_of(const tangram::Recipe& recipe);
/// Returns the number of steps of the chain.
size_t steps_of(const tangram::Recipe& recipe);

} // namespace tg
