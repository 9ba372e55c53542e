// Prepares a graph for a backend in three steps: plan, compile, bind.
#include "compiler/api/backends/prepare.h"

#include "compiler/api/backends/backends.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/extract.h"
#include "compiler/ir/retype.h"
#include "runtime/random.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringExtras.h>

#include <utility>

namespace tg {

Result<std::unique_ptr<Backend>> make_backend(llvm::StringRef name, const std::string& cost_db,
                                              double tune_near_ms) {
  if (const BackendRow* row = find_backend(name)) return row->make({cost_db, tune_near_ms});
  std::vector<llvm::StringRef> names;
  for (const BackendRow* row : all_backends()) names.push_back(row->name);
  return error(Code::no_backend, "no backend `{0}` in this build; the backends are {1}", name,
               llvm::join(names, ", "));
}

int64_t memory_limit_bytes(int64_t limit_mb) {
  return limit_mb > 0 ? limit_mb << 20 : physical_memory_bytes() / 5 * 4;
}

namespace {

/// Returns estimated microseconds of each node without running anything. Shares of the total are
/// similar on different devices.
std::vector<double> estimates_of(const Graph& graph) {
  std::vector<double> prices(graph.size(), 0);
  Result<std::unique_ptr<CostModel>> model = make_analytic_cost("cpu");
  assert(model && "`cpu` is a known profile");
  PriceCache cache(graph.symbols(), **model);
  GraphInstances run = instances_of(graph);
  for (size_t i = 0; i < run.nodes.size(); ++i)
    prices[run.nodes[i].index] = cache.price(run.instances[i]);
  return prices;
}

} // namespace

Result<Prepared> prepare(const Graph& graph, const PrepareOptions& options) {
  Prepared prepared;
  TG_TRY(prepared.backend, make_backend(options.backend, options.cost_db, options.tune_near_ms));
  TG_TRY(Graph typed, retype(graph, options.dtype));
  std::vector<double> prices;
  if (options.recompute > 0) prices = estimates_of(typed);
  PlanOfNodes planned = plan_of_nodes(typed, {prices, options.recompute});
  prepared.plan = std::move(planned.plan);
  prepared.recomputed = planned.recomputed;
  prepared.nodes = std::move(planned.nodes);
#ifdef TG_VERIFY
  if (std::string fault = verify(prepared.plan); !fault.empty())
    return error(Code::internal, "the plan of `{0}` is not well formed: {1}", graph.name(), fault);
#endif
  bool threads = find_backend(options.backend)->threads;
  prepared.threads = threads ? thread_count(options.threads) : 1;
  CompileOptions compile;
  compile.threads = prepared.threads;
  compile.memory_limit_bytes =
      options.memory_limit_bytes > 0 ? options.memory_limit_bytes : memory_limit_bytes(0);
  compile.seed = options.seed;
  compile.stop = options.interrupt;
  compile.weights = options.weights;
  compile.shared = options.shared;
  compile.externs = options.externs;
  compile.allow_tf32 = options.allow_tf32;
  TG_TRY(prepared.executable, prepared.backend->compile(prepared.plan, compile));
  return prepared;
}

Result<Prepared> prepare_with_inputs(const Graph& graph, const PrepareOptions& options) {
  TG_TRY(Prepared prepared, prepare(graph, options));
  TG_TRY(std::vector<Tensor> inputs, random_inputs(prepared.plan, options.seed));
  TG_CHECK(prepared.executable->bind_inputs(inputs));
  return prepared;
}

Result<std::vector<NodeTime>> time_nodes(Prepared& prepared, const TimingOptions& options) {
  Executable& executable = *prepared.executable;
  for (size_t i = 0; i < options.warmup; ++i) TG_CHECK(executable.run_once());
  TimingOptions warm = options;
  warm.warmup = 0;
  executable.profile(true);
  Result<Timing> timing = time_runs(executable, warm);
  std::vector<StepInfo> steps = executable.steps();
  executable.profile(false);
  if (!timing) return std::move(timing.error());

  std::vector<NodeTime> times;
  llvm::DenseMap<PlanStepId, size_t> place;
  double reorders_us = 0; // since the last step
  for (StepInfo& info : steps) {
    if (info.step == kNever) {
      reorders_us += info.measured_us;
      continue;
    }
    auto [at, first] = place.try_emplace(info.step, times.size());
    if (first) times.push_back({prepared.nodes[info.step], 0, 0, std::move(info.implementation)});
    NodeTime& time = times[at->second];
    time.microseconds += info.measured_us + reorders_us;
    time.reorders_us += std::exchange(reorders_us, 0);
  }
  if (!times.empty()) {
    times.back().microseconds += reorders_us;
    times.back().reorders_us += reorders_us;
  }
  return times;
}

Result<std::vector<NodeTime>> time_nodes(const Graph& graph, const PrepareOptions& options,
                                         const TimingOptions& timing) {
  TG_TRY(Prepared prepared, prepare_with_inputs(graph, options));
  return time_nodes(prepared, timing);
}

} // namespace tg
