// Random instances of a rule: types for its class variables and values for its value variables, for
// which the left side is well typed and the conditions hold. The type check of rules draws a few,
// their tests draw many.
//
// The left side is walked downwards. A term is given a wanted shape (or none) and gives its
// operands the shapes that produce it, by the inverse of its shape rule; existing bindings
// determine the remainder. A wrong guess fails, and the next attempt makes new guesses. If attempts
// alone do not satisfy the conditions, an instance of the left side is changed until it does
// (solver.h). Only `infer` judges types, so an instance is valid however it was guessed.
#pragma once

#include "compiler/rules/instances/dtypes.h"
#include "compiler/rules/instances/solver.h"

#include <optional>
#include <random>
#include <string>

namespace tg {

/// For tensors whose dtype the rule leaves open: f32, or now and then any dtype.
enum class SampledDTypes : uint8_t { Usual, Any };

class RuleSampler {
public:
  /// Both arguments must outlive the sampler. `rule` is not native.
  RuleSampler(Symbols& symbols, const Rule& rule, uint64_t seed,
              SampledDTypes sampled = SampledDTypes::Usual);
  RuleSampler(const RuleSampler&) = delete;
  RuleSampler& operator=(const RuleSampler&) = delete;

  /// Values that value variables are forced to take.
  using Forced = std::vector<std::pair<uint32_t, Value>>;

  /// Returns an instance; nullopt if `attempts` attempts found none.
  std::optional<RuleInstance> draw(size_t attempts, const Forced& forced = {});
  /// Returns an instance of the left side alone, whether or not the conditions hold.
  std::optional<RuleInstance> draw_unconditioned(size_t attempts);
  /// Returns the reason why the last attempt failed, if `infer` gave one.
  const std::string& why() const;

private:
  bool attempt(RuleInstance& instance, bool conditions, const Forced& forced);
  bool solve(RuleInstance& instance, const Forced& forced);

  Symbols& symbols_;
  const Rule& rule_;
  RuleDTypes dtypes_;
  SampledDTypes sampled_;
  std::mt19937_64 rng_, dtype_rng_, solver_rng_;
  InstanceSolver solver_;
  bool solved_ = false; // an instance was solved for, since attempts alone found none
  std::string why_;
};

} // namespace tg
