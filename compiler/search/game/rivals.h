// Simple policies that a learned guide must beat, with the same interface: mean gains by rule,
// independent of the graph, and pairs of rules that followed each other in earlier gains.
#pragma once

#include "compiler/search/mcts/policy.h"

namespace tg {

/// Weights a rule by the mean gain of its actions in earlier searches and by its statistics in the
/// current search.
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

/// Gains by rule name and by pair of rules. The gain of an explanation is divided equally among its
/// steps.
struct MotifTable {
  std::map<std::string, double> rules;
  std::map<std::pair<std::string, std::string>, double> pairs; // second soon after the first
};

/// Weights a rule by the motifs that it starts or continues after the previous rule, and by its
/// statistics in the current search.
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
  /// Rule names by rule number, for looking up `StateFeatures::last`.
  std::vector<std::string> names_;
};

} // namespace tg
