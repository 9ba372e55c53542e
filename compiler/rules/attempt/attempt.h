// One attempt at an instance of a rule: a walk down its left side (sample.h has the idea). A term
// is asked for a shape, or for any, and asks its operands for the shapes that give it. The parts:
// `draws` (what is random), `hints` (what conditions say), `terms` (what has a type), and
// `operators` (by shape rule).
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
