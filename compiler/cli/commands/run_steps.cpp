#include "compiler/cli/commands/run_steps.h"

#include "compiler/api/files/weights.h"
#include "compiler/api/public_types.h"
#include "compiler/cli/commands/run_files.h"
#include "runtime/random.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>

namespace tg::cli {

namespace {

/// Returns the values of outputs with one element, by name.
StepValues values_of(const Plan& plan, size_t step, llvm::ArrayRef<Tensor> outputs) {
  StepValues found{step, {}};
  for (size_t i = 0; i < outputs.size(); ++i) {
    bool state = llvm::any_of(plan.inputs, [&](PlanValueId input) {
      return plan.values[input].name == plan.outputs[i].name;
    });
    if (!state && outputs[i].type().elements() == 1)
      found.values.emplace_back(plan.outputs[i].name, first_element(outputs[i]));
  }
  return found;
}

void print_line(llvm::raw_ostream& out, const StepValues& found, size_t steps) {
  size_t width = std::to_string(steps).size();
  std::string number = std::to_string(found.step);
  out << "  step " << std::string(width - number.size(), ' ') << number;
  for (const auto& [name, value] : found.values)
    if (value.is(Value::Kind::Float))
      out << "  " << name << " " << llvm::formatv("{0:f6}", value.real);
    else
      out << "  " << name << " " << value.number;
  out << "\n";
  out.flush();
}

/// Saves all weights of the source; weights that steps changed have their last values.
Result<void> save_trained(const Graph& source, PrepareOptions options, const RunReport& report,
                          llvm::StringRef path) {
  llvm::StringMap<const Tensor*> last;
  for (const RunOutput& output : report.outputs) last[output.name] = &output.tensor;
  options.weights = [&, given = options.weights](const PlanValue& value) -> Result<Tensor> {
    if (const Tensor* tensor =
            value.kind == PlanValue::Kind::Input ? last.lookup(value.name) : nullptr)
      return *tensor;
    return given ? given(value) : random_weight(value.name, value.type, value.init, options.seed);
  };
  return save_weights(source, options, path);
}

} // namespace

Result<StepsRun> run_steps_with_options(Session& session, const Graph& source, const Graph& graph,
                                        PrepareOptions options) {
  const Options& o = session.options;
  options.dtype = to_internal(o.dtype);
  options.interrupt = interrupts();
  TG_TRY(LoadedProgram program, load_program(graph, options));
  const Plan& plan = program.prepared.plan;
  TG_TRY(std::vector<Tensor> inputs, read_inputs(o, plan, options));
  TG_TRY(std::vector<NamedTensor> examples, read_examples(o));
  std::optional<Batches> batches;
  if (!examples.empty()) {
    TG_TRY(batches, Batches::make(plan, std::move(examples), o.seed));
  }
  if (auto carried = carried_inputs(plan); !carried) return std::move(carried.error());
  if (!o.quiet && !o.json)
    session.out << source.name() << " on " << program.prepared.backend->name() << ", "
                << counted(program.prepared.threads, "thread") << "\n\n";
  StepsRun run;
  StepsOptions steps;
  steps.steps = static_cast<size_t>(o.steps);
  steps.batches = batches ? &*batches : nullptr;
  steps.progress = [&](size_t step, llvm::ArrayRef<Tensor> outputs) {
    run.history.push_back(values_of(plan, step, outputs));
    if (!o.quiet && !o.json) print_line(session.out, run.history.back(), steps.steps);
  };
  TG_TRY(run.report, run_steps(program, std::move(inputs), steps));
  if (!o.output.empty()) TG_CHECK(write_outputs(o, run.report));
  if (!o.weights_out.empty()) TG_CHECK(save_trained(source, options, run.report, o.weights_out));
  return run;
}

} // namespace tg::cli
