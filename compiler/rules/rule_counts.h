// Counts uses of rules: by number during a search, by name in reports.
#pragma once

#include "compiler/rules/rule.h"

#include <string>
#include <vector>

namespace tg {

/// A count for one rule, for example of applications that are part of a result; at most one
/// entry per rule.
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
  /// Most used first, then by name.
  bool operator<(const RuleCount& other) const {
    return count != other.count ? count > other.count : rule < other.rule;
  }
};

/// Adds a row, or adds to an existing one.
void add_count(std::vector<RuleCount>& counts, llvm::StringRef rule, size_t count);
/// Adds the counts of the used rules of `rules`.
void add_counts(std::vector<RuleCount>& counts, llvm::ArrayRef<RuleUse> uses,
                llvm::ArrayRef<Rule> rules);
void add_counts(std::vector<RuleCount>& counts, llvm::ArrayRef<RuleCount> more);
bool counts_rule(llvm::ArrayRef<RuleCount> counts, llvm::StringRef rule);

/// Returns counts by name, most used first.
std::vector<RuleCount> named_counts(llvm::ArrayRef<RuleUse> uses, llvm::ArrayRef<Rule> rules);
std::vector<RuleCount> most_often_first(std::vector<RuleCount> counts);

} // namespace tg
