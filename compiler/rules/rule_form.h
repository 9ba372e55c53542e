// Finds rules that state the same. A rule's form is its text without irrelevant details: tensors
// and attributes are numbered in the order of the left side, and conditions and their commutative
// operands are sorted. If a rule has several results, their order does not matter.
#pragma once

#include "compiler/rules/rule.h"

#include <string>
#include <vector>

namespace tg {

/// Returns a text that is equal for rules that state the same in one direction, whatever their
/// class of numerics.
std::string rule_form(const Rule& rule);

/// Returns one of the rules that state the same with the same class of numerics, in order: the
/// first, but a user's rule before one of the library. Published lists contain repetitions: eight
/// of TASO's declarations repeat another under other names.
std::vector<RuleId> distinct_rules(llvm::ArrayRef<Rule> rules);

/// A declaration all of whose rules (directions, operators, orders of operands) are also rules of
/// another declaration.
struct Repetition {
  std::string declared, of;
  bool whole = true; // both state the same; otherwise `of` states more
};

/// Returns the repetitions in the order of the rules; among equal declarations, all but the first.
std::vector<Repetition> repetitions(llvm::ArrayRef<Rule> rules);

} // namespace tg
