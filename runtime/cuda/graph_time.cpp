#include "runtime/cuda/graph_time.h"

#include <algorithm>
#include <cmath>

namespace tg::cuda {

namespace {

/// A replay should take so long, against events that count in half microseconds.
constexpr double kReplayMicroseconds = 500;
constexpr int kMostCopies = 512;

} // namespace

GraphTime median_with_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  size_t n = samples.size();
  double middle = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  // Of n samples the number below the true median is binomial(n, 1/2).
  double place = std::floor(static_cast<double>(n) / 2 - 0.98 * std::sqrt(static_cast<double>(n)));
  auto low = static_cast<size_t>(std::max(place, 0.0));
  return {middle, samples[low], samples[n - 1 - low], static_cast<int>(n)};
}

Result<void> GraphTimer::prepare(bool cold) {
  if (!prepared_) {
    TG_TRY(from_, device_.make_event());
    TG_TRY(to_, device_.make_event());
    prepared_ = true;
  }
  if (cold && wash_ == 0) {
    wash_bytes_ = 2 * std::max<int64_t>(device_.l2_bytes(), 1);
    TG_TRY(wash_, device_.allocate(wash_bytes_));
  }
  return {};
}

Result<GraphTimer::OwnGraph> GraphTimer::capture(const std::function<Result<void>()>& enqueue,
                                                 int copies, bool wash) {
  TG_CHECK(device_.begin_capture(stream_));
  Result<void> enqueued;
  if (wash) enqueued = device_.fill(wash_, 0x3f, wash_bytes_, stream_);
  for (int i = 0; enqueued && i < copies; ++i) enqueued = enqueue();
  auto graph = device_.end_capture(stream_); // in any case: the stream must not stay captured
  if (!graph) return std::move(enqueued ? graph.error() : enqueued.error());
  OwnGraph own(device_, *graph);
  if (!enqueued) return std::move(enqueued.error());
  return own;
}

/// Microseconds of one replay that follows another.
Result<double> GraphTimer::sample(Graph graph) {
  TG_CHECK(device_.replay(graph, stream_));
  TG_CHECK(device_.record(from_, stream_));
  TG_CHECK(device_.replay(graph, stream_));
  TG_CHECK(device_.record(to_, stream_));
  TG_CHECK(device_.synchronise(stream_));
  return device_.microseconds(from_, to_);
}

Result<int> GraphTimer::copies_for(const std::function<Result<void>()>& enqueue) {
  constexpr int kFew = 4;
  TG_TRY(OwnGraph graph, capture(enqueue, kFew, false));
  TG_TRY(double warming, sample(*graph));
  (void)warming;
  TG_TRY(double few, sample(*graph));
  double copies = std::ceil(kReplayMicroseconds * kFew / std::max(few, 1e-3));
  return static_cast<int>(std::clamp(copies, 1.0, static_cast<double>(kMostCopies)));
}

Result<GraphTime> GraphTimer::time(const std::function<Result<void>()>& enqueue,
                                   const GraphTiming& how) {
  TG_CHECK(prepare(how.cold));
  int copies = 1;
  if (!how.cold) {
    TG_TRY(copies, copies_for(enqueue));
  }
  TG_TRY(OwnGraph graph, capture(enqueue, copies, how.cold));
  OwnGraph empty;
  if (how.cold) {
    TG_TRY(empty, capture(enqueue, 0, true));
  }
  TG_TRY(double warming, sample(*graph));
  (void)warming;
  std::vector<double> samples;
  GraphTime found;
  do {
    TG_TRY(double with, sample(*graph));
    double without = 0;
    if (how.cold) {
      TG_TRY(without, sample(*empty));
    }
    samples.push_back(std::max(with - without, 0.0) / copies);
    found = median_with_interval(samples);
  } while (found.runs < how.samples || (found.runs < how.most_samples &&
                                        found.high - found.low > how.sure * found.microseconds));
  return found;
}

} // namespace tg::cuda
