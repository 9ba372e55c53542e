// Runs graphs of one network interleaved, and counts the pairs that prices order correctly.
#pragma once

#include "compiler/optimizer/refined_search.h"
#include "compiler/trial/backend_finalists.h"

#include <llvm/Support/FormatVariadic.h>

#include <cmath>

namespace tg {

struct Runs {
  std::vector<double> whole_us;
  std::vector<PlacedInstances> placed;
};

/// Returns the minimum times of whole runs, interleaved, and of operators timed inside other runs.
inline Result<Runs> run_all(llvm::ArrayRef<Graph> graphs, const PrepareOptions& options,
                            int rounds = 16) {
  const TimingOptions kRound{.warmup = 1, .min_runs = 2, .seconds = 0.08};
  std::vector<double> least(graphs.size(), INFINITY);
  std::vector<PlacedNodes> nodes(graphs.size());
  std::vector<Prepared> loaded;
  for (const Graph& graph : graphs) {
    TG_TRY(Prepared one, prepare_with_inputs(graph, options));
    loaded.push_back(std::move(one));
  }
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < loaded.size(); ++i) {
      TG_TRY(Timing timing, time_runs(*loaded[i].executable, kRound));
      least[i] = std::min(least[i], timing.median_us);
      TG_CHECK(add_round(nodes[i], loaded[i], kRound));
    }
  Runs runs{std::move(least), {}};
  for (size_t i = 0; i < graphs.size(); ++i)
    runs.placed.push_back(placed_instances(graphs[i], nodes[i]));
  return runs;
}

struct Ranked {
  int right = 0, pairs = 0;
  void add(const Ranked& other) {
    right += other.right;
    pairs += other.pairs;
  }
  std::string text() const {
    if (pairs == 0) return "-";
    return llvm::formatv("{0} of {1}, {2:f0}%", right, pairs, 100.0 * right / pairs);
  }
};

inline Ranked rank(llvm::ArrayRef<double> times, llvm::ArrayRef<double> prices) {
  constexpr double kApart = 1.05;
  Ranked out;
  for (size_t i = 0; i < times.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (std::max(times[i], times[j]) < kApart * std::min(times[i], times[j])) continue;
      ++out.pairs;
      out.right += (times[i] < times[j]) == (prices[i] < prices[j]);
    }
  return out;
}

} // namespace tg
