// The tuner: finds fast programs for the operators of a network's plan by measuring,
// and stores them.
//
// Operators with a stored program are not tuned again, but others may reuse them. The remaining
// operators start with the device's guess. If the guess has nothing more to gain, the operator is
// done. The rest is tuned along a tree (pairs/selection.h) in which each operator is searched in
// full (search/full_search.h) or reuses the best program of its parent (reuse.h). After its trials,
// an operator's best programs run interleaved with the untuned implementation (race.h), and the
// result is stored.
//
// Example: a plan has two convolutions, A = C2D [1, 128, 28, 28 | 512, 1, 1] and
// B = C2D [1, 128, 28, 28 | 256, 1, 1]. A full search of A takes up to `trials` = 1000 programs.
// B's loops are at most A's, so B can reuse A, which takes a few dozen.
//
//   Store store; // of a simulated device, which the tests use
//   SyntheticPlan device({"C2D [1, 128, 28, 28 | 512, 1, 1]",
//                         "C2D [1, 128, 28, 28 | 256, 1, 1]"}, store);
//   PlanTuneReport report = tune_plan(device, {}, [](const PlanTuneLine&) {});
//   report.lines[0].reused_from; // == ""
//   report.lines[1].reused_from; // == report.lines[0].name
//
// Invariants: no program is used that was not measured on this device;
// every operator's result is stored as soon as it is decided. A session that is stopped early keeps
// the best program so far of the current operator, and the next session continues from it.
//
// Source: Fang et al., ETO, PVLDB 15(2), 2022 (README): Algorithm 1 for reuse,
// Greedy FLAC for the tree. The options say which parts are not in the publication.
#pragma once

#include "runtime/tune/pairs/selection.h"
#include "runtime/tune/plan_device.h"
#include "runtime/tune/search/full_search.h"

namespace tg::tune {

/// The trials of one step of the tree.
struct StepTrials {
  std::vector<Measured> ranking; // fastest first; empty: nothing ran
  int64_t trials = 0, filtered = 0, to_best = 0;
};

/// An alternative to Algorithm 1 and its bridges, provided by the caller, for comparisons.
class ReuseBaseline {
public:
  virtual ~ReuseBaseline() = default;
  /// Returns which operator reuses which. `work`: floating-point operations of each original, times
  /// its occurrences; `full_trials`: trials of a full search, at most.
  virtual ReusePlan plan(const OperatorGraph& graph, llvm::ArrayRef<double> work,
                         double full_trials) const = 0;
  /// Returns the estimated number of trials of a reuse.
  virtual double reuse_trials() const = 0;
  /// Tries programs of `op` made from those of the operator that it reuses, fastest first.
  virtual StepTrials reuse(const Operator& op, llvm::ArrayRef<Measured> ranking,
                           Device& device) const = 0;
  /// Adjusts the options of a full search, which runs for every step without a reused operator.
  virtual void adjust(FullSearchOptions& options) const = 0;
};

struct PlanTuneOptions {
  const ReuseBaseline* baseline = nullptr; // null: Algorithm 1, with bridges
  int64_t trials = 1000;                   // of a full search, at most
  int64_t patience = 256;                  // as in FullSearchOptions
  uint64_t seed = 1;
  bool again = false; // tunes known operators again

  // Options that are not in the publication; each can be switched off or on.
  bool guess = true;            // searches and reuse begin with Device::guess
  bool until_enough = true;     // searches and reuse end when nothing more is to be gained
  int64_t reuse_patience = 8;   // as in ReuseOptions, if until_enough
  bool dry_estimates = true;    // DryRuns instead of formulas
  double occurrence_weight = 0; // as in SelectionOptions
  bool library = false;         // also measures PlanDevice::library_us

  // Ablations.
  bool shape_costs = true; // as in ReuseOptions; off: shapes drawn at random
  int hops = 1;            // of bridges (SelectionOptions); 0: no bridges, and nothing known
};

enum class TuneState : uint8_t {
  Tuned,     // faster than untuned
  NotFaster, // the untuned implementation stays
  Known,     // from an earlier run
  Bridge,    // not in the plan: it makes others comparable
  Failed,    // no program ran
  NoKernel,  // the device has nothing to tune for it
  Stopped,   // not done; if it has a program, the best so far
};
/// Returns "tuned", "not faster", ..
llvm::StringRef state_name(TuneState state);

struct PlanTuneLine {
  std::optional<size_t> op; // index into PlanDevice::operators; none: a bridge
  std::string name;
  TuneState state = TuneState::Stopped;
  std::optional<KeptProgram> found = {};
  std::string reused_from = {};     // "": a full search
  double planned = 0, expected = 0; // trials, by the tree and at the start of the step
  int64_t trials = 0, filtered = 0, trials_to_best = 0;
  double seconds = 0, compared_seconds = 0; // the latter is a part: interleaved runs
  double library_us = 0;                    // time of a library; 0: unknown, or not requested
  std::string note = {};
};

struct PlanTuneReport {
  std::vector<PlanTuneLine> lines; // in the order of tuning
  int64_t trials = 0;
  double seconds = 0;
  // Parts of `seconds`: first trials, including the comparisons of operators that are then done;
  // choosing the tree; running the plan with a library.
  double first_seconds = 0, tree_seconds = 0, library_seconds = 0;
  bool stopped = false;
};

/// Calls `done` with each line as soon as it is complete.
PlanTuneReport tune_plan(PlanDevice& device, const PlanTuneOptions& options,
                         llvm::function_ref<void(const PlanTuneLine&)> done);

} // namespace tg::tune
