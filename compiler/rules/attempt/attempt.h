// One attempt at an instance of a rule: a walk down its left side (sample.h explains the idea).
// Each term gets a required shape, or none, and requires shapes of its operands that result in it.
// The parts: `draws` (random choices), `hints` (facts from conditions), `terms` (types of terms),
// and `operators` (by shape rule).
#pragma once

#include "compiler/rules/attempt/operators.h"

namespace tg {

class RuleAttempt final : public OperatorMaker {
public:
  /// All arguments must outlive the attempt. The result goes to `instance`, the reason of a
  /// failure to `why`.
  RuleAttempt(Symbols& symbols, const Rule& rule, llvm::ArrayRef<DType> dtypes,
              std::mt19937_64& rng, RuleInstance& instance, std::string& why);

  /// Returns false if a guess was wrong; a new attempt makes new guesses.
  bool run();

private:
  bool make_op(TermId id, const Shape* want) override;
  static RuleInstance& emptied(RuleInstance& instance, const Rule& rule);

  Symbols& symbols_;
  const Rule& rule_;
  RuleInstance& in_;
  InstanceDraws draws_;
  RuleHints hints_;
  AttemptTerms terms_;
  OperatorGuess guess_;
};

} // namespace tg
