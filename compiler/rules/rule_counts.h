// How often rules were used: by number while a search goes on, by name in what it reports.
#pragma once

#include "compiler/rules/rule.h"

#include <string>
#include <vector>

namespace tg {

/// Applications whose work is part of a result, say; at most one row a rule.
struct RuleUse {
  RuleId rule{};
  size_t count = 0;
  bool operator==(const RuleUse&) const = default;
};

/// The same by the rule's name.
struct RuleCount {
  std::string rule;
  size_t count = 0;
  bool operator==(const RuleCount&) const = default;
  /// Most often used first, then by name.
  bool operator<(const RuleCount& other) const {
    return count != other.count ? count > other.count : rule < other.rule;
  }
};

/// One more row, or more of one that is there.
void add_count(std::vector<RuleCount>& counts, llvm::StringRef rule, size_t count);
/// Each of the rules that `rules` has and that were used.
void add_counts(std::vector<RuleCount>& counts, llvm::ArrayRef<RuleUse> uses,
                llvm::ArrayRef<Rule> rules);
void add_counts(std::vector<RuleCount>& counts, llvm::ArrayRef<RuleCount> more);
bool counts_rule(llvm::ArrayRef<RuleCount> counts, llvm::StringRef rule);

/// By name, most often used first.
std::vector<RuleCount> named_counts(llvm::ArrayRef<RuleUse> uses, llvm::ArrayRef<Rule> rules);
std::vector<RuleCount> most_often_first(std::vector<RuleCount> counts);

} // namespace tg
