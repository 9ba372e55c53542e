#include "runtime/cuda/tuning/scratch.h"

#include "runtime/measure/measure.h"

#include <algorithm>
#include <utility>

namespace tg::cuda {

namespace {

/// The number of timed replays: differences below their spread do not matter.
constexpr int kTimedSamples = 5;
/// Work that takes this many times as long as the best, plus a launch, is not timed in a graph.
constexpr double kHopeless = 3, kLaunchMicroseconds = 100;
constexpr int64_t kMostColdCopies = 16;

} // namespace

int cold_copies(int64_t bytes, int64_t room) {
  return static_cast<int>(std::clamp(room / bytes, int64_t{1}, kMostColdCopies));
}

ScratchTimer::~ScratchTimer() {
  if (memory_) (void)device_.release(memory_);
}

Result<Address> ScratchTimer::get(int64_t bytes, DType dtype) {
  if (bytes <= bytes_ && dtype == dtype_) return memory_;
  if (bytes > bytes_) {
    bytes_ = 0;
    if (memory_) TG_CHECK(device_.release(std::exchange(memory_, 0)));
    TG_TRY(memory_, device_.allocate(bytes));
    bytes_ = bytes;
  }
  TG_TRY(Tensor pattern, plain_numbers({dtype, {kPatternElements}}));
  TG_CHECK(fill_with(device_, memory_, bytes_, pattern, stream_));
  TG_CHECK(device_.synchronise(stream_)); // the pattern is freed after this
  dtype_ = dtype;
  return memory_;
}

Result<void> ScratchTimer::run(int64_t bytes, DType dtype, const Work& work) {
  TG_TRY(Address scratch, get(bytes, dtype));
  TG_CHECK(work(device_, scratch, stream_));
  return device_.synchronise(stream_);
}

Result<double> ScratchTimer::time(int64_t bytes, DType dtype, const Work& work, double best) {
  bytes = device_bytes(bytes);
  int copies = cold_ ? cold_copies(bytes) : 1;
  TG_TRY(Address scratch, get(bytes * copies, dtype));
  auto copy = [&](int number) {
    return work(device_, scratch + static_cast<Address>(bytes * number), stream_);
  };
  TG_CHECK(copy(0)); // loads kernels, which a capture must not
  TG_TRY(double once, timer_.once([&] { return copy(0); }));
  if (once > kHopeless * best + kLaunchMicroseconds) return once;
  GraphTiming how;
  how.cold = cold_;
  how.samples = how.most_samples = kTimedSamples;
  if (!cold_) {
    TG_TRY(GraphTime time, timer_.time([&] { return copy(0); }, how));
    return time.microseconds;
  }
  TG_TRY(std::vector<GraphTime> times, timer_.time_together(GraphWork{copy, copies}, how));
  return times[0].microseconds;
}

} // namespace tg::cuda
