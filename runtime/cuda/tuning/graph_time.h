// How long work takes as it runs: many copies captured in one graph, replayed between two events.
// A replay before the first event keeps the device busy while the host hands over the second, so
// that no gap is counted; copies are as many as rise above the resolution of events. Cold times
// are differences: a graph that first writes over the second-level cache, against one that does
// nothing else.
//
// Several pieces of work share a graph, and a flush, where events within it stand between them.
// What an event itself takes is known from two with nothing between.
#pragma once

#include "runtime/cuda/device/device.h"

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

/// One of several pieces of work that are timed together.
struct GraphWork {
  /// Puts a copy on the stream. Those that are to find a cold cache have numbers, from 0 on, and
  /// share no memory, neither with each other nor with other work; hot ones are all copy 0.
  std::function<Result<void>(int copy)> enqueue;
  int cold_copies = 1;
};

class GraphTimer {
public:
  GraphTimer(GpuDevice& device, Stream stream) : device_(device), stream_(stream) {}
  GraphTimer(const GraphTimer&) = delete;
  GraphTimer& operator=(const GraphTimer&) = delete;
  /// What flushes the cache may be a hundred megabytes: a run that was profiled does not keep it.
  ~GraphTimer() {
    if (wash_) (void)device_.release(wash_);
  }

  /// `enqueue` puts one copy of the work on the stream; what it does must bear repetition.
  /// Errors: the device's, and those of `enqueue`.
  Result<GraphTime> time(const std::function<Result<void>()>& enqueue, const GraphTiming& how);
  /// Microseconds of one run that nothing keeps the device busy before: with what a launch takes.
  Result<double> once(const std::function<Result<void>()>& enqueue);
  /// Of each, in their order: all in one graph, until the median of each is sure. Errors: as
  /// time(); one piece that fails fails all.
  Result<std::vector<GraphTime>> time_together(llvm::ArrayRef<GraphWork> works,
                                               const GraphTiming& how);

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

  Result<OwnGraph> capture(const std::function<Result<void>()>& enqueue);
  Result<OwnGraph> capture(const std::function<Result<void>()>& enqueue, int copies, bool wash);
  Result<OwnGraph> capture(llvm::ArrayRef<GraphWork> works, llvm::ArrayRef<int> copies, bool cold);
  Result<double> sample(Graph graph);
  Result<std::vector<double>> sample(Graph graph, size_t works);
  Result<std::vector<int>> copies_for(llvm::ArrayRef<GraphWork> works, bool cold);
  Result<int> copies_for(const std::function<Result<void>()>& enqueue);
  Result<void> prepare(bool cold);

  GpuDevice& device_;
  Stream stream_;
  bool prepared_ = false;
  Event from_ = 0, to_ = 0;
  std::vector<Event> marks_; // within a graph, two around nothing and around each piece of work
  Address wash_ = 0;
  int64_t wash_bytes_ = 0;
};

} // namespace tg::cuda
