// Random instances of a rule: types for its class variables and values for its value variables, for
// which the left side is well typed and the conditions hold. The type check of rules draws a few,
// their tests draw many.
//
// The left side is walked downwards: a term is asked for a shape (or for any) and asks its operands
// for the shapes that give it, by the inverse of its shape rule; what is bound already decides the
// rest. What was guessed wrongly fails, and the next attempt guesses anew. Types are judged by
// `infer` alone, so that an instance is right however it was guessed.
#pragma once

#include "compiler/egraph/rule.h"
#include "compiler/egraph/rule_eval.h"
#include "compiler/ir/graph.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tg {

struct RuleInstance : ClassFacts {
  std::vector<TypeId> types; // of class variables
  std::vector<bool> weights, constants;
  llvm::SmallVector<ValueId, 8> values;

  TypeId type(uint32_t class_var) const override { return types[class_var]; }
  bool weight_only(uint32_t class_var) const override { return weights[class_var]; }
  bool constant(uint32_t class_var) const override { return constants[class_var]; }
};

class RuleSampler {
public:
  /// Both outlive the sampler. `rule` is not native.
  RuleSampler(Symbols& symbols, const Rule& rule, uint64_t seed);
  ~RuleSampler();

  /// Values that value variables are forced to take.
  using Forced = std::vector<std::pair<uint32_t, Value>>;

  /// nullopt if so many attempts found none.
  std::optional<RuleInstance> draw(size_t attempts, const Forced& forced = {});
  /// An instance of the left side alone, whether or not the conditions hold.
  std::optional<RuleInstance> draw_unconditioned(size_t attempts);
  /// Why the last attempt failed, where `infer` said so.
  const std::string& why() const;

private:
  class Attempt;
  bool attempt(RuleInstance& instance, bool conditions, const Forced& forced);

  Symbols& symbols_;
  const Rule& rule_;
  std::mt19937_64 rng_;
  std::string why_;
};

/// Types of the terms under `root` at this instance, by TermId; false, with `why`, if one is
/// ill-typed. Terms of either side; attributes of the left side are the instance's values.
bool type_terms(Symbols& symbols, const Rule& rule, const RuleInstance& instance, TermId root,
                std::vector<TypeId>& types, std::string* why = nullptr);

/// The term under `root`, built into a graph whose leaves are the instance's class variables under
/// their names: weights, constants (of one number), absent operands, else inputs. `nodes`, by
/// TermId, may be kept from other roots. Invalid, with `why`, if a term is ill-typed.
NodeId build_term(Graph& graph, const Rule& rule, const RuleInstance& instance, TermId root,
                  std::vector<NodeId>& nodes, std::string* why = nullptr);

/// "x: f32[2, 3]" for each class variable, "stride = [1, 1]" for each value variable.
std::vector<std::string> describe(const Symbols& symbols, const Rule& rule,
                                  const RuleInstance& instance);

} // namespace tg
