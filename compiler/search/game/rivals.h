// The guide's simple rivals, in the same seat: what a table says of each rule, whatever the graph,
// and what rules followed each other where earlier searches gained. A network has to beat both.
#pragma once

#include "compiler/egraph/explain/derivation.h"
#include "compiler/search/mcts/policy.h"

namespace tg {

/// Weighs a rule by what its actions gained on the mean in earlier searches, and by what this one
/// saw of it.
class MeanGainsPolicy final : public Policy {
public:
  explicit MeanGainsPolicy(std::shared_ptr<const PriorTable> table);
  std::string name() const override { return "gains"; }
  bool guides() const override { return true; }
  void weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
             llvm::MutableArrayRef<double> weights) const override;
  void learn(const StateFeatures& state, const ActionFeatures& action, double gain) override;
  std::unique_ptr<Policy> fresh() const override;

private:
  std::shared_ptr<const PriorTable> table_;
  double most_ = 0; // the highest mean gain
  StatisticsPolicy seen_;
};

/// Rules by name, weighed by the gains of the explanations in which they occur, each gain shared
/// among the steps of its explanation.
struct MotifTable {
  std::map<std::string, double> rules;
  std::map<std::pair<std::string, std::string>, double> pairs; // the second soon after the first
};

/// Adds what the explanation of a gain (relative) shows.
void mine_motifs(const Derivation& explanation, llvm::ArrayRef<Rule> rules, double gain,
                 MotifTable& table);

/// Weighs a rule by the motifs that it begins, or goes on with after the rule before it, and by
/// what this search saw of it.
class MotifPolicy final : public Policy {
public:
  explicit MotifPolicy(std::shared_ptr<const MotifTable> table);
  std::string name() const override { return "motifs"; }
  bool guides() const override { return true; }
  void weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
             llvm::MutableArrayRef<double> weights) const override;
  void learn(const StateFeatures& state, const ActionFeatures& action, double gain) override;
  std::unique_ptr<Policy> fresh() const override;

private:
  std::shared_ptr<const MotifTable> table_;
  double most_rule_ = 0, most_pair_ = 0;
  StatisticsPolicy seen_;
  /// Rules that actions were of, by number: what `StateFeatures::last` was called.
  std::vector<std::string> names_;
};

} // namespace tg
