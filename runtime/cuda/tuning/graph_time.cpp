#include "runtime/cuda/tuning/graph_time.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg::cuda {

namespace {

/// The target time of a replay, given events with a resolution of half a microsecond.
constexpr double kReplayMicroseconds = 500;
constexpr int kMostCopies = 512;
/// Enough copies to estimate that number.
constexpr int kFewCopies = 4;
constexpr uint8_t kWashByte = 0x3f;

int copies_of(double few_us) {
  double copies = std::ceil(kReplayMicroseconds * kFewCopies / std::max(few_us, 1e-3));
  return static_cast<int>(std::clamp(copies, 1.0, static_cast<double>(kMostCopies)));
}

bool is_enough(const GraphTime& time, const GraphTiming& how) {
  if (time.runs < how.samples) return false;
  return time.runs >= how.most_samples || time.high - time.low <= how.sure * time.microseconds;
}

} // namespace

GraphTime median_with_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  size_t n = samples.size();
  double middle = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  // For n samples, the number below the true median is binomial(n, 1/2).
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

Result<GraphTimer::OwnGraph> GraphTimer::capture(const std::function<Result<void>()>& enqueue) {
  TG_CHECK(device_.begin_capture(stream_));
  Result<void> enqueued = enqueue();
  auto graph = device_.end_capture(stream_); // in any case: the stream must not stay captured
  if (!graph) return std::move(enqueued ? graph.error() : enqueued.error());
  OwnGraph own(device_, *graph);
  if (!enqueued) return std::move(enqueued.error());
  return own;
}

Result<GraphTimer::OwnGraph> GraphTimer::capture(const std::function<Result<void>()>& enqueue,
                                                 int copies, bool wash) {
  return capture([&]() -> Result<void> {
    if (wash) TG_CHECK(device_.fill(wash_, kWashByte, wash_bytes_, stream_));
    for (int i = 0; i < copies; ++i) TG_CHECK(enqueue());
    return {};
  });
}

/// Hot work runs once before it is timed, because other work has used the cache since its last run.
Result<GraphTimer::OwnGraph> GraphTimer::capture(llvm::ArrayRef<GraphWork> works,
                                                 llvm::ArrayRef<int> copies, bool cold) {
  return capture([&]() -> Result<void> {
    if (cold) TG_CHECK(device_.fill(wash_, kWashByte, wash_bytes_, stream_));
    TG_CHECK(device_.record(marks_[0], stream_));
    TG_CHECK(device_.record(marks_[1], stream_));
    for (size_t i = 0; i < works.size(); ++i) {
      if (!cold) TG_CHECK(works[i].enqueue(0));
      TG_CHECK(device_.record(marks_[2 * i + 2], stream_));
      for (int copy = 0; copy < copies[i]; ++copy) TG_CHECK(works[i].enqueue(cold ? copy : 0));
      TG_CHECK(device_.record(marks_[2 * i + 3], stream_));
    }
    return {};
  });
}

/// Returns the microseconds of one replay that follows another.
Result<double> GraphTimer::sample(Graph graph) {
  TG_CHECK(device_.replay(graph, stream_));
  TG_CHECK(device_.record(from_, stream_));
  TG_CHECK(device_.replay(graph, stream_));
  TG_CHECK(device_.record(to_, stream_));
  TG_CHECK(device_.synchronise(stream_));
  return device_.microseconds(from_, to_);
}

/// Returns the microseconds of each piece of work in one replay, for all its copies.
Result<std::vector<double>> GraphTimer::sample(Graph graph, size_t works) {
  TG_CHECK(device_.replay(graph, stream_));
  TG_CHECK(device_.synchronise(stream_));
  TG_TRY(double of_events, device_.microseconds(marks_[0], marks_[1]));
  std::vector<double> spans;
  for (size_t i = 0; i < works; ++i) {
    TG_TRY(double span, device_.microseconds(marks_[2 * i + 2], marks_[2 * i + 3]));
    spans.push_back(std::max(span - of_events, 0.0));
  }
  return spans;
}

Result<int> GraphTimer::copies_for(const std::function<Result<void>()>& enqueue) {
  TG_TRY(OwnGraph graph, capture(enqueue, kFewCopies, false));
  TG_TRY(double warming, sample(*graph));
  (void)warming;
  TG_TRY(double few, sample(*graph));
  return copies_of(few);
}

Result<std::vector<int>> GraphTimer::copies_for(llvm::ArrayRef<GraphWork> works, bool cold) {
  std::vector<int> copies(works.size(), kFewCopies);
  if (cold) {
    for (size_t i = 0; i < works.size(); ++i) copies[i] = works[i].cold_copies;
    return copies;
  }
  TG_TRY(OwnGraph graph, capture(works, copies, false));
  TG_TRY(std::vector<double> warming, sample(*graph, works.size()));
  TG_TRY(std::vector<double> few, sample(*graph, works.size()));
  for (size_t i = 0; i < works.size(); ++i) copies[i] = copies_of(few[i]);
  return copies;
}

Result<double> GraphTimer::once(const std::function<Result<void>()>& enqueue) {
  TG_CHECK(prepare(/*cold=*/false));
  TG_CHECK(device_.record(from_, stream_));
  TG_CHECK(enqueue());
  TG_CHECK(device_.record(to_, stream_));
  TG_CHECK(device_.synchronise(stream_));
  return device_.microseconds(from_, to_);
}

Result<std::vector<GraphTime>> GraphTimer::time_together(llvm::ArrayRef<GraphWork> works,
                                                         const GraphTiming& how) {
  TG_CHECK(prepare(how.cold));
  while (marks_.size() < 2 * (works.size() + 1)) {
    TG_TRY(Event mark, device_.make_event());
    marks_.push_back(mark);
  }
  TG_TRY(std::vector<int> copies, copies_for(works, how.cold));
  TG_TRY(OwnGraph graph, capture(works, copies, how.cold));
  TG_TRY(std::vector<double> warming, sample(*graph, works.size()));
  std::vector<std::vector<double>> samples(works.size());
  std::vector<GraphTime> found(works.size());
  do {
    TG_TRY(std::vector<double> spans, sample(*graph, works.size()));
    for (size_t i = 0; i < works.size(); ++i) {
      samples[i].push_back(spans[i] / copies[i]);
      found[i] = median_with_interval(samples[i]);
    }
  } while (!llvm::all_of(found, [&](const GraphTime& time) { return is_enough(time, how); }));
  return found;
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
  } while (!is_enough(found, how));
  return found;
}

} // namespace tg::cuda
