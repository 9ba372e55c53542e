// The parts are the segments that a search takes a network apart into: equal layers give equal
// ones.
#include "compiler/driver/runs/part_runs.h"

#include "compiler/search/portfolio/searcher.h"
#include "lang/core/support/stop.h"

namespace tg {

namespace {

/// Weights of a part, which are numbered, from a source that knows those of the whole.
WeightSource weights_of(const Graph& whole, const CutOut& part, const WeightSource& source) {
  if (!source) return {};
  std::vector<std::string> paths;
  for (AttrsId attrs : part.weights) paths.push_back(whole.symbols().attr(attrs, 0).text);
  return [source, paths = std::move(paths)](const PlanValue& value) -> Result<Tensor> {
    PlanValue named = value;
    unsigned number = 0; // behind "w"
    if (!llvm::StringRef(value.name).drop_front().getAsInteger(10, number) && number < paths.size())
      named.name = paths[number];
    return source(named);
  };
}

/// The cuts that leave the fewest operators to run: which length lets equal layers be equal
/// segments depends on how many operators a layer has.
Sweep cut_for_repeats(const Graph& graph) {
  Sweep best;
  size_t fewest = SIZE_MAX;
  for (uint32_t most : {16, 24, 32, 40, 48, 64, 96}) {
    Sweep sweep = plan_sweep(graph, {.least = most / 4, .most = most, .first_most = most}, 0,
                             /*repeats=*/true);
    size_t operators = 0;
    for (const SearchTask& task : sweep.tasks) operators += task.graph->op_count();
    if (operators < fewest) fewest = operators, best = std::move(sweep);
  }
  return best;
}

Result<double> timed_run(PartedGraph& graph) {
  double sum = 0;
  for (PartedGraph::Part& part : graph.parts) {
    Stopwatch watch;
    TG_CHECK(part.prepared.executable->run_once());
    sum += static_cast<double>(part.count) * watch.seconds() * 1e6;
  }
  return sum;
}

} // namespace

Result<PartedGraph> load_parts(const Graph& graph, const PrepareOptions& options) {
  Sweep sweep = cut_for_repeats(graph);
  PartedGraph out;
  out.of = sweep.places.size();
  for (size_t i = 0; i < sweep.places.size(); ++i) {
    if (sweep.task_of[i] < out.parts.size()) {
      ++out.parts[sweep.task_of[i]].count;
      continue;
    }
    PrepareOptions of_part = options;
    of_part.weights = weights_of(graph, sweep.places[i], options.weights);
    TG_TRY(Prepared prepared, prepare_with_inputs(sweep.places[i].graph, of_part));
    TG_CHECK(prepared.executable->run_once());
    out.parts.push_back({std::move(prepared), 1});
  }
  return out;
}

Result<Comparison> time_in_turns(PartedGraph& first, PartedGraph& second,
                                 const TimingOptions& options) {
  std::vector<double> samples[2];
  PartedGraph* graphs[2] = {&first, &second};
  Stopwatch watch;
  auto undecided = [&] {
    Comparison c = compare_times(samples[0], samples[1], kRunsPerPair);
    return !c.second_faster() && !c.second_slower();
  };
  size_t looked_at = options.min_runs; // as in runs of wholes, where pairs have doubled
  auto goes_on = [&] {
    size_t done = samples[0].size();
    if (done > 0 && options.stop.asked()) return false;
    if (done < options.min_runs) return true;
    double seconds = watch.seconds();
    if (seconds < options.seconds) return done < options.max_runs;
    if (done < looked_at) return seconds < options.patience_seconds;
    looked_at = 2 * done;
    return seconds < options.patience_seconds && undecided();
  };
  while (goes_on()) {
    size_t leader = samples[0].size() % 2;
    for (size_t which : {leader, 1 - leader}) {
      TG_TRY(double us, timed_run(*graphs[which]));
      samples[which].push_back(us);
    }
  }
  Comparison times = compare_times(samples[0], samples[1], kRunsPerPair);
  times.cut = samples[0].size() < options.min_runs;
  return times;
}

} // namespace tg
