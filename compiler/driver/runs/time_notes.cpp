#include "compiler/driver/runs/time_notes.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

namespace tg {

bool DTypeTimes::slower() const {
  constexpr double kNoise = 1.05;
  return us > kNoise * f32_us;
}

std::string text_of(const DTypeTimes& times) {
  llvm::StringRef name = dtype_name(times.dtype);
  return llvm::formatv("a run takes {0:f1} us in {1} and {2:f1} us in f32{3}", times.us, name,
                       times.f32_us,
                       times.slower() ? ": " + name.str() + " is slower on this machine" : "");
}

namespace {

/// The likeliest of the causes that are known, the surest first.
std::string likely_cause(const PriceGap& gap, bool slower) {
  if (gap.disturbance != Disturbance::None)
    return "other programs used the machine meanwhile; repeat it on an idle machine";
  if (gap.denormals && slower)
    return "runs compute on denormal numbers, which prices are not taken on";
  if (!gap.measured) return "the prices are estimates; `tg calibrate` fits them to this machine";
  if (gap.threads > 1 && slower)
    return "threads that wait for one another; compare with `--threads 1`";
  if (slower) return "operands that are not in the caches, as they are where operators are timed";
  return "the prices were taken on a busy machine";
}

} // namespace

std::string gap_note(const PriceGap& gap) {
  constexpr double kWide = 2, kLeastUs = 20; // below, a run's fixed overhead counts
  if (!(gap.price_us > 0) || !(gap.run_us > 0)) return "";
  double ratio = gap.run_us / gap.price_us;
  if (std::max(ratio, 1 / ratio) < kWide || std::abs(gap.run_us - gap.price_us) < kLeastUs)
    return "";
  bool slower = ratio > 1;
  return llvm::formatv("a whole run takes {0:f1} us, {1:f1} times as {2} as the cost of {3:f1} us "
                       "says; likely cause: {4}",
                       gap.run_us, slower ? ratio : 1 / ratio, slower ? "long" : "short",
                       gap.price_us, likely_cause(gap, slower));
}

} // namespace tg
