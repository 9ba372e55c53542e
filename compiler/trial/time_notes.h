// Notes on two times that a user compares: of a narrow float and f32, or of a price and a whole
// run. The times are measured elsewhere.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "lang/core/support/repeated_times.h"
#include "lang/core/type.h"
#include "tangram/choices.h"

#include <string>

namespace tg {

/// Whole runs of one graph on one machine.
struct DTypeTimes {
  DType dtype = DType::F32;
  double us = 0, f32_us = 0;

  /// True if f32 is faster by more than the difference of two measurements.
  bool slower() const;
};
/// "a run takes 62.0 us in bf16 and 20.0 us in f32: bf16 is slower on this machine"
std::string text_of(const DTypeTimes& times);

/// The origin of the prices of a graph.
enum class PriceOrigin : uint8_t {
  Timed,     // each operator was timed on this machine, now or earlier
  Estimated, // a model of this machine
  Profile,   // estimates for a named device
  Table,     // a file
};

/// A graph's price and its whole runs, with possible causes of a difference.
struct PriceGap {
  double price_us = 0, run_us = 0;
  int threads = 1;
  Disturbance disturbance = Disturbance::None; // during the runs
  bool slow_machine = false;                   // slower than usual without other programs
  bool denormals = false;                      // runs compute on denormal numbers
  PriceOrigin origin = PriceOrigin::Timed;
};
/// Returns the gap between the cost of a search's result and its runs of `run_us`.
PriceGap gap_of(const OptimizeReport& report, const tangram::CostSpec& prices, double run_us,
                int threads);
/// Returns a line with both times and the likely cause; "" if they are close.
std::string gap_note(const PriceGap& gap);
/// True for such a line.
bool is_gap_note(llvm::StringRef note);

} // namespace tg
