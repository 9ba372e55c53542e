// Order statistics over samples; the loops that take them.
#include "compiler/driver/timing.h"
#include "lang/core/stopwatch.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tg {
namespace {

/// Of sorted samples; `share` in [0, 1].
double percentile(llvm::ArrayRef<double> sorted, double share) {
  double place = share * static_cast<double>(sorted.size() - 1);
  size_t below = static_cast<size_t>(place);
  double rest = place - static_cast<double>(below);
  return below + 1 < sorted.size() ? sorted[below] * (1 - rest) + sorted[below + 1] * rest
                                   : sorted[below];
}

Result<double> timed_run(Executable& executable) {
  Stopwatch watch;
  TG_CHECK(executable.run_once());
  return watch.seconds() * 1e6;
}

/// Whether to take another sample after `done` of them.
bool go_on(const TimingOptions& options, size_t done, const Stopwatch& watch) {
  if (done > 0 && options.stop.asked()) return false;
  if (options.runs != 0) return done < options.runs;
  if (done < options.min_runs) return true;
  return done < options.max_runs && watch.seconds() < options.seconds;
}

} // namespace

Timing summarise_times(std::vector<double> samples) {
  assert(!samples.empty() && "nothing was measured");
  std::sort(samples.begin(), samples.end());
  return {samples.size(), percentile(samples, 0.5), percentile(samples, 0.1),
          percentile(samples, 0.9), samples.front()};
}

Comparison compare_times(llvm::ArrayRef<double> first, llvm::ArrayRef<double> second,
                         size_t runs_per_pair) {
  assert(first.size() == second.size() && !first.empty() && "samples come in pairs");
  std::vector<double> ratios;
  for (size_t i = 0; i < first.size(); i += runs_per_pair) {
    size_t count = std::min(runs_per_pair, first.size() - i);
    llvm::ArrayRef<double> a = first.slice(i, count), b = second.slice(i, count);
    ratios.push_back(*std::min_element(a.begin(), a.end()) / *std::min_element(b.begin(), b.end()));
  }
  std::sort(ratios.begin(), ratios.end());
  // The number of ratios below the true median is binomial(n, 1/2); its 95% interval bounds the
  // places of the interval's ends. With few pairs the ends are the extremes.
  double n = static_cast<double>(ratios.size());
  auto places = static_cast<int64_t>(std::floor(n / 2 - 0.98 * std::sqrt(n)));
  size_t low = static_cast<size_t>(std::max<int64_t>(places, 0));
  return {summarise_times(first.vec()), summarise_times(second.vec()), percentile(ratios, 0.5),
          ratios[low], ratios[ratios.size() - 1 - low]};
}

Result<Timing> time_runs(Executable& executable, const TimingOptions& options) {
  for (size_t i = 0; i < options.warmup; ++i) TG_CHECK(executable.run_once());
  std::vector<double> samples;
  for (Stopwatch watch; go_on(options, samples.size(), watch);) {
    TG_TRY(double us, timed_run(executable));
    samples.push_back(us);
  }
  return summarise_times(std::move(samples));
}

Result<Comparison> time_in_turns(Executable& first, Executable& second,
                                 const TimingOptions& options) {
  for (size_t i = 0; i < options.warmup; ++i) {
    TG_CHECK(first.run_once());
    TG_CHECK(second.run_once());
  }
  std::vector<double> samples[2];
  Executable* programs[2] = {&first, &second};
  auto pair = [&]() -> Result<void> {
    size_t leader = samples[0].size() % 2;
    for (size_t which : {leader, 1 - leader}) {
      TG_TRY(double us, timed_run(*programs[which]));
      samples[which].push_back(us);
    }
    return {};
  };
  Stopwatch watch;
  while (go_on(options, samples[0].size(), watch)) TG_CHECK(pair());
  auto undecided = [&] {
    Comparison c = compare_times(samples[0], samples[1], kRunsPerPair);
    return !c.second_faster() && !c.second_slower();
  };
  while (options.runs == 0 && !options.stop.asked() && watch.seconds() < options.patience_seconds &&
         undecided()) {
    size_t goal = 2 * samples[0].size();
    while (samples[0].size() < goal && !options.stop.asked() &&
           watch.seconds() < options.patience_seconds)
      TG_CHECK(pair());
  }
  return compare_times(samples[0], samples[1], kRunsPerPair);
}

} // namespace tg
