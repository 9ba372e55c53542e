#include "compiler/optimizer/finalists.h"

#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg {

namespace {

/// Number of graphs timed against the cheapest, interleaved, because brief runs may be misleading.
constexpr size_t kMostChallengers = 2;

/// Returns distinct candidates that cost less than the source, cheapest first.
std::vector<Candidate> distinct(Candidate best, std::vector<Candidate> others, double source_us) {
  llvm::stable_sort(others,
                    [](const Candidate& a, const Candidate& b) { return a.cost_us < b.cost_us; });
  std::vector<Candidate> chosen;
  chosen.push_back(std::move(best));
  for (Candidate& other : others) {
    bool known = llvm::any_of(
        chosen, [&](const Candidate& one) { return difference(one.graph, other.graph).empty(); });
    if (!known && !costs_more(other.cost_us, source_us)) chosen.push_back(std::move(other));
  }
  return chosen;
}

std::vector<const Graph*> graphs_of(llvm::ArrayRef<Candidate> candidates) {
  auto graphs = llvm::map_range(candidates, [](const Candidate& one) { return &one.graph; });
  return {graphs.begin(), graphs.end()};
}

/// Keeps the first, the choice of a second opinion, and the best of the others, at most `most`.
/// They are ranked by group prices if available, because operators' prices do not include the
/// fusions of the device when it loads a graph.
void keep_best(std::vector<Candidate>& chosen, size_t most, GroupPricer* groups,
               std::vector<std::string>& notes) {
  if (chosen.size() <= most) return;
  std::vector<GroupPrice> prices;
  if (groups) prices = groups->price(graphs_of(chosen));
  std::vector<size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin() + 1, order.end(), [&](size_t a, size_t b) {
    bool first = !chosen[a].chosen_by.empty(), second = !chosen[b].chosen_by.empty();
    if (first != second) return first;
    return !prices.empty() && prices[a].microseconds < prices[b].microseconds;
  });
  order.resize(most);
  std::vector<Candidate> kept;
  kept.reserve(most);
  for (size_t i : order) kept.push_back(std::move(chosen[i]));
  if (!prices.empty())
    notes.push_back(
        llvm::formatv("whole runs are limited to the {1} cheapest of {0} candidates, by "
                      "prices of groups of operators",
                      chosen.size(), most));
  chosen = std::move(kept);
}

/// Completes the others. Some may become equal.
void complete_others(std::vector<Candidate>& chosen, const FinalistOptions& options) {
  if (!options.complete || chosen.size() < 2) return;
  std::vector<Candidate> others(std::make_move_iterator(chosen.begin() + 1),
                                std::make_move_iterator(chosen.end()));
  for (Candidate& other : others) options.complete(other);
  chosen = distinct(std::move(chosen.front()), std::move(others), options.source_us);
}

std::string choice_reason(const Candidate& winner, const Candidate& cheapest) {
  if (!winner.chosen_by.empty())
    return llvm::formatv("the one chosen by {0} prices", winner.chosen_by);
  double above_us = winner.cost_us - cheapest.cost_us;
  return llvm::formatv("one priced {0:f1} us {1} the cheapest", std::abs(above_us),
                       above_us < 0 ? "below" : "above");
}

/// Returns those without a fault, fastest first.
std::vector<size_t> by_time(llvm::ArrayRef<ScreeningResult> screened) {
  std::vector<size_t> order;
  for (size_t i = 0; i < screened.size(); ++i)
    if (screened[i].fault.empty()) order.push_back(i);
  llvm::stable_sort(
      order, [&](size_t a, size_t b) { return screened[a].median_us < screened[b].median_us; });
  return order;
}

/// Returns the index of the fastest, or nullopt if none passes. Prefers the first one unless
/// another is faster beyond the noise. The first may be the source, which is checked later.
std::optional<size_t> fastest(const Graph& source, llvm::ArrayRef<Candidate> chosen,
                              llvm::ArrayRef<ScreeningResult> screened, FinalistRunner& runner,
                              std::vector<std::string>& notes) {
  std::vector<size_t> order = by_time(screened);
  if (order.empty()) return std::nullopt;
  if (order[0] == 0 || difference(source, chosen[0].graph).empty()) return order[0];
  if (const std::string& fault = screened[0].fault; !fault.empty()) {
    notes.push_back(
        llvm::formatv("the cheapest of {0} finalists {1}; the fastest of the others is used",
                      chosen.size(), fault));
    return order[0];
  }
  size_t winner = 0;
  double ratio = 1;
  for (size_t i : llvm::ArrayRef(order).take_front(kMostChallengers)) {
    if (i == 0) break; // the others were slower
    Result<WholeRuns> runs = runner.compare(chosen[winner].graph, chosen[i].graph);
    if (!runs || !runs->fault.empty() || !runs->times.second_faster()) continue;
    winner = i;
    ratio *= runs->times.ratio;
  }
  if (winner > 0)
    notes.push_back(llvm::formatv("of {0} finalists timed in whole runs, {1} is faster, by "
                                  "{2:f2}x",
                                  chosen.size(), choice_reason(chosen[winner], chosen[0]), ratio));
  return winner;
}

} // namespace

Finalist choose_finalist(const Graph& source, Candidate best, std::vector<Candidate> others,
                         FinalistRunner& runner, const FinalistOptions& options,
                         RunsSection& report, std::vector<std::string>& notes) {
  std::vector<Candidate> chosen = distinct(std::move(best), std::move(others), options.source_us);
  keep_best(chosen, std::max<size_t>(options.most, 1), options.groups, notes);
  complete_others(chosen, options);
  report.finalists = chosen.size();
  if (chosen.size() < 2) return {std::move(chosen[0])};
  Stopwatch watch;
  Result<std::vector<ScreeningResult>> screened = runner.screen(source, graphs_of(chosen));
  if (!screened || screened->empty()) return {std::move(chosen[0])};
  std::optional<size_t> winner = fastest(source, chosen, *screened, runner, notes);
  report.finalists_s += watch.seconds();
  if (!winner) return {std::move(chosen[0]), std::move(screened->front().fault)};
  return {std::move(chosen[*winner]), {}, *winner == 0};
}

} // namespace tg
