#include "lang/core/support/repeated_times.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tg {
namespace {

/// Returns a percentile of sorted samples; `share` is in [0, 1].
double percentile(llvm::ArrayRef<double> sorted, double share) {
  double place = share * static_cast<double>(sorted.size() - 1);
  size_t below = static_cast<size_t>(place);
  double rest = place - static_cast<double>(below);
  return below + 1 < sorted.size() ? sorted[below] * (1 - rest) + sorted[below + 1] * rest
                                   : sorted[below];
}

} // namespace

Timing summarise_times(std::vector<double> samples) {
  assert(!samples.empty() && "at least one sample is required");
  std::sort(samples.begin(), samples.end());
  return {samples.size(), percentile(samples, 0.5), percentile(samples, 0.1),
          percentile(samples, 0.9), samples.front()};
}

Comparison compare_times(llvm::ArrayRef<double> first, llvm::ArrayRef<double> second,
                         size_t runs_per_pair) {
  assert(first.size() == second.size() && !first.empty() && "samples come in pairs");
  std::vector<double> ratios, firsts;
  for (size_t i = 0; i < first.size(); i += runs_per_pair) {
    size_t count = std::min(runs_per_pair, first.size() - i);
    llvm::ArrayRef<double> a = first.slice(i, count), b = second.slice(i, count);
    firsts.push_back(*std::min_element(a.begin(), a.end()));
    ratios.push_back(firsts.back() / *std::min_element(b.begin(), b.end()));
  }
  std::sort(ratios.begin(), ratios.end());
  // The number of ratios below the true median is binomial(n, 1/2);
  // its 95% interval gives the indices of the interval's ends.
  // With few pairs the ends are the extremes.
  double n = static_cast<double>(ratios.size());
  auto places = static_cast<int64_t>(std::floor(n / 2 - 0.98 * std::sqrt(n)));
  size_t low = static_cast<size_t>(std::max<int64_t>(places, 0));
  double ratio = percentile(ratios, 0.5);
  double first_us = summarise_times(std::move(firsts)).median_us;
  return {.first = summarise_times(first.vec()),
          .second = summarise_times(second.vec()),
          .ratio = ratio,
          .low = ratios[low],
          .high = ratios[ratios.size() - 1 - low],
          .first_us = first_us,
          .second_us = first_us / ratio};
}

} // namespace tg
