// Which rules say the same. A rule's form is its text without what does not matter: tensors and
// attributes are numbered as the left side meets them, conditions are sorted, and so is what
// commutes in them; of the results of a rule that has several any order is as good.
#pragma once

#include "compiler/rules/rule.h"

#include <string>
#include <vector>

namespace tg {

/// Equal for rules that say the same, in one direction; whatever their class of numerics.
std::string rule_form(const Rule& rule);

/// A declaration of which every rule (directions, operators, orders of operands) is one of
/// another's, too.
struct Repetition {
  std::string declared, of;
  bool whole = true; // both say the same; else the other says more
};

/// In the order of the rules; of declarations that say the same all but the first.
std::vector<Repetition> repetitions(llvm::ArrayRef<Rule> rules);

} // namespace tg
