// The parts are the segments of a search's sweep, so equal layers give equal parts.
#include "compiler/trial/part_runs.h"

#include "compiler/api/backends/devices.h"
#include "compiler/api/files/weights.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/updated.h"
#include "compiler/search/portfolio/searcher.h"
#include "lang/core/support/stop.h"
#include "runtime/execute.h"
#include "runtime/random.h"

#include <llvm/ADT/DenseMap.h>

namespace tg {

namespace {

/// Returns the cuts that leave the fewest operators to run. The segment length that makes equal
/// layers equal segments depends on the number of operators per layer.
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

/// Runs the parts of a graph in order.
class PartLoader {
public:
  PartLoader(const Graph& graph, const PrepareOptions& options)
      : graph_(graph), options_(options), sweep_(cut_for_repeats(graph)), values_(graph.size()),
        uses_left_(graph.size()), loaded_(std::make_unique<LoadedGraph>(LoadedGraph{graph})) {
    std::vector<bool> needed = graph.reachable();
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (needed[i] && graph.node({i}).op == OpKind::Weight)
        weight_of_[graph.node({i}).attrs.index] = {i};
    for (const CutOut& place : sweep_.places)
      for (NodeId input : place.inputs) ++uses_left_[input.index];
    for (const GraphOutput& output : graph.outputs()) ++uses_left_[output.node.index];
  }

  Result<std::unique_ptr<LoadedGraph>> run() {
    loaded_->in_parts = true;
    loaded_->all_parts = sweep_.places.size();
    TG_CHECK(make_inputs());
    for (size_t i = 0; i < sweep_.places.size(); ++i)
      TG_CHECK(run_place(sweep_.places[i], sweep_.task_of[i]));
    TG_CHECK(compute_known_outputs());
    for (const GraphOutput& output : graph_.outputs()) loaded_->outputs.push_back(use(output.node));
    return std::move(loaded_);
  }

private:
  /// Returns the value of a node to one reader. The last reader takes it over.
  Tensor use(NodeId node) {
    std::optional<Tensor>& value = values_[node.index];
    assert(value && "parts run in the order of the graph");
    return --uses_left_[node.index] == 0 ? *std::exchange(value, std::nullopt) : *value;
  }

  Result<void> make_inputs() {
    llvm::StringMap<NodeId> node_of = updated_weights(graph_);
    for (NodeId input : graph_.inputs()) node_of[graph_.attr(input, 0).text] = input;
    Plan plan = plan_from_graph(graph_);
    TG_TRY(std::vector<Tensor> inputs, random_inputs(plan, options_.seed));
    for (size_t i = 0; i < inputs.size(); ++i)
      values_[node_of.lookup(plan.values[plan.inputs[i]].name).index] = std::move(inputs[i]);
    return {};
  }

  /// Returns the weights of a part, which are numbered, with their values in the whole graph.
  WeightSource weights_of(const CutOut& place) const {
    std::vector<PlanValue> values;
    for (AttrsId attrs : place.weights)
      values.push_back(plan_value(graph_, weight_of_.lookup(attrs.index)));
    CompileOptions compile;
    compile.threads = thread_count(options_.threads);
    compile.seed = options_.seed;
    compile.stop = options_.interrupt;
    compile.weights = options_.weights;
    return [values = std::move(values), compile](const PlanValue& value) -> Result<Tensor> {
      size_t number = 0; // after "w"
      [[maybe_unused]] bool bad = llvm::StringRef(value.name).drop_front().getAsInteger(10, number);
      assert(!bad && number < values.size() && "weights of a cut-out are named by number");
      return contents_of(values[number], compile);
    };
  }

  Result<void> run_place(const CutOut& place, uint32_t task) {
    bool is_first = task == loaded_->parts.size(); // equal parts have the same task
    PrepareOptions options = options_;
    options.weights = weights_of(place);
    if (!is_first) options.shared = nullptr;
    TG_TRY(Prepared prepared, prepare(place.graph, options));
    LoadedGraph::Part part{std::move(prepared)};
    std::vector<Tensor> inputs;
    for (NodeId input : place.inputs) inputs.push_back(use(input));
    TG_CHECK(part.prepared.executable->bind_inputs(inputs));
    TG_CHECK(run_first(part, loaded_->on_denormals));
    TG_TRY(std::vector<Tensor> outputs, part.prepared.executable->outputs());
    for (size_t i = 0; i < outputs.size(); ++i)
      values_[place.outputs[i].index] = std::move(outputs[i]);
    if (is_first)
      loaded_->parts.push_back(std::move(part));
    else
      ++loaded_->parts[task].count;
    return {};
  }

  /// Computes the outputs that depend only on weights, which belong to no part.
  Result<void> compute_known_outputs() {
    std::vector<GraphOutput> known;
    for (const GraphOutput& output : graph_.outputs())
      if (!values_[output.node.index]) known.push_back(output);
    if (known.empty()) return {};
    PrepareOptions options = options_;
    options.shared = nullptr;
    TG_TRY(Prepared prepared, prepare(with_outputs(graph_, known), options));
    TG_CHECK(prepared.executable->run_once());
    TG_TRY(std::vector<Tensor> outputs, prepared.executable->outputs());
    for (size_t i = 0; i < known.size(); ++i) values_[known[i].node.index] = std::move(outputs[i]);
    return {};
  }

  const Graph& graph_;
  const PrepareOptions& options_;
  Sweep sweep_;
  llvm::DenseMap<uint32_t, NodeId> weight_of_; // by attributes
  std::vector<std::optional<Tensor>> values_;  // by node
  std::vector<size_t> uses_left_;              // by node: readers among parts and outputs
  std::unique_ptr<LoadedGraph> loaded_;
};

} // namespace

Result<void> run_first(LoadedGraph::Part& part, std::vector<StepInfo>& on_denormals) {
  Executable& executable = *part.prepared.executable;
  Stopwatch watch;
  TG_TRY(std::vector<size_t> denormals, executable.run_watching_denormals());
  part.run_s = watch.seconds();
  if (denormals.empty()) return {};
  std::vector<StepInfo> steps = executable.steps();
  for (size_t i : denormals) on_denormals.push_back(std::move(steps[i]));
  return {};
}

Result<std::unique_ptr<LoadedGraph>> load_parts(const Graph& graph, const PrepareOptions& options) {
  return PartLoader(graph, options).run();
}

} // namespace tg
