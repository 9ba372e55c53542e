// The rules of one search in compiled form: left sides as patterns (each distinct one once), right
// sides as straight-line plans.
#pragma once

#include "compiler/rules/pattern.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <bitset>

namespace tg {

/// An operand or a result of a right side: a class variable or an earlier step of the plan.
struct PlanRef {
  bool is_step = false;
  uint32_t index = 0;
  bool operator==(const PlanRef&) const = default;
};

/// One operator of a right side.
struct BuildStep {
  OpKind op{};
  AttrsId attrs; // valid if all attributes are literals
  const Term* term = nullptr;
  llvm::SmallVector<PlanRef, 4> operands;
};

struct CompiledRule {
  const Rule* rule = nullptr;
  RuleId id = 0;
  std::vector<PatternUse> sources; // empty for native rules
  std::vector<BuildStep> plan;     // operands first; equal terms once
  llvm::SmallVector<PlanRef, 2> results;
  /// True if both sources are the same pattern, and swapping them only renames variables that they
  /// do not share: a pair of matches is tried in one order, and in the other only if the conditions
  /// reject the first.
  bool symmetric = false;
  bool multi() const { return sources.size() > 1; }
  bool native() const { return rule->native != Native::No; }
};

/// Returns, by RuleId, the rules of a search: those that `most` admits, except rules of an
/// operator with Trait::Yields that is not `present` and that no other rule makes. The latter
/// cannot fire. Without them, strategies that draw among all rules give the same results as before
/// the operator was added.
std::vector<bool> rules_in_use(llvm::ArrayRef<Rule> rules, Numerics most,
                               llvm::function_ref<bool(OpKind)> present);

class RuleBook {
public:
  /// `rules` must outlive the book; RuleId is the position there. A rule whose left side has no
  /// operator is left out.
  RuleBook(Symbols& symbols, llvm::ArrayRef<Rule> rules);

  const std::vector<Pattern>& patterns() const { return patterns_; }
  const std::vector<CompiledRule>& rules() const { return rules_; }
  /// Operators that some pattern has below its root.
  const std::bitset<kOpCount>& inner_ops() const { return inner_ops_; }
  uint32_t depth() const { return depth_; }

private:
  bool compile(Symbols& symbols, const Rule& rule, CompiledRule& out);
  uint32_t intern(Pattern pattern);

  std::vector<Pattern> patterns_;
  std::vector<CompiledRule> rules_;
  std::bitset<kOpCount> inner_ops_;
  uint32_t depth_ = 0;
};

} // namespace tg
