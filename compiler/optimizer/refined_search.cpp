#include "compiler/optimizer/refined_search.h"

#include "compiler/ir/graph.h"
#include "compiler/optimizer/instance_uses.h"
#include "compiler/optimizer/strategy/strategy.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>

#include <cmath>

namespace tg {

namespace {

class RefinedSearch {
public:
  RefinedSearch(const Graph& source, llvm::ArrayRef<Rule> rules, const PricingContext& pricing,
                const OptimizeOptions& options, OptimizeReport& report)
      : source_(source), rules_(rules), pricing_(pricing), options_(options), report_(report) {}

  Result<Candidate> run() {
    std::optional<KnownResult> known = earlier_result();
    if (known && known->judging_s > kLongToJudge && !options_.search_on)
      return adopt_earlier_result(std::move(*known));
    place(nullptr);
    const double placing_s = report_.placed_s; // time to load and time a graph
    watch_ = Stopwatch(); // the source must be loaded for the whole runs anyway
    measure_source();
    if (known) compare_with(std::move(*known));
    const OptimizeReport before = report_;
    for (size_t round = 1;; ++round) {
      Stopwatch watch;
      stale_ = false;
      TG_TRY(Candidate found,
             strategy_of(options_).find({source_, rules_, pricing_, options_}, report_));
      found.rules = report_.rules_applied;
      report_.searches = round;
      if (round == 1 && recalled_ && !improves_on_recalled(found)) return adopt_recalled();
      // The last finding is timed as well, because a choice by guessed prices may not be the best.
      bool more = round < kMostRounds && time_for(watch.seconds() + placing_s);
      bool changed = (more || time_for(placing_s)) && moved(found.graph);
      if (!more || !changed) return best_of(std::move(found));
      earlier_.push_back(std::move(found));
      begin_again(before);
    }
  }

private:
  static constexpr size_t kMostRounds = 4;
  /// Share of a graph's cost; smaller changes of prices do not cause another search.
  static constexpr double kMoved = 0.01;
  static constexpr double kLeastToPlace = 2; // seconds
  /// In seconds. With a search of one second, a known model takes at most three.
  static constexpr double kLongToJudge = 1.5;

  /// Returns true if there is time for these seconds of work before another search.
  bool time_for(double seconds) const {
    return watch_.seconds() + seconds < options_.refine_time_s && !options_.explore.stop.asked();
  }

  /// Restarts the report for another search; times are accumulated.
  void begin_again(const OptimizeReport& before) {
    OptimizeReport last = std::move(report_);
    report_ = before;
    report_.cost_before_us = last.cost_before_us;
    report_.settle_s = last.settle_s;
    report_.placed_s = last.placed_s;
    report_.graphs_placed = last.graphs_placed;
    report_.searched_before_s = last.searched_before_s + last.explore_s + last.extract_s;
    if (options_.trace) *options_.trace = {};
  }

  /// Returns an earlier result; none with `explain`, because its derivation is not stored.
  std::optional<KnownResult> earlier_result() {
    if (!pricing_.runner || options_.explain) return std::nullopt;
    std::optional<KnownResult> known = pricing_.runner->recall(source_, rules_, options_);
    if (known) report_.judging_s = known->judging_s;
    return known;
  }

  /// Takes the earlier result with its prices and times.
  Candidate adopt_earlier_result(KnownResult known) {
    report_.cost_before_us = known.before_us;
    report_.cost_after_us = known.after_us;
    report_.tried_us = known.tried_us;
    report_.rules_applied = known.rules_applied;
    if (known.times.high > 0) report_.comparison = known.times;
    bool is_source = difference(source_, known.graph).empty();
    report_.recalled = true;
    report_.searches = 0;
    report_.stopped_by = "an earlier result";
    report_.notes.push_back(std::string("an earlier search found ") +
                            (is_source ? "nothing faster" : "it") +
                            "; --time-limit starts another search");
    return {std::move(known.graph), known.after_us};
  }

  /// Makes an earlier result the one that this search must improve on.
  void compare_with(KnownResult known) {
    Candidate one{std::move(known.graph)};
    price_again(one);
    one.rules = std::move(known.rules_applied);
    double tried = known.tried_us > 0 ? known.tried_us / known.before_us : 1;
    to_better_us_ = std::min(one.cost_us, tried * report_.cost_before_us);
    if (!std::isfinite(one.cost_us) || costs_more(one.cost_us, report_.cost_before_us)) return;
    recalled_ = std::move(one);
    recalled_times_ = known.times;
  }

  /// Returns true if the gain justifies building and running another graph; otherwise records the
  /// graph.
  bool improves_on_recalled(const Candidate& found) {
    if (found.cost_us > (1 - kMoved) * to_better_us_) return false;
    earlier_.push_back(*std::exchange(recalled_, std::nullopt));
    return true;
  }

  Candidate adopt_recalled() {
    report_.replace_result(recalled_->cost_us, recalled_->rules);
    report_.recalled = true;
    if (!difference(recalled_->graph, source_).empty()) report_.recalled_times = recalled_times_;
    report_.notes.push_back(
        "an earlier search found this result; this one found none that is better by 1%");
    return std::move(*recalled_);
  }

  /// Measures the source's operators, because rewrites replace nearly all of them.
  void measure_source() {
    InstanceUses uses;
    uses.add(source_, 1);
    (void)refine_prices(uses);
  }

