// Rules that say the same in other words. Published lists have such: eight of TASO's
// declarations repeat another with other names.
#pragma once

#include "compiler/rules/rule.h"

namespace tg {

/// Whether the rules differ in nothing but names: equal sides, conditions (in any order) and
/// numerics, up to one renaming of variables. Sides of several patterns are compared in their
/// order.
bool same_rule(const Rule& a, const Rule& b);

/// One of each kind, in order: the first, but the user's before one of the library.
std::vector<RuleId> distinct_rules(llvm::ArrayRef<Rule> rules);

} // namespace tg
