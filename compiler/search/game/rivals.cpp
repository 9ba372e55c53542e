#include "compiler/search/game/rivals.h"

#include <algorithm>

namespace tg {

namespace {

/// Minimum weight of a rule, relative to the highest: no rule is excluded.
constexpr double kLeast = 0.02;
/// Imaginary actions without a gain that are added to each record of a table.
constexpr double kDoubted = 2;

double mean_gain(const RuleRecord& record) { return record.gain / (record.tried + kDoubted); }

template <class Table, class Key> double value_at(const Table& table, const Key& key) {
  auto found = table.find(key);
  return found == table.end() ? 0 : found->second;
}

template <class Table> double most_of(const Table& table) {
  double most = 0;
  for (const auto& [key, value] : table) most = std::max(most, value);
  return std::max(most, 1e-300);
}

} // namespace

// --- mean gains ---------------------------------------------------------------------------------

MeanGainsPolicy::MeanGainsPolicy(std::shared_ptr<const PriorTable> table)
    : table_(std::move(table)) {
  for (const auto& [rule, record] : *table_) most_ = std::max(most_, mean_gain(record));
}

void MeanGainsPolicy::weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
                            llvm::MutableArrayRef<double> weights) const {
  seen_.weigh(state, actions, weights);
  if (most_ <= 0) return;
  for (size_t i = 0; i < actions.size(); ++i) {
    auto found = table_->find(actions[i].rule->declared);
    double gain = found == table_->end() ? 0 : mean_gain(found->second);
    weights[i] *= std::max(gain / most_, kLeast);
  }
}

void MeanGainsPolicy::learn(const StateFeatures& state, const ActionFeatures& action, double gain) {
  seen_.learn(state, action, gain);
}

std::unique_ptr<Policy> MeanGainsPolicy::fresh() const {
  return std::make_unique<MeanGainsPolicy>(table_);
}

// --- motifs -------------------------------------------------------------------------------------

MotifPolicy::MotifPolicy(std::shared_ptr<const MotifTable> table)
    : table_(std::move(table)), most_rule_(most_of(table_->rules)),
      most_pair_(most_of(table_->pairs)) {}

void MotifPolicy::weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
                        llvm::MutableArrayRef<double> weights) const {
  seen_.weigh(state, actions, weights);
  const std::string* last = state.last < names_.size() ? &names_[state.last] : nullptr;
  for (size_t i = 0; i < actions.size(); ++i) {
    const std::string& name = actions[i].rule->name;
    double begins = value_at(table_->rules, name) / most_rule_;
    double goes_on = last ? value_at(table_->pairs, std::make_pair(*last, name)) / most_pair_ : 0;
    weights[i] *= std::max({begins, goes_on, kLeast});
  }
}

void MotifPolicy::learn(const StateFeatures& state, const ActionFeatures& action, double gain) {
  seen_.learn(state, action, gain);
  if (action.rule_number >= names_.size()) names_.resize(action.rule_number + 1);
  if (names_[action.rule_number].empty()) names_[action.rule_number] = action.rule->name;
}

std::unique_ptr<Policy> MotifPolicy::fresh() const { return std::make_unique<MotifPolicy>(table_); }

} // namespace tg
