// Notes about two times that a person compares: of a narrow float and of f32, of a price and of a
// whole run. The figures are measured elsewhere.
#pragma once

#include "lang/core/support/repeated_times.h"
#include "lang/core/type.h"

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

/// A graph's price beside its whole runs, and what is known to part them.
struct PriceGap {
  double price_us = 0, run_us = 0;
  int threads = 1;
  Disturbance disturbance = Disturbance::None; // of the runs
  bool denormals = false;                      // runs compute on them
  bool measured = true;                        // prices are times of operators, not estimates
};
/// One line with both figures and the likely cause; "" where they are not far apart.
std::string gap_note(const PriceGap& gap);

} // namespace tg
