#include "compiler/search/mcts/policy.h"

#include <algorithm>

namespace tg {

namespace {

constexpr double kImaginary = 2;      // imaginary actions before there are real ones
constexpr double kImaginaryPaid = 1;  // of which this many lowered the cost
constexpr double kMostPrior = 20;     // maximum number of actions that a table counts as
constexpr double kLeastWeight = 0.02; // minimum weight: no rule is excluded

} // namespace

void RandomPolicy::weigh(const StateFeatures&, llvm::ArrayRef<ActionFeatures>,
                         llvm::MutableArrayRef<double> weights) const {
  std::fill(weights.begin(), weights.end(), 1);
}

const RuleRecord* StatisticsPolicy::prior(const Rule& rule) const {
  if (!store_) return nullptr;
  auto found = store_->priors().find(rule.declared);
  return found == store_->priors().end() ? nullptr : &found->second;
}

void StatisticsPolicy::weigh(const StateFeatures&, llvm::ArrayRef<ActionFeatures> actions,
                             llvm::MutableArrayRef<double> weights) const {
  for (size_t i = 0; i < actions.size(); ++i) {
    const ActionFeatures& action = actions[i];
    double tried = kImaginary, paid = kImaginaryPaid;
    if (action.operators_after < action.operators_before) paid += 0.5;
    if (const RuleRecord* before = prior(*action.rule); before && before->tried > 0) {
      double scale = std::min(before->tried, kMostPrior) / before->tried;
      tried += before->tried * scale, paid += before->paid * scale;
    }
    if (action.rule_number < records_.size()) {
      tried += records_[action.rule_number].tried;
      paid += records_[action.rule_number].paid;
    }
    weights[i] = std::max(paid / tried, kLeastWeight);
  }
}

void StatisticsPolicy::learn(const StateFeatures&, const ActionFeatures& action, double gain) {
  if (action.rule_number >= records_.size()) records_.resize(action.rule_number + 1);
  RuleRecord& record = records_[action.rule_number];
  record.tried += 1;
  record.paid += gain > 0;
  record.gain += gain;
}

void add_records(llvm::ArrayRef<Rule> rules, llvm::ArrayRef<RuleRecord> records,
                 PriorTable& table) {
  for (size_t i = 0; i < records.size() && i < rules.size(); ++i) {
    if (records[i].tried == 0) continue;
    RuleRecord& sum = table[rules[i].declared];
    sum.tried += records[i].tried;
    sum.paid += records[i].paid;
    sum.gain += records[i].gain;
  }
}

} // namespace tg
