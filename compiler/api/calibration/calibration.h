// What `tg calibrate` times: operators as networks have them, so many of each kind as their prices
// are hard to guess, drawn over sizes; and those of small networks, in place
// (calibration_networks.tg). The lists are always the same: a second run goes on where the first
// one ended.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/pricing/calibrated_cost.h"
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
  bool finished = false; // nothing is left to be timed: all of the list is kept, or cannot be timed
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

// Small networks that `tg calibrate` runs whole, so that guesses know what operators take where
// they run: behind each other, on what the one before has just written, in the library's own
// layouts. Each is a block of a kind that networks are made of, as networks are written or as
// searches leave it, with sizes that are drawn. The list is always the same; none of the blocks is
// one of `examples/`.

/// A model of the networks' text, and its parameters. Any beginning of the list has all kinds.
std::vector<ModelRequest> calibration_networks();

/// One of them. Requires that it is of the list.
Graph calibration_graph(const ModelRequest& network);

} // namespace tg
