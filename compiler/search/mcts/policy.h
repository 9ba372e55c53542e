// The open seat of the searches: what decides which actions are tried first, and learns from what
// came of them. A policy is given features of the state and of each action, answers with weights,
// and learns what every action gained. One that looks at graphs is also shown the best graph of a
// state, and says how promising each rule is there and how much can be gained. Nothing else of a
// search is known to it, so that a learned policy can take the seat: two are here, one that knows
// nothing and one that keeps statistics; those that tables and networks made are in search/game
// and bench/paper.
//
// A policy must be deterministic: same calls, same answers. Searches that work in parallel have one
// each (`fresh`); within a search several threads may ask for weights at once, and none while it
// learns.
#pragma once

#include "compiler/egraph/ids.h"
#include "compiler/ir/graph.h"
#include "compiler/rules/rule.h"

#include <llvm/ADT/ArrayRef.h>

#include <map>
#include <memory>

namespace tg {

/// How much of a rule an action is.
enum class Grain : uint8_t { Rule, Group, Match };
inline constexpr size_t kGrains = 3;

/// What a policy says of a graph.
struct Opinion {
  std::vector<float> weights; // [rules, kGrains], > 0
  double gain = 0;            // that is expected beyond: relative
  double weight(RuleId rule, Grain grain) const {
    return weights[rule * kGrains + static_cast<size_t>(grain)];
  }
};

struct ActionFeatures {
  const Rule* rule = nullptr;
  uint32_t rule_number = 0;
  Grain grain{};
  uint32_t places = 0;                                // matches that it would apply
  uint32_t operators_before = 0, operators_after = 0; // of the rule's sides
};

struct StateFeatures {
  size_t nodes = 0, classes = 0, node_limit = 0;
  double cost_us = 0, source_cost_us = 0;
  uint32_t depth = 0;               // actions since the root of the tree
  RuleId last = kSourceRule;        // of the action before
  const Opinion* opinion = nullptr; // of the graph that the state, or one before it, had
};

/// What is known of a rule: summed over actions, or read from a file.
struct RuleRecord {
  double tried = 0;
  double paid = 0; // actions after which the cost was lower
  double gain = 0; // sum of costs after over costs before, less one: relative
};

class Policy {
public:
  virtual ~Policy() = default;
  virtual std::string name() const = 0;
  /// Weights > 0, by action; they need not sum up to anything.
  virtual void weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
                     llvm::MutableArrayRef<double> weights) const = 0;
  /// The action was taken, and the cost of the state after it relative to before is 1 - gain.
  virtual void learn(const StateFeatures& state, const ActionFeatures& action, double gain) = 0;
  /// Whether it looks at graphs; then look() is asked about the best graph of a state, again where
  /// one is clearly cheaper, by several searches at once.
  virtual bool looks() const { return false; }
  virtual std::shared_ptr<const Opinion> look(const Graph& /*best*/,
                                              llvm::ArrayRef<Rule> /*rules*/) const {
    return nullptr;
  }
  /// Weights are what is known beforehand, by which a search also chooses where to go on (PUCT),
  /// not only in which order to try.
  virtual bool guides() const { return false; }
  /// One of the same kind and start, for a search of its own.
  virtual std::unique_ptr<Policy> fresh() const = 0;
};

/// All actions weigh the same.
class RandomPolicy final : public Policy {
public:
  std::string name() const override { return "random"; }
  void weigh(const StateFeatures&, llvm::ArrayRef<ActionFeatures>,
             llvm::MutableArrayRef<double> weights) const override;
  void learn(const StateFeatures&, const ActionFeatures&, double) override {}
  std::unique_ptr<Policy> fresh() const override { return std::make_unique<RandomPolicy>(); }
};

/// Records by name of the declared rule, as searches before this one left them.
using PriorTable = std::map<std::string, RuleRecord>;

/// Statistics that earlier searches left; `compiler/api` fills it from a file.
class PriorStore {
public:
  virtual ~PriorStore() = default;
  virtual const PriorTable& priors() const = 0;
};

/// A rule weighs what share of its actions paid in this search so far, with two imaginary actions
/// of which one paid, or what a prior table says, in their place; rules that shrink are a little
/// ahead at the start.
class StatisticsPolicy final : public Policy {
public:
  explicit StatisticsPolicy(const PriorStore* store = nullptr) : store_(store) {}
  std::string name() const override { return "statistics"; }
  void weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
             llvm::MutableArrayRef<double> weights) const override;
  void learn(const StateFeatures& state, const ActionFeatures& action, double gain) override;
  std::unique_ptr<Policy> fresh() const override {
    return std::make_unique<StatisticsPolicy>(store_);
  }

private:
  const RuleRecord* prior(const Rule& rule) const;

  const PriorStore* store_;
  std::vector<RuleRecord> records_; // by number of the rule
};

/// Adds what one search learned to a table.
void add_records(llvm::ArrayRef<Rule> rules, llvm::ArrayRef<RuleRecord> records, PriorTable& table);

} // namespace tg
