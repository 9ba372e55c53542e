#include "compiler/trial/whole_runs.h"

#include "compiler/api/backends/devices.h"
#include "compiler/api/files/weights.h"
#include "compiler/pricing/cost_model.h"
#include "runtime/execute.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA1.h>
#include <llvm/Support/xxhash.h>

namespace tg {

namespace {

/// Guessed prices, which take no time, do not justify minutes of runs.
BackendFinalists runner_of(const PrepareOptions& run, const TimePlan& time, bool measured) {
  const TimingOptions quick = {.min_runs = 5, .seconds = 1, .patience_seconds = 2};
  return {run, measured ? BackendFinalists::precise_timing() : quick, time, !measured};
}

/// Returns the conditions, besides the graphs, on which whole runs depend; nullopt if they cannot
/// be identified, because the user's own kernels may change.
std::optional<std::string> conditions_of(const WholeRunOptions& options,
                                         const PrepareOptions& run) {
  if (run.externs) return std::nullopt;
  std::string conditions = dtype_name(run.dtype).str() + (run.allow_tf32 ? ", tf32" : "");
  if (!run.weights) return conditions;
  std::string weights = options.source ? digest_of_weights(*options.source, run) : "";
  if (weights.empty()) return std::nullopt;
  return conditions + ", weights " + weights;
}

} // namespace

// Uses a fixed hash of the elements. If two files collide, an earlier result is used that was timed
// with other weights.
std::string digest_of_weights(const Graph& graph, const PrepareOptions& run) {
  CompileOptions options;
  options.weights = run.weights;
  options.stop = run.stop;
  std::vector<bool> needed = graph.reachable();
  llvm::SHA1 digest;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i] || graph.node({i}).op != OpKind::Weight) continue;
    PlanValue value = plan_value(graph, {i});
    Result<Tensor> tensor = contents_of(value, options);
    if (!tensor) return "";
    llvm::StringRef elements(reinterpret_cast<const char*>(std::as_const(*tensor).data()),
                             static_cast<size_t>(tensor->bytes()));
    digest.update(
        llvm::formatv("{0}\n{1}\n{2:x}\n", value.name, value.type.text(), llvm::xxHash64(elements))
            .str());
  }
  return llvm::toHex(digest.final(), /*LowerCase=*/true);
}

bool WholeRunOptions::asked() const { return wanted && (judge || is_compared_with_source(cost)); }

WholeRunPolicy::WholeRunPolicy(const WholeRunOptions& options, const PrepareOptions& run,
                               const TimePlan& time)
    : judge_(options.judge), measured_(judge_ || is_measured(options.cost)),
      asked_(options.asked()), run_(asked_ && options.finalists > 0), finalists_(options.finalists),
      runner_(runner_of(run, time, measured_)) {
  if (!run_ || measured_ || !options.remember) return;
  std::optional<std::string> conditions = conditions_of(options, run);
  if (!conditions) return;
  if (Result<std::unique_ptr<Backend>> backend = make_backend(run.backend, run.cost_db))
    remembered_.emplace(runner_, open_whole_runs(run.cost_db, **backend, thread_count(run.threads)),
                        std::move(*conditions));
}

FinalistRunner* WholeRunPolicy::runner() {
  if (!run_) return nullptr;
  if (judge_) return judge_;
  return remembered_ ? static_cast<FinalistRunner*>(&*remembered_) : &runner_;
}

void WholeRunPolicy::set(OptimizeOptions& options) const {
  options.must_gain = measured_;
  // With guessed prices, only the best graph is compared with the source, so no others are built.
  options.finalists = measured_ ? finalists_ : std::min<size_t>(finalists_, 1);
}

} // namespace tg