  /// Times the source, or also a found graph, within whole runs, so that operators without better
  /// prices get prices from their context. Returns false if that is not supported or nothing can be
  /// learned.
  bool place(const Graph* found) {
    const Graph& graph = found ? *found : source_;
    if (!places_ || options_.explore.stop.asked() ||
        !pricing_.costs.needs_placed_times(graph.symbols(), instances_of(graph).instances))
      return false;
    Stopwatch watch;
    Result<std::vector<PlacedNodes>> nodes = pricing_.runner->time_in_place(source_, found);
    report_.placed_s += watch.seconds();
    if (!nodes || nodes->empty()) {
      places_ &= found != nullptr; // another found graph may run
      return false;
    }
    PlacedInstances times = placed_instances(graph, nodes->back());
    if (found) { // at the machine's speed when the source's prices were taken
      double now = placed_instances(source_, nodes->front()).sum_us;
      double speed = now > 0 ? report_.cost_before_us / now : 1;
      for (PlacedTime& time : times.times) time.microseconds *= speed;
    }
    pricing_.costs.learn_placed(graph.symbols(), times.times, nodes->back().trust);
    ++report_.graphs_placed;
    restart_with_new_prices();
    return true;
  }

  void restart_with_new_prices() {
    pricing_.prices.forget();
    report_.cost_before_us = price_graph(source_, pricing_.prices);
    stale_ = true;
  }

  /// Returns true if another search may find a better graph, because prices of the found one's
  /// operators turn out to be others. A gain that turns out larger gives no reason: the found graph
  /// was the best of those that were searched, and has become cheaper.
  bool moved(const Graph& found) {
    auto gain = [&] { return report_.cost_before_us - price_graph(found, pricing_.prices); };
    double before = gain();
    if (place(&found)) return before - gain() > kMoved * report_.cost_before_us;
    InstanceUses uses;
    uses.add(source_, 1);
    uses.add(found, -1);
    return refine_prices(uses) > kMoved * report_.cost_before_us;
  }

  double refine_prices(const InstanceUses& uses) {
    Stopwatch watch;
    StopToken stop =
        options_.explore.stop.within(std::max(options_.refine_time_s - watch_.seconds(), 0.0));
    double moved_us = pricing_.costs.refine_prices(source_.symbols(), uses.differing(),
                                                   report_.cost_before_us, stop);
    if (moved_us > 0) restart_with_new_prices();
    report_.settle_s += watch.seconds();
    return moved_us;
  }

  void price_again(Candidate& one) { one.cost_us = price_graph(one.graph, pricing_.prices); }

  /// Returns the best candidate by current prices.
  Candidate best_of(Candidate last) {
    if (pricing_.others && (stale_ || !earlier_.empty()))
      for (Candidate& one : *pricing_.others) price_again(one);
    if (stale_) {
      price_again(last);
      report_.cost_after_us = last.cost_us;
      report_.forget_bounds(); // these belong to earlier prices
    }
    for (Candidate& one : earlier_) {
      price_again(one);
      if (difference(one.graph, last.graph).empty()) continue;
      if (costs_more(last.cost_us, one.cost_us)) {
        std::swap(one, last);
        report_.replace_result(last.cost_us, last.rules);
      }
      if (pricing_.others) pricing_.others->push_back(std::move(one));
    }
    return last;
  }

  const Graph& source_;
  llvm::ArrayRef<Rule> rules_;
  const PricingContext& pricing_;
  const OptimizeOptions& options_;
  OptimizeReport& report_;
  Stopwatch watch_;
  std::vector<Candidate> earlier_;
  std::optional<Candidate> recalled_; // of an earlier optimisation, until improved on
  Comparison recalled_times_;         // at that time
  double to_better_us_ = 0;           // price to improve on, at that time
  bool stale_ = false;                // prices changed since the last search began
  /// Graphs are timed within whole runs, unless that would take the time of the search.
  bool places_ = pricing_.runner && options_.refine_time_s >= kLeastToPlace;
};

} // namespace

Result<Candidate> find_with_refined_prices(const Graph& source, llvm::ArrayRef<Rule> rules,
                                           const PricingContext& pricing,
                                           const OptimizeOptions& options, OptimizeReport& report) {
  if (!pricing.costs.guesses())
    return strategy_of(options).find({source, rules, pricing, options}, report);
  return RefinedSearch(source, rules, pricing, options, report).run();
}

PlacedInstances placed_instances(const Graph& graph, const PlacedNodes& nodes) {
  PlacedInstances out;
  out.of = instances_of(graph);
  llvm::DenseMap<uint32_t, double> time_of;
  for (const PlacedNodes::One& one : nodes.nodes) time_of[one.node.index] += one.microseconds;
  llvm::StringMap<size_t> place;
  std::vector<double> count;
  for (size_t i = 0; i < out.of.instances.size(); ++i) {
    auto time = time_of.find(out.of.nodes[i].index);
    if (time == time_of.end()) continue;
    const OpInstance& instance = out.of.instances[i];
    auto [at, fresh] = place.try_emplace(instance_key(graph.symbols(), instance), count.size());
    if (fresh) {
      out.times.push_back({instance, 0});
      count.push_back(0);
    }
    out.times[at->second].microseconds += time->second;
    out.sum_us += time->second;
    ++count[at->second];
  }
  for (size_t i = 0; i < count.size(); ++i) out.times[i].microseconds /= count[i];
  return out;
}

} // namespace tg
