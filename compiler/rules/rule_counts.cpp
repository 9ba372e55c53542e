#include "compiler/rules/rule_counts.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

void add_count(std::vector<RuleCount>& counts, llvm::StringRef rule, size_t count) {
  auto known = llvm::find_if(counts, [&](const RuleCount& row) { return row.rule == rule; });
  if (known == counts.end())
    counts.push_back({rule.str(), count});
  else
    known->count += count;
}

void add_counts(std::vector<RuleCount>& counts, llvm::ArrayRef<RuleUse> uses,
                llvm::ArrayRef<Rule> rules) {
  for (const RuleUse& use : uses)
    if (use.rule < rules.size() && use.count > 0)
      add_count(counts, rules[use.rule].name, use.count);
}

void add_counts(std::vector<RuleCount>& counts, llvm::ArrayRef<RuleCount> more) {
  for (const RuleCount& row : more) add_count(counts, row.rule, row.count);
}

bool counts_rule(llvm::ArrayRef<RuleCount> counts, llvm::StringRef rule) {
  return llvm::any_of(counts, [&](const RuleCount& row) { return row.rule == rule; });
}

std::vector<RuleCount> named_counts(llvm::ArrayRef<RuleUse> uses, llvm::ArrayRef<Rule> rules) {
  std::vector<RuleCount> counts;
  add_counts(counts, uses, rules);
  return most_often_first(std::move(counts));
}

std::vector<RuleCount> most_often_first(std::vector<RuleCount> counts) {
  llvm::sort(counts);
  return counts;
}

} // namespace tg
