// The interface of policies, which determine the order of actions and learn from their results. A
// policy receives features of the state and of each action, returns weights, and is notified of the
// gain of every action. A policy that looks at graphs also receives the best graph of a state, and
// returns how promising each rule is and how much can be gained. A policy has no other access to a
// search, so learned policies are interchangeable with these. This file has one without knowledge
// and one based on statistics. Policies from tables and networks are in search/game and
// bench/paper.
//
// A policy must be deterministic: equal calls return equal results. Parallel searches have one each
// (`fresh`). Within a search several threads may request weights at once, but never during learn().
#pragma once

#include "compiler/egraph/ids.h"
#include "compiler/ir/graph.h"
#include "compiler/rules/rule.h"

#include <llvm/ADT/ArrayRef.h>

#include <map>
#include <memory>

namespace tg {

/// The extent of an action.
enum class Grain : uint8_t { Rule, Group, Match };
inline constexpr size_t kGrains = 3;

/// A policy's assessment of a graph.
struct Assessment {
  std::vector<float> weights; // [rules, kGrains], > 0
  double gain = 0;            // expected further relative gain
  double weight(RuleId rule, Grain grain) const {
    return weights[rule * kGrains + static_cast<size_t>(grain)];
  }
};

struct ActionFeatures {
  const Rule* rule = nullptr;
  uint32_t rule_number = 0;
  Grain grain{};
  uint32_t places = 0;                                // number of matches it would apply
  uint32_t operators_before = 0, operators_after = 0; // in the rule's left and right sides
};

struct StateFeatures {
  size_t nodes = 0, classes = 0, node_limit = 0;
  double cost_us = 0, source_cost_us = 0;
  uint32_t depth = 0;                     // actions since the root of the tree
  RuleId last = kSourceRule;              // rule of the previous action
  const Assessment* assessment = nullptr; // on the graph of this state or of an earlier one
};

/// Statistics of a rule: summed over actions, or read from a file.
struct RuleRecord {
  double tried = 0;
  double paid = 0; // actions that lowered the cost
  double gain = 0; // sum of the relative cost reductions of the actions
};

class Policy {
public:
  virtual ~Policy() = default;
  virtual std::string name() const = 0;
  /// Computes a weight > 0 for each action. Weights need not be normalised.
  virtual void weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
                     llvm::MutableArrayRef<double> weights) const = 0;
  /// Called after an action. The cost of the new state is 1 - gain times the cost before.
  virtual void learn(const StateFeatures& state, const ActionFeatures& action, double gain) = 0;
  /// Returns true if the policy looks at graphs. Then assess() is called with the best graph of a
  /// state, again when that is clearly cheaper, and by several searches at once.
  virtual bool assesses() const { return false; }
  virtual std::shared_ptr<const Assessment> assess(const Graph& /*best*/,
                                                   llvm::ArrayRef<Rule> /*rules*/) const {
    return nullptr;
  }
  /// Returns true if the weights are priors that also guide the descent (PUCT), instead of only the
  /// order of trials.
  virtual bool guides() const { return false; }
  /// Returns a policy of the same kind in its initial state, for another search.
  virtual std::unique_ptr<Policy> fresh() const = 0;
};

/// Weights all actions equally.
class RandomPolicy final : public Policy {
public:
  std::string name() const override { return "random"; }
  void weigh(const StateFeatures&, llvm::ArrayRef<ActionFeatures>,
             llvm::MutableArrayRef<double> weights) const override;
  void learn(const StateFeatures&, const ActionFeatures&, double) override {}
  std::unique_ptr<Policy> fresh() const override { return std::make_unique<RandomPolicy>(); }
};

/// Records by name of the declared rule, from earlier searches.
using PriorTable = std::map<std::string, RuleRecord>;

/// Statistics of earlier searches; `compiler/api` reads them from a file.
class PriorStore {
public:
  virtual ~PriorStore() = default;
  virtual const PriorTable& priors() const = 0;
};

/// Weights a rule by the share of its actions that lowered the cost in this search. The prior is a
/// prior table's record, or else two imaginary actions of which one lowered the cost. Rules that
/// shrink the graph start slightly ahead.
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
  std::vector<RuleRecord> records_; // by rule number
};

/// Adds the statistics of one search to a table.
void add_records(llvm::ArrayRef<Rule> rules, llvm::ArrayRef<RuleRecord> records, PriorTable& table);

} // namespace tg
