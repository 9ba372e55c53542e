#include "compiler/driver/finalists.h"

#include "compiler/ir/graph_equal.h"
#include "lang/core/stopwatch.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg {

namespace {

/// The cheapest first; no two alike, none as dear as the source.
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

/// The first and the best of the others, at most so many: by what the device launches at once,
/// where it says, since what it fuses when it loads a graph the operators' prices do not show.
void keep_best(std::vector<Candidate>& chosen, size_t most, GroupPricer* groups,
               OptimizeReport& report) {
  if (chosen.size() <= most) return;
  std::vector<GroupPrice> prices;
  if (groups) prices = groups->price(graphs_of(chosen));
  std::vector<size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!prices.empty())
    std::stable_sort(order.begin() + 1, order.end(), [&](size_t a, size_t b) {
      return prices[a].microseconds < prices[b].microseconds;
    });
  order.resize(most);
  std::vector<Candidate> kept;
  kept.reserve(most);
  for (size_t i : order) kept.push_back(std::move(chosen[i]));
  if (!prices.empty())
    report.notes.push_back(
        llvm::formatv("of {0} candidates the {1} cheapest are measured whole, by "
                      "prices of what is launched at once",
                      chosen.size(), most));
  chosen = std::move(kept);
}

/// The place of the fastest. The first is preferred unless another is faster beyond the noise.
size_t fastest(const Graph& source, llvm::ArrayRef<Candidate> chosen, FinalistRunner& runner,
               OptimizeReport& report) {
  Result<std::vector<double>> times = runner.screen(source, graphs_of(chosen));
  if (!times || times->empty()) return 0;
  auto least = static_cast<size_t>(std::min_element(times->begin(), times->end()) - times->begin());
  if (least == 0 || !std::isfinite((*times)[least])) return 0;
  if (!std::isfinite((*times)[0])) {
    report.notes.push_back(llvm::formatv("the cheapest of {0} finalists does not run as the source "
                                         "does; the fastest of the others goes on",
                                         chosen.size()));
    return least;
  }
  Result<Comparison> compared = runner.compare(chosen[0].graph, chosen[least].graph);
  if (!compared || !compared->second_faster()) return 0;
  report.notes.push_back(
      llvm::formatv("of {0} finalists measured whole, one that prices put {1:f1} "
                    "us above the cheapest runs faster, by {2:f2}x",
                    chosen.size(), chosen[least].cost_us - chosen[0].cost_us, compared->ratio));
  return least;
}

} // namespace

Candidate choose_finalist(const Graph& source, Candidate best, std::vector<Candidate> others,
                          FinalistRunner& runner, GroupPricer* groups, size_t most,
                          OptimizeReport& report) {
  std::vector<Candidate> chosen =
      distinct(std::move(best), std::move(others), report.cost_before_us);
  keep_best(chosen, std::max<size_t>(most, 1), groups, report);
  report.finalists = chosen.size();
  if (chosen.size() < 2) return std::move(chosen[0]);
  Stopwatch watch;
  size_t winner = fastest(source, chosen, runner, report);
  report.finalists_s += watch.seconds();
  if (winner > 0) {
    report.cost_after_us = chosen[winner].cost_us;
    report.forget_bounds(); // on the cheapest
    report.rules_applied = chosen[winner].rules;
  }
  return std::move(chosen[winner]);
}

} // namespace tg
