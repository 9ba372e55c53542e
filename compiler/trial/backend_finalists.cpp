#include "compiler/trial/backend_finalists.h"

#include "compiler/api/backends/devices.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/search/portfolio/segments.h"
#include "compiler/trial/remembered_finalists.h"
#include "lang/core/support/stop.h"
#include "runtime/execute.h"
#include "runtime/tensor.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

Result<ScreeningResult> time_briefly(LoadedGraph& loaded) {
  constexpr double kSeconds = 0.2;
  TG_TRY(Timing timing,
         time_repeated({.min_runs = 5, .seconds = kSeconds}, [&] { return loaded.timed_run(); }));
  return ScreeningResult{timing.median_us};
}

/// Seconds. Compared with such a run, interrupts and caches left by other programs are negligible.
constexpr double kSlowRun = 0.2;

constexpr char kNotRun[] = "was not run: the time limit was reached";

/// Returns the error for a run that was stopped, which is not a fault of the graph.
Diagnostic over(const StopToken& stop) {
  return error(Code::limit_no_answer, stop.cancelled() ? "it was interrupted"
                                      : stop.full()    ? "the memory limit was reached"
                                                       : "the time limit was reached");
}

std::string run_failure_text(const Diagnostic& why) { return "does not run: " + why.message; }

/// Returns the differences of outputs from the expected ones, or "" if there are none, or if the
/// source's own outputs are not finite and so cannot be compared.
std::string output_fault(const Graph& graph, llvm::ArrayRef<Tensor> outputs,
                         llvm::ArrayRef<Tensor> expected, double bound) {
  for (size_t i = 0; i < expected.size(); ++i) {
    double difference = max_rel_diff(outputs[i], expected[i]);
    if (difference <= bound || !summarise(expected[i]).finite) continue;
    const std::string& name = graph.outputs()[i].name;
    if (std::isfinite(difference))
      return llvm::formatv(
          "gives a different output `{0}` (the largest difference is {1:f4} of the "
          "largest element, the tolerance is {2:f4})",
          name, difference, bound);
    return llvm::formatv("gives an output `{0}` that cannot be compared (it is not finite, or the "
                         "source's is all zero)",
                         name);
  }
  return "";
}

/// Names the outputs of the source that are not finite and cannot be compared; "" if there are
/// none.
std::string not_finite_note(const Graph& source, llvm::ArrayRef<Tensor> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!summarise(outputs[i]).finite)
      return llvm::formatv(
          "output `{0}` of the source is not finite on random inputs: there, graphs are "
          "compared only by time",
          source.outputs()[i].name);
  return "";
}

/// Returns a note if runs compute on denormal numbers, because prices are measured on normal ones.
std::string denormals_note(const LoadedGraph& source) {
  if (source.on_denormals.empty()) return "";
  const StepInfo& first = source.on_denormals.front();
  return llvm::formatv("{4} in runs of the source on random inputs, in {0} "
                       "operator{1}, first in `{2}` {3}: runs may be slower than the prices",
                       source.on_denormals.size(), source.on_denormals.size() == 1 ? "" : "s",
                       first.name, first.result, kDenormalsTurnUp);
}

/// Explains the times of graphs that were loaded in parts; "" for others.
std::string parts_note(const LoadedGraph& first, const LoadedGraph& second) {
  if (!first.in_parts) return "";
  return llvm::formatv("the graphs are too large to be loaded together: times are sums over parts, "
                       "and equal parts are timed once ({0} of {1} in the source, {2} of {3} "
                       "in the new graph); outputs are compared for the whole graphs",
                       first.parts.size(), first.all_parts, second.parts.size(), second.all_parts);
}

/// Returns the trust in minimum times over rounds, from the load by other programs in each round.
TimeTrust trust_of(llvm::ArrayRef<Disturbance> rounds) {
  constexpr int kRounds = 2; // a minimum of a single round may be chance
  auto slight = llvm::count(rounds, Disturbance::Slight);
  auto none = llvm::count(rounds, Disturbance::None);
  return none >= kRounds            ? TimeTrust::Steady
         : none + slight >= kRounds ? TimeTrust::Unconfirmed
                                    : TimeTrust::Passing;
}

