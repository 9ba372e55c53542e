// A cache of graphs that are loaded on a backend and have run once on random inputs. Creating and
// packing the weights of a large network and running it takes seconds, and the source of a search
// is compared with several graphs.
//
// Invariant: only a few graphs are kept, and their planned memory does not exceed the memory limit
// in total. The first one requested, which is the source, is evicted last.
#pragma once

#include "compiler/api/backends/prepare.h"

#include <memory>

namespace tg {

/// A graph loaded whole, as a single part, or in parts (part_runs.h).
struct LoadedGraph {
  struct Part {
    Prepared prepared;
    double run_s = 0; // of the first run
    size_t count = 1; // number of equal parts in the graph
  };

  Graph graph;
  bool in_parts = false;
  std::vector<Part> parts = {};     // distinct parts
  size_t all_parts = 1;             // number of parts of the graph, including equal ones
  std::vector<Tensor> outputs = {}; // of the first run of the whole graph
  /// Steps of that run that computed on denormal numbers, if the backend detects them.
  std::vector<StepInfo> on_denormals = {};

  /// Requires that the graph is not loaded in parts.
  Prepared& whole() {
    assert(!in_parts);
    return parts.front().prepared;
  }
  /// Returns the seconds of the first run.
  double run_s() const;
  /// Runs each part and returns the microseconds of the whole graph. Equal parts count as often as
  /// they occur. Short parts run several times per sample, as they would in a run of the whole.
  /// Errors: the device's.
  Result<double> timed_run();
};

class LoadedGraphs {
public:
  explicit LoadedGraphs(PrepareOptions options) : options_(std::move(options)) {
    options_.shared = std::make_shared<SharedWeights>();
  }

  /// Returns the graph, loaded whole or `in_parts`. It stays loaded until the next request, and
  /// after that while it is `in_use`. Errors: those of prepare() and of a run.
  Result<LoadedGraph*> get(const Graph& graph, const LoadedGraph* in_use = nullptr,
                           bool in_parts = false);

  const PrepareOptions& options() const { return options_; }

private:
  Result<std::unique_ptr<LoadedGraph>> load(const Graph& graph, bool in_parts) const;
  /// Evicts the least recently requested graphs until at most `most` are left and `bytes` more
  /// bytes are within the limit.
  void make_room(size_t most, int64_t bytes, const LoadedGraph* in_use);

  PrepareOptions options_;
  /// Parts number their weights, so weights are shared by contents.
  std::shared_ptr<SharedWeights> shared_by_parts_ =
      std::make_shared<SharedWeights>(SharedWeights::Naming::Contents);
  std::vector<std::unique_ptr<LoadedGraph>> loaded_; // the first, then by time of the last request
};

} // namespace tg
