// Tunes the operators of a plan: those that are known are left alone, and reused. The others begin
// with the guess of the device, and who has nothing more to gain then is done, and reused; who is
// left is tuned by a tree that says who reuses whom. After its trials an operator's best programs
// run interleaved with what the runtime does untuned, and what comes of it is kept, operator by
// operator: whoever ends a session early keeps the best so far of the operator at hand, too, and
// the next session goes on.
#pragma once

#include "runtime/tune/pairs/selection.h"
#include "runtime/tune/plan_device.h"
#include "runtime/tune/search/full_search.h"

namespace tg::tune {

/// The trials of one step of the tree.
struct StepTrials {
  std::vector<Measured> ranking; // the fastest first; empty: nothing ran
  int64_t trials = 0, filtered = 0, to_best = 0;
};

/// A way to reuse programs in place of Algorithm 1 and its bridges, which a program brings along.
class ReuseBaseline {
public:
  virtual ~ReuseBaseline() = default;
  /// Returns who reuses whom. `work`: floating-point operations of each original, times its
  /// occurrences; `full_trials`: of a full search, at most.
  virtual ReusePlan plan(const OperatorGraph& graph, llvm::ArrayRef<double> work,
                         double full_trials) const = 0;
  /// The trials that a reuse takes, by estimate.
  virtual double reuse_trials() const = 0;
  /// Tries programs of `op` made of those of the operator that it reuses, the fastest first.
  virtual StepTrials reuse(const Operator& op, llvm::ArrayRef<Measured> ranking,
                           Device& device) const = 0;
  /// Changes a search from nothing, which every step without a reused operator is.
  virtual void adjust(FullSearchOptions& options) const = 0;
};

struct PlanTuneOptions {
  const ReuseBaseline* baseline = nullptr; // null: Algorithm 1, with bridges
  int64_t trials = 1000;                   // of a full search, at most
  int64_t patience = 256;                  // FullSearchOptions
  uint64_t seed = 1;
  bool again = false; // also what is known

  // What the publication does not have; each can be switched off, or on.
  bool guess = true;            // searches, and reuse, begin with Device::guess
  bool until_enough = true;     // searches, and reuse, end where nothing more is to be gained
  int64_t reuse_patience = 8;   // ReuseOptions, where until_enough
  bool dry_estimates = true;    // DryRuns, in the place of formulas
  double occurrence_weight = 0; // SelectionOptions
  bool library = false;         // PlanDevice::library_us, too

  // Ablations.
  bool shape_costs = true; // ReuseOptions; without: shapes drawn at random
  int hops = 1;            // of bridges (SelectionOptions); 0: no bridges, and nothing known
};

enum class TuneState : uint8_t {
  Tuned,     // faster than untuned
  NotFaster, // the untuned way stays
  Known,     // from an earlier run
  Bridge,    // of no plan: it makes others comparable
  Failed,    // no program ran
  NoKernel,  // nothing here to tune
  Stopped,   // not done; with a program: the best so far
};
/// "tuned", "not faster", ..
llvm::StringRef state_name(TuneState state);

struct PlanTuneLine {
  std::optional<size_t> op; // of PlanDevice::operators; none: a bridge
  std::string name;
  TuneState state = TuneState::Stopped;
  std::optional<KeptProgram> found = {};
  std::string reused_from = {};     // "": a full search
  double planned = 0, expected = 0; // trials, by the tree, and when the step began
  int64_t trials = 0, filtered = 0, trials_to_best = 0;
  double seconds = 0, compared_seconds = 0; // the latter a part: runs in turns with the untuned way
  double library_us = 0;                    // what a library takes; 0: not known, or not asked
  std::string note = {};
};

struct PlanTuneReport {
  std::vector<PlanTuneLine> lines; // in the order of tuning
  int64_t trials = 0;
  double seconds = 0;
  // Of them: first trials, with the comparisons of who is done then; who reuses whom; the plan on a
  // library.
  double first_seconds = 0, tree_seconds = 0, library_seconds = 0;
  bool stopped = false;
};

/// `done` is called with each line as it is ready.
PlanTuneReport tune_plan(PlanDevice& device, const PlanTuneOptions& options,
                         llvm::function_ref<void(const PlanTuneLine&)> done);

} // namespace tg::tune