std::string join(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() ? first + second : first + "; " + second;
}

} // namespace

Result<void> add_round(PlacedNodes& placed, Prepared& prepared, const TimingOptions& timing) {
  TG_TRY(std::vector<NodeTime> times, time_nodes(prepared, timing));
  bool first = placed.nodes.empty();
  for (size_t i = 0; i < times.size(); ++i) {
    if (first)
      placed.nodes.push_back({times[i].node, times[i].microseconds});
    else
      placed.nodes[i].microseconds = std::min(placed.nodes[i].microseconds, times[i].microseconds);
  }
  return {};
}

MachineWatch* BackendFinalists::watch_for(const Prepared& prepared) {
  if (prepared.backend->step_timer()) return nullptr;
  if (watch_) {
    (void)watch_->disturbance(); // discard the load before this point
    return watch_.get();
  }
  database_ = open_whole_runs(options().cost_db, *prepared.backend, prepared.threads);
  watch_ = watch_machine(*prepared.backend, prepared.threads, database_->yardstick());
  return watch_.get();
}

Result<WholeRuns> BackendFinalists::compare_longer(const Graph& first, const Graph& second,
                                                   size_t times) {
  TimingOptions timing = timing_;
  timing.min_runs *= times;
  timing.max_runs = std::max(timing.max_runs, timing.min_runs);
  return compare(first, second, std::move(timing));
}

Result<WholeRuns> BackendFinalists::compare(const Graph& first, const Graph& second,
                                            TimingOptions timing) {
  const StopToken& stop = options().stop;
  if (stop.asked()) return over(stop);
  bool in_parts = is_run_in_parts(first) || is_run_in_parts(second);
  Result<LoadedGraph*> source = loaded_.get(first, nullptr, in_parts);
  if (!source) return stop.asked() ? over(stop) : std::move(source.error());
  LoadedGraph* one = *source;
  Result<LoadedGraph*> other = loaded_.get(second, one, in_parts);
  if (!other && stop.asked()) return over(stop);
  if (!other) return WholeRuns{{}, run_failure_text(other.error())};
  LoadedGraph* two = *other;
  timing.warmup = one->run_s() + two->run_s() > 2 * kSlowRun ? 0 : 1; // each graph has run
  auto [seconds, patience_s] =
      time_.comparison({timing.seconds, timing.patience_seconds}, guessed_);
  timing.seconds = seconds, timing.patience_seconds = patience_s;
  std::string fault = output_fault(second, two->outputs, one->outputs, bound());
  if (!fault.empty()) return WholeRuns{{}, std::move(fault)};
  MachineWatch* watch = watch_for(one->parts.front().prepared);
  Result<Comparison> times =
      time_interleaved([&] { return one->timed_run(); }, [&] { return two->timed_run(); }, timing);
  if (!times && stop.asked()) return over(stop);
  if (!times) return WholeRuns{{}, run_failure_text(times.error())}; // the first graph ran, above
  std::string note = join(parts_note(*one, *two),
                          join(not_finite_note(first, one->outputs), denormals_note(*one)));
  WholeRuns runs{*times, {}, note};
  runs.in_parts = in_parts;
  if (!watch) return runs;
  Disturbance all_signs = watch->disturbance();
  runs.disturbance = watch->taken_by_others();
  runs.slow_machine = all_signs != runs.disturbance; // by the yardstick
  database_->store_yardstick(watch->usual_us());
  return runs;
}

bool BackendFinalists::is_run_in_parts(const Graph& graph) const {
  constexpr int64_t kShare = 8; // of the memory limit
  int64_t limit = options().memory_limit_bytes;
  if (limit <= 0) limit = memory_limit_bytes(0);
  return options().backend == "cpu" && !options().externs &&
         resident_bytes(plan_from_graph(graph)).total() > limit / kShare &&
         !run_operators(graph).empty();
}

double BackendFinalists::bound() const {
  constexpr double kFiltering = 1e-3; // loss of accuracy in f32 by minimal filtering
  return std::max(kFiltering, difference_bound(options().dtype, options().allow_tf32));
}

