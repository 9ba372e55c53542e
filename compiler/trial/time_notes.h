// Notes about two times that a person compares: of a narrow float and of f32, of a price and of a
// whole run. The figures are measured elsewhere.
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

  /// True if f32 is faster beyond what two measurements differ by.
  bool slower() const;
};
/// "a run takes 62.0 us in bf16 and 20.0 us in f32: bf16 is slower on this machine"
std::string text_of(const DTypeTimes& times);

/// The origin of the prices of a graph.
enum class PriceOrigin : uint8_t {
  Timed,     // each operator was timed on this machine, now or earlier
  Estimated, // a model of this machine
  Profile,   // estimates of a device that was named
  Table,     // a file
};

/// A graph's price beside its whole runs, and what may explain the difference.
struct PriceGap {
  double price_us = 0, run_us = 0;
  int threads = 1;
  Disturbance disturbance = Disturbance::None; // of the runs
  bool slow_machine = false; // nothing else ran, and yet it computes slower than it usually does
  bool denormals = false;    // runs compute on them
  PriceOrigin origin = PriceOrigin::Timed;
};
/// The cost of a search's result beside runs of it that take `run_us`.
PriceGap gap_of(const OptimizeReport& report, const tangram::CostSpec& prices, double run_us,
                int threads);
/// One line with both figures and the likely cause; "" where they are not far apart.
std::string gap_note(const PriceGap& gap);
/// True for such a line.
bool is_gap_note(llvm::StringRef note);

} // namespace tg
