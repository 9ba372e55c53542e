#include "compiler/trial/time_notes.h"

#include "compiler/pricing/cost_model.h"
#include "compiler/trial/backend_finalists.h"

#include <llvm/ADT/STLExtras.h>
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

constexpr llvm::StringLiteral kGapNote("a whole run takes ");

/// Returns the cause if prices are not times of this machine, else "".
llvm::StringRef price_error_cause(PriceOrigin origin) {
  switch (origin) {
  case PriceOrigin::Timed: return "";
  case PriceOrigin::Estimated:
    return "the prices are estimates; `tg calibrate` fits them to this machine";
  case PriceOrigin::Profile:
    return "the prices are estimates for a named device; `--cost measured` uses prices of this "
           "machine";
  case PriceOrigin::Table:
    return "the prices are from a file, measured on another machine or while other programs ran; "
           "`--cost measured` uses prices of this machine";
  }
  return "";
}

/// Returns the most likely of the known causes.
std::string likely_cause(const PriceGap& gap, bool slower) {
  if (gap.disturbance != Disturbance::None)
    return "other programs used the machine; repeat it on an idle machine";
  if (gap.denormals && slower)
    return "runs compute on denormal numbers, but prices are measured on normal ones";
  bool elsewhere = gap.origin == PriceOrigin::Table || gap.origin == PriceOrigin::Profile;
  if (gap.slow_machine && slower && !elsewhere)
    return "the machine is slower now than when the prices were measured";
  if (llvm::StringRef cause = price_error_cause(gap.origin); !cause.empty()) return cause.str();
  if (gap.threads > 1 && slower) return "threads wait for one another; compare with `--threads 1`";
  if (slower) return "operands are not in the caches, as they are when operators are timed";
  return "the prices were measured on a busy machine";
}

PriceOrigin origin_of(const CostSpec& spec) {
  CostSpec prices = resolved(spec);
  switch (prices.source) {
  case CostSpec::Source::Measured: return PriceOrigin::Timed;
  case CostSpec::Source::Table: return PriceOrigin::Table;
  case CostSpec::Source::Analytic:
    return prices.name.empty() ? PriceOrigin::Estimated : PriceOrigin::Profile;
  case CostSpec::Source::Default:
  case CostSpec::Source::Calibrated: break;
  }
  return PriceOrigin::Estimated;
}

} // namespace

PriceGap gap_of(const OptimizeReport& report, const tangram::CostSpec& prices, double run_us,
                int threads) {
  auto speaks_of_denormals = [](llvm::StringRef note) { return note.startswith(kDenormalsTurnUp); };
  return {.price_us = report.cost_after_us,
          .run_us = run_us,
          .threads = threads,
          .disturbance = report.disturbance,
          .slow_machine = report.slow_machine,
          .denormals = llvm::any_of(report.notes, speaks_of_denormals),
          .origin = origin_of(prices)};
}

bool is_gap_note(llvm::StringRef note) { return note.startswith(kGapNote); }

std::string gap_note(const PriceGap& gap) {
  constexpr double kWide = 2, kLeastUs = 20; // below, the fixed overhead of a run matters
  if (!(gap.price_us > 0) || !(gap.run_us > 0)) return "";
  double ratio = gap.run_us / gap.price_us;
  if (std::max(ratio, 1 / ratio) < kWide || std::abs(gap.run_us - gap.price_us) < kLeastUs)
    return "";
  bool slower = ratio > 1;
  return llvm::formatv("{5}{0:f1} us, {1:f1} times as {2} as its cost of {3:f1} us; likely "
                       "cause: {4}",
                       gap.run_us, slower ? ratio : 1 / ratio, slower ? "long" : "short",
                       gap.price_us, likely_cause(gap, slower), kGapNote);
}

} // namespace tg
