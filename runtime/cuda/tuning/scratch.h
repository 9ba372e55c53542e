// Times work that has no memory of its own yet: on scratch memory full of plain numbers, as it
// will run. So libraries' algorithms and generated kernels are compared before a plan has places
// for its values.
#pragma once

#include "runtime/cuda/tuning/graph_time.h"
#include "runtime/tensor.h"

#include <limits>

namespace tg::cuda {

/// Copies of work that finds its operands cold, of so many bytes each: together they touch about
/// `room`, and are at most sixteen.
inline constexpr int64_t kColdBytes = int64_t{64} << 20;
int cold_copies(int64_t bytes, int64_t room = kColdBytes);

/// Numbers that scratch memory is filled with, over and over.
inline constexpr int64_t kPatternElements = 1 << 16;

class ScratchTimer {
public:
  /// Puts the work on a stream, on the memory that begins at `scratch`.
  using Work = std::function<Result<void>(GpuDevice& device, Address scratch, Stream stream)>;

  /// `cold`: as in a network that is larger than the second-level cache.
  ScratchTimer(GpuDevice& device, Stream stream, bool cold)
      : device_(device), stream_(stream), cold_(cold), timer_(device, stream) {}
  ScratchTimer(const ScratchTimer&) = delete;
  ScratchTimer& operator=(const ScratchTimer&) = delete;
  ~ScratchTimer();

  /// Once, and waits. Errors: those of the work;
  /// `memory_limit` where so much memory is not to be had; `device`.
  Result<void> run(int64_t bytes, DType dtype, const Work& work);
  /// Microseconds; roughly, and at once,
  /// of what takes several times as long as `best`. Errors: as run().
  Result<double> time(int64_t bytes, DType dtype, const Work& work,
                      double best = std::numeric_limits<double>::infinity());
  /// Begins the key of what was chosen by such times.
  const char* conditions() const { return cold_ ? "cold " : ""; }
  /// False after the GPU is lost: what failed then says nothing of the work.
  bool device_answers() { return device_.synchronise(stream_).ok(); }

private:
  /// At least so many bytes of numbers; what was there before is gone.
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
