// How long work takes as it runs: many copies captured in one graph, replayed between two events.
// A replay before the first event keeps the device busy while the host hands over the second, so
// that no gap is counted; copies are as many as rise above the resolution of events. Cold times
// are differences: a graph that first writes over the second-level cache, against one that does
// nothing else.
#pragma once

#include "runtime/cuda/device.h"

#include <utility>

namespace tg::cuda {

struct GraphTiming {
  /// Second-level cache written over before the work, which is then captured once.
  bool cold = false;
  int samples = 15;   // at least; more while the median is not sure
  double sure = 0.02; // the width of its interval, relative, that is enough
  int most_samples = 75;
};

/// Microseconds of one copy: median, and the interval in which it lies with 95% confidence.
struct GraphTime {
  double microseconds = 0, low = 0, high = 0;
  int runs = 0;
};

/// Median of samples with its distribution-free interval (Conover, Practical Nonparametric
/// Statistics, section 3.2). Requires one sample.
GraphTime median_with_interval(std::vector<double> samples);

class GraphTimer {
public:
  GraphTimer(GpuDevice& device, Stream stream) : device_(device), stream_(stream) {}

  /// `enqueue` puts one copy of the work on the stream; what it does must bear repetition.
  /// Errors: the device's, and those of `enqueue`.
  Result<GraphTime> time(const std::function<Result<void>()>& enqueue, const GraphTiming& how);

private:
  /// Given back when it goes: a load that measures makes hundreds.
  class OwnGraph {
  public:
    OwnGraph() = default;
    OwnGraph(GpuDevice& device, Graph graph) : device_(&device), graph_(graph) {}
    OwnGraph(OwnGraph&& other) noexcept { *this = std::move(other); }
    OwnGraph& operator=(OwnGraph&& other) noexcept {
      std::swap(device_, other.device_);
      std::swap(graph_, other.graph_);
      return *this;
    }
    ~OwnGraph() {
      if (device_) (void)device_->release_graph(graph_);
    }
    Graph operator*() const { return graph_; }

  private:
    GpuDevice* device_ = nullptr;
    Graph graph_ = 0;
  };

  Result<OwnGraph> capture(const std::function<Result<void>()>& enqueue, int copies, bool wash);
  Result<double> sample(Graph graph);
  Result<int> copies_for(const std::function<Result<void>()>& enqueue);
  Result<void> prepare(bool cold);

  GpuDevice& device_;
  Stream stream_;
  bool prepared_ = false;
  Event from_ = 0, to_ = 0;
  Address wash_ = 0;
  int64_t wash_bytes_ = 0;
};

} // namespace tg::cuda
