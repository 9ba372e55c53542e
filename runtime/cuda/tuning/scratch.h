// Times work that has no memory of its own yet, under run conditions,
// on scratch memory filled with plain numbers. Libraries' algorithms and generated kernels
// are thus compared before a plan has places for its values.
#pragma once

#include "runtime/cuda/tuning/graph_time.h"
#include "runtime/tensor.h"

#include <limits>

namespace tg::cuda {

/// Returns the number of copies of work with cold operands of `bytes` bytes each:
/// together they touch about `room`, and there are at most sixteen.
inline constexpr int64_t kColdBytes = int64_t{64} << 20;
int cold_copies(int64_t bytes, int64_t room = kColdBytes);

/// The size of the pattern with which scratch memory is filled repeatedly.
inline constexpr int64_t kPatternElements = 1 << 16;

class ScratchTimer {
public:
  /// Enqueues the work on a stream, on the memory that begins at `scratch`.
  using Work = std::function<Result<void>(GpuDevice& device, Address scratch, Stream stream)>;

  /// `cold`: as in a network that is larger than the second-level cache.
  ScratchTimer(GpuDevice& device, Stream stream, bool cold)
      : device_(device), stream_(stream), cold_(cold), timer_(device, stream) {}
  ScratchTimer(const ScratchTimer&) = delete;
  ScratchTimer& operator=(const ScratchTimer&) = delete;
  ~ScratchTimer();

  /// Runs once and waits. Errors: those of the work; `memory_limit` if the memory is not available;
  /// `device`.
  Result<void> run(int64_t bytes, DType dtype, const Work& work);
  /// Returns the microseconds. Work that takes several times as long as `best` is timed roughly,
  /// from a single run. Errors: as run().
  Result<double> time(int64_t bytes, DType dtype, const Work& work,
                      double best = std::numeric_limits<double>::infinity());
  /// The prefix of the keys of choices made by these times.
  const char* conditions() const { return cold_ ? "cold " : ""; }
  /// Returns false after the GPU is lost: failures then are not caused by the work.
  bool device_answers() { return device_.synchronise(stream_).ok(); }

private:
  /// Returns at least `bytes` bytes of numbers; discards the previous contents.
  Result<Address> get(int64_t bytes, DType dtype);

  GpuDevice& device_;
  Stream stream_;
  bool cold_;
  GraphTimer timer_;
  Address memory_ = 0;
  int64_t bytes_ = 0;
  DType dtype_{};
};

} // namespace tg::cuda
