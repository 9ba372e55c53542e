// Graphs that are loaded on a backend and have run once on random inputs, kept for those who ask
// again: to make a large network's weights, pack them and run it takes seconds, and the source of a
// search meets one graph after another.
//
// Invariant: kept are few, and together no more bytes than the memory limit as far as their plans
// tell; the first that was asked for, which is the source, is given up last.
#pragma once

#include "compiler/api/backends/prepare.h"

#include <memory>

namespace tg {

/// A graph that is loaded whole, as its one part, or in parts (part_runs.h).
struct LoadedGraph {
  struct Part {
    Prepared prepared;
    double run_s = 0; // of its first run
    size_t count = 1; // of equal parts in the graph
  };

  Graph graph;
  bool in_parts = false;
  std::vector<Part> parts = {};     // no two equal
  size_t all_parts = 1;             // of the graph, equal ones included
  std::vector<Tensor> outputs = {}; // of the first run of the whole graph
  /// Steps of that run that computed on denormal numbers, where the backend can tell.
  std::vector<StepInfo> on_denormals = {};

  /// Requires that the graph is not loaded in parts.
  Prepared& whole() {
    assert(!in_parts);
    return parts.front().prepared;
  }
  /// Seconds of the first run.
  double run_s() const;
  /// Runs each part and returns the microseconds of the whole graph. Equal parts count as often as
  /// they occur; brief ones run several times for one sample, as they do in a run of the whole.
  /// Errors: the device's.
  Result<double> timed_run();
};

class LoadedGraphs {
public:
  explicit LoadedGraphs(PrepareOptions options) : options_(std::move(options)) {
    options_.shared = std::make_shared<SharedWeights>();
  }

  /// The graph, loaded whole or `in_parts`: there until another is asked for, and then as long as
  /// it is `in_use`. Errors: those of prepare() and of a run.
  Result<LoadedGraph*> get(const Graph& graph, const LoadedGraph* in_use = nullptr,
                           bool in_parts = false);

  const PrepareOptions& options() const { return options_; }

private:
  Result<std::unique_ptr<LoadedGraph>> load(const Graph& graph, bool in_parts) const;
  /// Gives up those asked for longest ago until no more than so many are left, and so many bytes
  /// more are within the limit.
  void make_room(size_t most, int64_t bytes, const LoadedGraph* in_use);

  PrepareOptions options_;
  /// Parts number their weights, so these are shared by contents.
  std::shared_ptr<SharedWeights> shared_by_parts_ =
      std::make_shared<SharedWeights>(SharedWeights::Naming::Contents);
  std::vector<std::unique_ptr<LoadedGraph>>
      loaded_; // the first, then that asked for last at the end
};

} // namespace tg
