// Plan, compile, bind: the order in which a graph meets a backend.
#include "compiler/driver/prepare.h"

#include "compiler/driver/devices.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/retype.h"
#include "runtime/bounds.h"
#include "runtime/random.h"
#include "runtime/ref/backend.h"

#include <algorithm>
#include <limits>

#ifdef TG_HAVE_CUDA
#include "runtime/cuda/backend.h"
#endif
#ifdef TG_HAVE_ONEDNN
#include "runtime/onednn/backend.h"
#endif

namespace tg {

Result<std::unique_ptr<Backend>> make_backend(llvm::StringRef name,
                                              [[maybe_unused]] const std::string& cost_db) {
  std::string known = "ref";
  if (name == "ref") return make_ref_backend();
#ifdef TG_HAVE_ONEDNN
  if (name == "cpu") return make_cpu_backend();
  known += ", cpu";
#endif
#ifdef TG_HAVE_CUDA
  if (name == "cuda") return make_cuda_backend(cost_db);
  known += ", cuda";
#endif
  return error(Code::no_backend, "no backend `{0}` in this build, which has {1}", name, known);
}

int64_t memory_limit_bytes(int64_t limit_mb) {
  return limit_mb > 0 ? limit_mb << 20 : physical_memory_bytes() / 5 * 4;
}

Result<Prepared> prepare(const Graph& graph, const PrepareOptions& options) {
  Prepared prepared;
  TG_TRY(prepared.backend, make_backend(options.backend, options.cost_db));
  TG_TRY(Graph typed, retype(graph, options.dtype));
  prepared.plan = plan_from_graph(typed);
#ifdef TG_VERIFY
  if (std::string fault = verify(prepared.plan); !fault.empty())
    return error(Code::internal, "the plan of `{0}` is not well formed: {1}", graph.name(), fault);
#endif
  // The reference backend runs on one thread whatever it is told.
  prepared.threads = options.backend == "ref" ? 1 : thread_count(options.threads);
  CompileOptions compile;
  compile.threads = prepared.threads;
  compile.memory_limit_bytes =
      options.memory_limit_bytes > 0 ? options.memory_limit_bytes : memory_limit_bytes(0);
  compile.seed = options.seed;
  compile.weights = options.weights;
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

Result<Comparison> BackendFinalists::compare(const Graph& first, const Graph& second) {
  TG_TRY(Prepared one, prepare_with_inputs(first, options_));
  TG_TRY(Prepared two, prepare_with_inputs(second, options_));
  return time_in_turns(*one.executable, *two.executable, timing_);
}

double BackendFinalists::bound() const {
  constexpr double kFiltering = 1e-3; // what minimal filtering loses in f32
  return std::max(kFiltering, difference_bound(options_.dtype, options_.allow_tf32));
}

/// Infinite where the outputs are not those expected.
Result<double> BackendFinalists::screen_one(const Graph& graph,
                                            llvm::ArrayRef<Tensor> expected) const {
  constexpr double kSeconds = 0.2;
  TG_TRY(Prepared prepared, prepare_with_inputs(graph, options_));
  TG_CHECK(prepared.executable->run_once());
  TG_TRY(std::vector<Tensor> outputs, prepared.executable->outputs());
  for (size_t i = 0; i < expected.size(); ++i)
    if (!(max_rel_diff(outputs[i], expected[i]) <= bound()))
      return std::numeric_limits<double>::infinity();
  TG_TRY(Timing timing, time_runs(*prepared.executable, {.min_runs = 5, .seconds = kSeconds}));
  return timing.median_us;
}

Result<std::vector<double>> BackendFinalists::screen(const Graph& source,
                                                     llvm::ArrayRef<const Graph*> graphs) {
  std::vector<Tensor> expected;
  {
    TG_TRY(Prepared prepared, prepare_with_inputs(source, options_));
    TG_CHECK(prepared.executable->run_once());
    TG_TRY(expected, prepared.executable->outputs());
  }
  std::vector<double> times;
  for (const Graph* graph : graphs) {
    Result<double> time = screen_one(*graph, expected);
    times.push_back(time ? *time : std::numeric_limits<double>::infinity());
  }
  return times;
}

} // namespace tg
