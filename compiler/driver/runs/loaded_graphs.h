// Graphs that are loaded on a backend and have run once on random inputs, kept for those who ask
// again: to make a large network's weights, pack them and run it takes seconds, and the source of a
// search meets one graph after another.
//
// Invariant: kept are few, and together no more bytes than the memory limit as far as their plans
// tell; the first that was asked for, which is the source, is given up last.
#pragma once

#include "compiler/driver/runs/prepare.h"

#include <memory>

namespace tg {

struct LoadedGraph {
  Graph graph;
  Prepared prepared;
  double run_s = 0;            // of one run, the first
  std::vector<Tensor> outputs; // of that run
  /// Steps of that run that computed on denormal numbers, where the backend can tell.
  std::vector<StepInfo> on_denormals;
};

class LoadedGraphs {
public:
  explicit LoadedGraphs(PrepareOptions options) : options_(std::move(options)) {
    options_.shared = std::make_shared<SharedWeights>();
  }

  /// The graph, loaded: there until another is asked for, and then as long as it is `in_use`.
  /// Errors: those of prepare() and of a run.
  Result<LoadedGraph*> get(const Graph& graph, const LoadedGraph* in_use = nullptr);

  const PrepareOptions& options() const { return options_; }

private:
  Result<std::unique_ptr<LoadedGraph>> load(const Graph& graph) const;
  /// Gives up those asked for longest ago until no more than so many are left, and so many bytes
  /// more are within the limit.
  void make_room(size_t most, int64_t bytes, const LoadedGraph* in_use);

  PrepareOptions options_;
  std::vector<std::unique_ptr<LoadedGraph>>
      loaded_; // the first, then that asked for last at the end
};

} // namespace tg
