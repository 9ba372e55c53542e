// Times work under run conditions: many copies are captured in one graph and replayed between two
// events. A replay before the first event keeps the device busy while the host submits the second,
// so that no gap is counted. The number of copies is chosen to exceed the resolution of events.
// Cold times are differences between a graph that first overwrites the second-level cache
// and one that does only that.
//
// Several pieces of work may share a graph and a flush, separated by events within it.
// The cost of an event itself is measured by two events with nothing between.
#pragma once

#include "runtime/cuda/device/device.h"

#include <utility>

namespace tg::cuda {

struct GraphTiming {
  /// The second-level cache is overwritten before the work, which is then captured once.
  bool cold = false;
  int samples = 15;   // at least; more until the median is precise enough
  double sure = 0.02; // required relative width of its confidence interval
  int most_samples = 75;
};

/// Microseconds of one copy: the median and its 95% confidence interval.
struct GraphTime {
  double microseconds = 0, low = 0, high = 0;
  int runs = 0;
};

/// Returns the median of samples with its distribution-free interval (Conover,
/// Practical Nonparametric Statistics, section 3.2). Requires at least one sample.
GraphTime median_with_interval(std::vector<double> samples);

/// One of several pieces of work that are timed together.
struct GraphWork {
  /// Enqueues a copy on the stream. Copies that need a cold cache are numbered from 0
  /// and share no memory with each other or with other work; hot copies are all copy 0.
  std::function<Result<void>(int copy)> enqueue;
  int cold_copies = 1;
};

class GraphTimer {
public:
  GraphTimer(GpuDevice& device, Stream stream) : device_(device), stream_(stream) {}
  GraphTimer(const GraphTimer&) = delete;
  GraphTimer& operator=(const GraphTimer&) = delete;
  /// The buffer that flushes the cache may take a hundred megabytes,
  /// so it is released with the timer.
  ~GraphTimer() {
    if (wash_) (void)device_.release(wash_);
  }

  /// `enqueue` enqueues one copy of the work on the stream; the work must be repeatable. Errors:
  /// the device's, and those of `enqueue`.
  Result<GraphTime> time(const std::function<Result<void>()>& enqueue, const GraphTiming& how);
  /// Returns the microseconds of one run on an idle device, including the cost of a launch.
  Result<double> once(const std::function<Result<void>()>& enqueue);
  /// Returns the time of each, in order, all in one graph, until the median of each
  /// is precise enough. Errors: as time(); if one piece fails, all fail.
  Result<std::vector<GraphTime>> time_together(llvm::ArrayRef<GraphWork> works,
                                               const GraphTiming& how);

private:
  /// Released by the destructor: a load that measures makes hundreds of graphs.
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