Result<ScreeningResult> BackendFinalists::screen_one(const Graph& graph,
                                                     const LoadedGraph& source) {
  TG_TRY(LoadedGraph * loaded, loaded_.get(graph, &source, source.in_parts));
  std::string fault = output_fault(graph, loaded->outputs, source.outputs, bound());
  if (!fault.empty()) return ScreeningResult{0, std::move(fault)};
  return time_briefly(*loaded);
}

Result<std::vector<ScreeningResult>> BackendFinalists::screen(const Graph& source,
                                                              llvm::ArrayRef<const Graph*> graphs) {
  if (stopped()) return std::vector<ScreeningResult>();
  bool in_parts = is_run_in_parts(source) ||
                  llvm::any_of(graphs, [&](const Graph* graph) { return is_run_in_parts(*graph); });
  TG_TRY(const LoadedGraph* own, loaded_.get(source, nullptr, in_parts));
  std::vector<ScreeningResult> screened;
  for (const Graph* graph : graphs) {
    if (stopped()) {
      screened.push_back({0, kNotRun});
      continue;
    }
    Result<ScreeningResult> one = screen_one(*graph, *own);
    screened.push_back(one ? std::move(*one)
                       : options().stop.asked()
                           ? ScreeningResult{0, kNotRun}
                           : ScreeningResult{0, run_failure_text(one.error())});
  }
  return screened;
}

bool BackendFinalists::on_usual_numbers(LoadedGraph& loaded) const {
  if (options().externs) return false;
  return loaded.on_denormals.empty() && loaded.whole().executable->repeated_runs() == 0 &&
         llvm::all_of(loaded.outputs, [](const Tensor& out) { return summarise(out).finite; });
}

bool BackendFinalists::times_in_place(const Graph& graph) const {
  const PrepareOptions& o = options();
  if (o.dtype != DType::F32 || is_run_in_parts(graph)) return false;
  constexpr int64_t kShare = 4; // of the memory limit
  int64_t limit = o.memory_limit_bytes > 0 ? o.memory_limit_bytes : memory_limit_bytes(0);
  return resident_bytes(plan_from_graph(graph)).total() <= limit / kShare;
}

Result<std::vector<PlacedNodes>> BackendFinalists::time_in_place(const Graph& source,
                                                                 const Graph* other) {
  std::vector<PlacedNodes> out;
  if (!times_in_place(source) || (other && !times_in_place(*other))) return out;
  if (stopped()) return over(options().stop);
  TG_TRY(LoadedGraph * one, loaded_.get(source));
  if (one->whole().backend->step_timer()) return out;
  std::vector<LoadedGraph*> graphs{one};
  if (other) {
    TG_TRY(LoadedGraph * two, loaded_.get(*other, one));
    graphs.push_back(two);
  }
  MachineWatch* watch = watch_for(one->whole());
  constexpr size_t kMostRounds = 6, kLeastRounds = 2;
  constexpr double kSeconds = 0.3; // in total, except for the first two rounds of a slow network
  out.resize(graphs.size());
  std::vector<std::vector<Disturbance>> disturbed(graphs.size()); // in each round
  // No warm-up run, because a median of three discards the first. Slow networks run once a round.
  TimingOptions round_timing{.warmup = 0, .min_runs = 1, .stop = time_.end()};
  round_timing.seconds = kSeconds / static_cast<double>(kMostRounds * graphs.size());
  Stopwatch clock;
  for (size_t round = 0; round < kMostRounds; ++round) {
    if (round == 1 && clock.seconds() < kSlowRun * static_cast<double>(graphs.size()))
      round_timing.min_runs = 3;
    if (round > 0 && stopped()) break;
    if (round >= kLeastRounds && clock.seconds() > kSeconds) break;
    for (size_t i = 0; i < graphs.size(); ++i) {
      TG_CHECK(add_round(out[i], graphs[i]->whole(), round_timing));
      disturbed[i].push_back(watch->disturbance());
    }
  }
  database_->store_yardstick(watch->usual_us());
  for (size_t i = 0; i < graphs.size(); ++i)
    if (on_usual_numbers(*graphs[i])) out[i].trust = trust_of(disturbed[i]);
  return out;
}

} // namespace tg
