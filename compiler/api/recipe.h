// Recipes: the rewrites of one optimisation, repeated at other sizes
// (egraph/explain/instantiate.h).
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/rules/rule.h"
#include "tangram/tangram.h"

namespace tangram {

/// Copies the chain, whose symbols may change later. Of the options, prices are used. RuleIds are
/// positions in `rules`.
Recipe to_recipe(const tg::Derivation& chain, std::vector<tg::Rule> rules, const tg::Graph& source,
                 OptimizeOptions options);

} // namespace tangram
