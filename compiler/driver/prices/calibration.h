// What `tg calibrate` times: operators as networks have them, so many of each kind as their prices
// are hard to guess, drawn over sizes; and those of small networks, in place
// (calibration_networks.h). The lists are always the same: a second run goes on where the first one
// ended.
#pragma once

#include "compiler/driver/prices/calibrated_cost.h"
#include "tangram/tangram.h"

namespace tg {

/// Instances as keys (instance_key), those that tell most first: any beginning of the list has all
/// kinds in their shares. None is there twice.
std::vector<std::string> calibration_keys();

struct Calibration {
  size_t timed = 0;     // now, alone or in place
  size_t unsettled = 0; // of them: taken beside other work, and not kept
  size_t samples = 0;   // that the price model of this machine has learned from
  double seconds = 0;
  /// Of the operators timed now, guessed before they were: the median of |guess / time - 1|. Of
  /// those in the second half, since the first guesses were made of little. nullopt: too few.
  std::optional<double> median_error;
  bool finished = false; // nothing is left to be timed
  std::vector<std::string> notes = {};
};

struct CalibrationOptions {
  MeasuredCostOptions measure; // but for network_bytes
  StopToken stop = {};
  std::function<void(size_t done, size_t total)> progress = {};
};

/// Times the list as it stands in networks that fit the caches and in those that do not, and runs
/// the networks, as far as they are not in the database yet, until `stop`. Errors: those of the
/// backend's making.
Result<Calibration> calibrate(const std::string& backend, const CalibrationOptions& options);

/// The same from the public options, but for their limits, which `stop` has: `tangram::calibrate`
/// and `tg calibrate`. Errors: also `usage` for ref, whose times nobody asks for.
Result<Calibration> calibrate(const tangram::CalibrateOptions& options, const StopToken& stop);

} // namespace tg
