// Generations: breed, rank by the model, measure the most promising programs and a few random ones.
#include "runtime/tune/search/full_search.h"

#include "runtime/tune/search/rank_model.h"
#include "runtime/tune/search/space.h"

#include <llvm/ADT/StringSet.h>

#include <algorithm>

namespace tg::tune {

namespace {

constexpr size_t kParents = 32;
constexpr size_t kBredForOne = 8;  // programs bred per measured program
constexpr size_t kOneByChance = 8; // one of this many measured programs is random
constexpr double kGain = 0.99;     // relative to the time before: counts as a gain
constexpr int kFruitless = 8;      // generations without a new program after which the search ends

class Generations {
public:
  Generations(Trials& trials, const Operator& op, const FullSearchOptions& options)
      : trials_(trials), options_(options), space_(op, trials.device(), options.seed),
        model_(trials.nest()) {}

  void run() {
    if (options_.start && seen_.insert(text(*options_.start)).second) measure(*options_.start);
    for (int fruitless = 0; !trials_.spent() && !out_of_patience() && fruitless < kFruitless;) {
      std::vector<Program> next = generation();
      fruitless = next.empty() ? fruitless + 1 : 0;
      for (const Program& program : next) measure(program);
      if (!options_.only_random) model_.fit();
    }
  }

  int64_t trials_to_best() const { return trials_to_best_; }

private:
  bool out_of_patience() const {
    return options_.patience > 0 && trials_.count() - last_gain_ >= options_.patience;
  }

  void measure(const Program& program) {
    int64_t before = trials_.count();
    std::optional<double> us = trials_.measure(program);
    if (!us || trials_.count() == before) return;
    if (!options_.only_random) model_.add(program, *us);
    if (best_us_ && *best_us_ <= *us) return;
    if (!gained_at_us_ || *us < kGain * *gained_at_us_) {
      gained_at_us_ = us;
      last_gain_ = trials_.count();
    }
    best_us_ = us;
    trials_to_best_ = trials_.count();
  }

  std::vector<Program> generation() {
    bool first = !has_begun_ || trials_.ran().empty() || options_.only_random;
    has_begun_ = true;
    if (!first) choose_parents();
    std::vector<Program> offspring;
    for (size_t i = 0; i < options_.batch * (first ? 1 : kBredForOne); ++i) {
      std::optional<Program> child = first ? space_.random() : next_candidate();
      if (child && seen_.insert(text(*child)).second) offspring.push_back(std::move(*child));
    }
    if (!first) pick(offspring);
    return offspring;
  }

  void choose_parents() {
    parents_ = trials_.ran();
    llvm::stable_sort(parents_, [](const Measured& a, const Measured& b) {
      return a.microseconds < b.microseconds;
    });
    if (parents_.size() > kParents) parents_.resize(kParents);
  }

  /// Returns the faster of two drawn programs.
  const Program& parent() {
    size_t a = space_.below(parents_.size()), b = space_.below(parents_.size());
    return parents_[std::min(a, b)].program;
  }

  std::optional<Program> next_candidate() {
    switch (space_.below(5)) {
    case 0: return space_.random();
    case 1: return space_.crossed(parent(), parent());
    default: return space_.mutated(parent());
    }
  }

  /// Picks a batch; programs that are not picked may be bred again.
  void pick(std::vector<Program>& offspring) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < offspring.size(); ++i)
      order.push_back({model_.predict(offspring[i]), i});
    llvm::sort(order);
    size_t by_chance = std::min(options_.batch / kOneByChance, order.size() / 2);
    for (size_t i = 0; i < by_chance; ++i) // from the end towards the front
      std::swap(order[i], order[i + space_.below(order.size() - i)]);
    std::vector<Program> kept;
    for (size_t i = 0; i < order.size(); ++i)
      if (i < options_.batch)
        kept.push_back(std::move(offspring[order[i].second]));
      else
        seen_.erase(text(offspring[order[i].second]));
    offspring = std::move(kept);
  }

  Trials& trials_;
  const FullSearchOptions& options_;
  ProgramSpace space_;
  RankModel model_;
  llvm::StringSet<> seen_; // only looked up, never iterated
  std::vector<Measured> parents_;
  std::optional<double> best_us_, gained_at_us_;
  int64_t trials_to_best_ = 0, last_gain_ = 0;
  bool has_begun_ = false;
};

} // namespace

FullSearchResult search_fully(const Operator& op, Device& device,
                              const FullSearchOptions& options) {
  Trials trials(device, op, options.trials, options.to_the_end);
  trials.remember(options.remembered);
  Generations generations(trials, op, options);
  generations.run();
  FullSearchResult result;
  result.ranking = trials.ranking();
  if (!result.ranking.empty()) result.best = result.ranking.front();
  result.trials = trials.count();
  result.trials_to_best = generations.trials_to_best();
  return result;
}

} // namespace tg::tune
