#include "compiler/driver/runs/whole_runs.h"

#include "compiler/driver/devices.h"
#include "compiler/driver/prices/cost_model.h"

namespace tg {

namespace {

BackendFinalists runner_of(const PrepareOptions& run, bool measured) {
  if (measured) return BackendFinalists(run);
  // Prices that took no time to get are not followed by minutes of runs: all ends in ten seconds.
  constexpr double kPatientUntil = 9;
  return BackendFinalists(run, {.min_runs = 5, .seconds = 1, .patience_seconds = 2}, kPatientUntil);
}

} // namespace

WholeRunPolicy::WholeRunPolicy(const WholeRunOptions& options, const PrepareOptions& run)
    : judge_(options.judge), measured_(judge_ || is_measured(options.cost)),
      asked_(options.wanted && (judge_ || meets_source(options.cost))),
      run_(asked_ && options.finalists > 0), finalists_(options.finalists),
      runner_(runner_of(run, measured_)) {
  // Weights of the user's own may be slow numbers, and a kernel of theirs is another tomorrow.
  if (!run_ || measured_ || !options.remember || run.weights || run.externs) return;
  if (Result<std::unique_ptr<Backend>> backend = make_backend(run.backend, run.cost_db))
    remembered_.emplace(runner_, open_whole_runs(run.cost_db, **backend, thread_count(run.threads)),
                        dtype_name(run.dtype).str() + (run.allow_tf32 ? ", tf32" : ""));
}

FinalistRunner* WholeRunPolicy::runner() {
  if (!run_) return nullptr;
  if (judge_) return judge_;
  return remembered_ ? static_cast<FinalistRunner*>(&*remembered_) : &runner_;
}

void WholeRunPolicy::set(OptimizeOptions& options) const {
  options.must_gain = measured_;
  // What was guessed in a second meets its source, and nobody waits for others to be built.
  options.finalists = measured_ ? finalists_ : std::min<size_t>(finalists_, 1);
  if (run_) options.search_share *= 0.6; // they come after it
}

} // namespace tg
