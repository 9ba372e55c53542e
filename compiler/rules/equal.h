// Finds rules that are the same up to names. Published lists contain some: eight of TASO's
// declarations repeat another under other names.
#pragma once

#include "compiler/rules/rule.h"

namespace tg {

/// Returns true if the rules differ only in names: equal sides, conditions (in any order) and
/// numerics, up to one renaming of variables. Several patterns are compared in their order.
bool same_rule(const Rule& a, const Rule& b);

/// Returns one rule of each kind, in order: the first, but a user's rule before one of the library.
std::vector<RuleId> distinct_rules(llvm::ArrayRef<Rule> rules);

} // namespace tg
