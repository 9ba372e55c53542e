// Plan, compile, bind: the order in which a graph meets a backend.
#include "compiler/driver/prepare.h"

#include "compiler/driver/devices.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/graph_equal.h"
#include "compiler/ir/retype.h"
#include "runtime/bounds.h"
#include "runtime/random.h"
#include "runtime/ref/backend.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

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
  compile.stop = options.interrupt;
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

namespace {

struct Ran {
  Prepared prepared;
  std::vector<Tensor> outputs;
};

/// Once, on random inputs.
Result<Ran> run_whole(const Graph& graph, const PrepareOptions& options) {
  TG_TRY(Prepared prepared, prepare_with_inputs(graph, options));
  TG_CHECK(prepared.executable->run_once());
  TG_TRY(std::vector<Tensor> outputs, prepared.executable->outputs());
  return Ran{std::move(prepared), std::move(outputs)};
}

Result<Screened> time_briefly(Ran& ran) {
  constexpr double kSeconds = 0.2;
  TG_TRY(Timing timing, time_runs(*ran.prepared.executable, {.min_runs = 5, .seconds = kSeconds}));
  return Screened{timing.median_us};
}

std::string does_not_run(const Diagnostic& why) { return "does not run: " + why.message; }

/// What is wrong with outputs, of those names; nothing where they are as expected, or where the
/// source's own are not finite: then they say nothing.
std::string output_fault(const Graph& graph, llvm::ArrayRef<Tensor> outputs,
                         llvm::ArrayRef<Tensor> expected, double bound) {
  for (size_t i = 0; i < expected.size(); ++i) {
    double difference = max_rel_diff(outputs[i], expected[i]);
    if (difference <= bound || !summarise(expected[i]).finite) continue;
    const std::string& name = graph.outputs()[i].name;
    if (std::isfinite(difference))
      return llvm::formatv("gives another output `{0}` (the largest difference is {1:f4} of the "
                           "largest element, and may be {2:f4})",
                           name, difference, bound);
    return llvm::formatv("gives an output `{0}` that cannot be compared (it is not finite, or the "
                         "source's is all zero)",
                         name);
  }
  return "";
}

/// Names those outputs of the source that compare with nothing; "" where there are none.
std::string not_finite_note(const Graph& source, llvm::ArrayRef<Tensor> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!summarise(outputs[i]).finite)
      return llvm::formatv("output `{0}` of the source is not finite on random inputs: graphs are "
                           "judged by their time alone there",
                           source.outputs()[i].name);
  return "";
}

} // namespace

Result<WholeRuns> BackendFinalists::compare(const Graph& first, const Graph& second) {
  if (options_.stop.asked()) return error(Code::limit_no_answer, "the time was over");
  TG_TRY(Ran one, run_whole(first, options_));
  Result<Ran> two = run_whole(second, options_);
  if (!two) return WholeRuns{{}, does_not_run(two.error())};
  std::string fault = output_fault(second, two->outputs, one.outputs, bound());
  if (!fault.empty()) return WholeRuns{{}, std::move(fault)};
  Result<Comparison> times =
      time_in_turns(*one.prepared.executable, *two->prepared.executable, timing_);
  if (!times) return WholeRuns{{}, does_not_run(times.error())}; // the first did, above
  return WholeRuns{*times, {}, not_finite_note(first, one.outputs)};
}

double BackendFinalists::bound() const {
  constexpr double kFiltering = 1e-3; // what minimal filtering loses in f32
  return std::max(kFiltering, difference_bound(options_.dtype, options_.allow_tf32));
}

Result<Screened> BackendFinalists::screen_one(const Graph& graph,
                                              llvm::ArrayRef<Tensor> expected) const {
  TG_TRY(Ran ran, run_whole(graph, options_));
  std::string fault = output_fault(graph, ran.outputs, expected, bound());
  if (!fault.empty()) return Screened{0, std::move(fault)};
  return time_briefly(ran);
}

Result<std::vector<Screened>> BackendFinalists::screen(const Graph& source,
                                                       llvm::ArrayRef<const Graph*> graphs) {
  auto is_source = [&](const Graph* graph) { return difference(source, *graph).empty(); };
  std::vector<Tensor> expected;
  Screened own; // of the source, where it is one of them
  if (options_.stop.asked()) return std::vector<Screened>();
  {
    TG_TRY(Ran ran, run_whole(source, options_));
    if (llvm::any_of(graphs, is_source)) {
      TG_TRY(own, time_briefly(ran));
    }
    expected = std::move(ran.outputs);
  }
  std::vector<Screened> screened;
  for (const Graph* graph : graphs) {
    if (options_.stop.asked()) {
      screened.push_back({0, "was not run: the time was over"});
      continue;
    }
    Result<Screened> one = is_source(graph) ? Result<Screened>(own) : screen_one(*graph, expected);
    screened.push_back(one ? std::move(*one) : Screened{0, does_not_run(one.error())});
  }
  return screened;
}

} // namespace tg
