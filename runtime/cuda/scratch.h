// Times work that has no memory of its own yet: on scratch memory full of random numbers, as it
// will run. So libraries' algorithms and generated kernels are compared before a plan has places
// for its values.
#pragma once

#include "runtime/cuda/graph_time.h"
#include "runtime/tensor.h"

namespace tg::cuda {

/// By what factor a time has to be less to be clearly less. A generated kernel fuses with its
/// neighbours, which a library call does not: so where it passes over memory once (pools, norms,
/// products of few rows) the library has to be clearly faster; where it is a plain loop over terms
/// (convolutions) the loop has to be.
inline constexpr double kClearlyFaster = 0.9;

class ScratchTimer {
public:
  /// Puts the work on a stream, on the memory that begins at `scratch`.
  using Work = std::function<Result<void>(GpuDevice& device, Address scratch, Stream stream)>;

  ScratchTimer(GpuDevice& device, Stream stream)
      : device_(device), stream_(stream), timer_(device, stream) {}
  ScratchTimer(const ScratchTimer&) = delete;
  ScratchTimer& operator=(const ScratchTimer&) = delete;
  ~ScratchTimer();

  /// Once, and waits. Errors: those of the work; `memory_limit` where so much memory is not to be
  /// had; `device`.
  Result<void> run(int64_t bytes, DType dtype, const Work& work);
  /// Microseconds. Errors: as run().
  Result<double> time(int64_t bytes, DType dtype, const Work& work);

private:
  /// At least so many bytes of numbers; what was there before is gone.
  Result<Address> get(int64_t bytes, DType dtype);

  GpuDevice& device_;
  Stream stream_;
  GraphTimer timer_;
  Address memory_ = 0;
  int64_t bytes_ = 0;
  DType dtype_{};
};

} // namespace tg::cuda
