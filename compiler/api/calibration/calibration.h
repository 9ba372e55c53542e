// The operators timed by `tg calibrate`. One list has operators as in networks, drawn over sizes,
// with more of the kinds whose prices are hard to guess. The other has small networks, whose
// operators are timed in place (calibration_networks.tg). The lists are fixed, so a second run
// continues where the first one ended.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/pricing/calibrated_cost.h"
#include "tangram/tangram.h"

namespace tg {

/// Returns instances as keys (instance_key), the most informative first: any prefix of the list has
/// all kinds in their shares. No key occurs twice.
std::vector<std::string> calibration_keys();

struct Calibration {
  size_t timed = 0;     // in this run, alone or in place
  size_t unsettled = 0; // timed while other programs ran, and discarded
  size_t samples = 0;   // from which the price model of this machine has learned
  double seconds = 0;
  /// Median of |guess / time - 1| over the operators timed now, guessed before each was timed. Only
  /// the second half counts, because the first guesses had little data. nullopt: too few.
  std::optional<double> median_error;
  bool finished = false; // all operators of the list are stored or cannot be timed
  std::vector<std::string> notes = {};
};

struct CalibrationOptions {
  MeasuredCostOptions measure; // without network_bytes
  StopToken stop = {};
  std::function<void(size_t done, size_t total)> progress = {};
};

/// Times the list under the conditions of networks that fit the caches and of networks that do not,
/// and runs the networks, until `stop`. Skips everything in the database. Errors: those of making
/// the backend.
Result<Calibration> calibrate(const std::string& backend, const CalibrationOptions& options);

/// The same from the public options, except for their limits, which `stop` has:
/// `tangram::calibrate` and `tg calibrate`. Errors: also `usage` for ref, whose times are not used.
Result<Calibration> calibrate(const tangram::CalibrateOptions& options, const StopToken& stop);

// Small networks that `tg calibrate` runs whole, so that guesses include the context of operators:
// consecutive, on data just written, in the library's own layouts. Each is a block of a common
// kind, as written by users or as left by searches, with drawn sizes. The list is fixed. No block
// is in `examples/`.

/// Returns models of the networks' text with parameters. Any prefix of the list has all kinds.
std::vector<ModelRequest> calibration_networks();

/// Builds a network of that list.
Graph calibration_graph(const ModelRequest& network);

} // namespace tg
