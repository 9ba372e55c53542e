#include "compiler/trial/run_model.h"

#include "compiler/api/backends/backends.h"
#include "compiler/api/backends/devices.h"
#include "lang/core/support/stop.h"
#include "runtime/random.h"
#include "runtime/tensor.h"

#include <cmath>

namespace tg {

Result<LoadedProgram> load_program(const Graph& graph, const PrepareOptions& options) {
  double of_weights = 0;
  PrepareOptions timed = options;
  timed.weights = [&](const PlanValue& value) {
    Stopwatch watch;
    Result<Tensor> made = options.weights
                              ? options.weights(value)
                              : random_weight(value.name, value.type, value.init, options.seed,
                                              thread_count(options.threads));
    of_weights += watch.seconds();
    return made;
  };
  Stopwatch watch;
  TG_TRY(Prepared prepared, prepare(graph, timed));
  double seconds = watch.seconds() - of_weights;
  return LoadedProgram{graph, options, std::move(prepared), seconds};
}

// --- times --------------------------------------------------------------------------------------

namespace {

TimingOptions timing_options(const LoadedProgram& program, const tangram::TimeOptions& o) {
  TimingOptions timing;
  timing.runs = o.runs;
  timing.warmup = o.warmup;
  timing.seconds = o.seconds;
  // The reference backend is run for its results; once is enough by default.
  if (o.runs == 0 && program.options.backend == "ref") timing.runs = 1, timing.warmup = 0;
  return timing;
}

/// Times several instances, the first and copies with their own weights and memory, on the same
/// inputs.
Result<Timing> time_instances(LoadedProgram& program, llvm::ArrayRef<Tensor> inputs, int count,
                              const TimingOptions& timing) {
  std::vector<Prepared> others;
  std::vector<Executable*> instances = {program.prepared.executable.get()};
  for (int i = 1; i < count; ++i) {
    TG_TRY(Prepared other, prepare(program.graph, program.options));
    TG_CHECK(other.executable->bind_inputs(inputs));
    others.push_back(std::move(other));
    instances.push_back(others.back().executable.get());
  }
  return time_concurrently(instances, timing);
}

/// Times each step, in separate runs.
Result<void> time_steps(Executable& executable, const TimingOptions& timing, RunTimes& times) {
  executable.profile(true);
  Result<Timing> runs = time_runs(executable, timing);
  times.steps = executable.steps();
  times.device_us = executable.device_us();
  executable.profile(false);
  if (!runs) return std::move(runs.error());
  for (const StepInfo& step : times.steps) times.steps_us += step.measured_us;
  return {};
}

} // namespace

RunReport report_of_runs(const LoadedProgram& program, RunTimes times,
                         std::vector<Tensor> outputs) {
  const Prepared& prepared = program.prepared;
  RunReport report;
  report.model = program.graph.name();
  report.backend = prepared.backend->name();
  report.device = prepared.backend->description();
  report.threads = prepared.threads;
  report.build_s = program.build_s;
  report.times = std::move(times);
  report.memory = prepared.executable->memory();
  report.recomputed = prepared.recomputed;
  report.notes = prepared.backend->notes();
  for (size_t i = 0; i < outputs.size(); ++i) {
    TensorSummary summary = summarise(outputs[i]);
    report.outputs.push_back({prepared.plan.outputs[i].name, std::move(outputs[i]), summary});
  }
  return report;
}

Result<RunTimes> time_program(LoadedProgram& program, llvm::ArrayRef<Tensor> inputs,
                              const tangram::TimeOptions& options) {
  Executable& executable = *program.prepared.executable;
  TimingOptions timing = timing_options(program, options);
  RunTimes times;
  if (options.streams > 1 && !find_backend(program.options.backend)->streams)
    return error(Code::usage, "the backend `{0}` does not support `streams`",
                 program.options.backend);
  if (options.streams > 1) {
    times.streams = static_cast<size_t>(options.streams);
    TG_TRY(times.timing, time_instances(program, inputs, options.streams, timing));
  } else {
    TG_TRY(times.timing, time_runs(executable, timing));
  }
  if (options.steps) TG_CHECK(time_steps(executable, timing, times));
  return times;
}

// --- a whole run --------------------------------------------------------------------------------

namespace {

/// Returns the tolerance of each output against the reference, by the narrowest float with which it
/// is computed, in the model or in the run.
std::vector<double> output_bounds(const Graph& graph, const PrepareOptions& options) {
  bool tf32 = options.allow_tf32 && find_backend(options.backend)->tf32;
  double of_run = difference_bound(options.dtype, tf32);
  std::vector<double> bounds(graph.size(), of_run); // operands come first
  for (uint32_t i = 0; i < graph.size(); ++i) {
    bounds[i] = std::max(of_run, difference_bound(graph.type({i}).dtype, tf32));
    for (NodeId operand : graph.operands({i}))
      bounds[i] = std::max(bounds[i], bounds[operand.index]);
  }
  std::vector<double> result;
  for (const GraphOutput& output : graph.outputs()) result.push_back(bounds[output.node.index]);
  return result;
}

/// Sets max_rel_diff and its bound, against the graph in f32 on the backend.
Result<void> compare(const Graph& graph, const PrepareOptions& options, llvm::StringRef backend,
                     llvm::ArrayRef<Tensor> inputs, RunReport& report) {
  PrepareOptions in_f32 = options;
  in_f32.dtype = DType::F32;
  in_f32.backend = backend.str();
  TG_TRY(Prepared reference, prepare(graph, in_f32));
  TG_TRY(std::vector<Tensor> expected, reference.executable->run(inputs));
  std::vector<double> bounds = output_bounds(graph, options);
  for (size_t i = 0; i < expected.size(); ++i) {
    report.outputs[i].max_rel_diff = max_rel_diff(report.outputs[i].tensor, expected[i]);
    report.outputs[i].bound = bounds[i];
  }
  return {};
}

/// Returns true if all steps use the reference's kernels, because the backend has none for them.
bool runs_by_reference(const Executable& executable) {
  return llvm::all_of(executable.steps(), [](const StepInfo& step) {
    return step.implementation == "ref" || step.implementation == "view";
  });
}

/// Loads, runs and times a program on these inputs.
Result<RunReport> run_on_backend(LoadedProgram& program, llvm::ArrayRef<Tensor> inputs,
                                 const tangram::TimeOptions& timing) {
  Executable& executable = *program.prepared.executable;
  TG_CHECK(executable.bind_inputs(inputs));
  TG_TRY(RunTimes times, time_program(program, inputs, timing));
  TG_TRY(std::vector<Tensor> outputs, executable.outputs());
  return report_of_runs(program, std::move(times), std::move(outputs));
}

/// Times the graph of a narrow-float run in f32 as well.
Result<void> time_in_f32(const Graph& graph, const PrepareOptions& options,
                         const tangram::TimeOptions& timing, llvm::ArrayRef<Tensor> inputs,
                         RunReport& report) {
  bool timed = options.dtype != DType::F32 && options.backend != "ref" && report.times.streams == 1;
  if (!timed) return {};
  PrepareOptions in_f32 = options;
  in_f32.dtype = DType::F32;
  TG_TRY(LoadedProgram program, load_program(graph, in_f32));
  Executable& executable = *program.prepared.executable;
  TG_CHECK(executable.bind_inputs(inputs));
  TG_TRY(Timing wide, time_runs(executable, timing_options(program, timing)));
  report.beside_f32 = {options.dtype, report.times.timing.median_us, wide.median_us};
  if (report.beside_f32->slower()) report.notes.push_back(text_of(*report.beside_f32));
  return {};
}

} // namespace

Result<RunReport> run_model(const Graph& source, const Graph& graph, const PrepareOptions& options,
                            const RunModelOptions& run,
                            llvm::function_ref<Result<std::vector<Tensor>>(const Plan&)> inputs) {
  std::vector<Tensor> bound;
  RunReport report;
  { // the program frees its memory before the reference is loaded
    TG_TRY(LoadedProgram program, load_program(graph, options));
    TG_TRY(bound, inputs(program.prepared.plan));
    TG_TRY(report, run_on_backend(program, bound, run.timing));
    report.compared_with_itself = run.check && options.dtype == DType::F32 &&
                                  runs_by_reference(*program.prepared.executable) &&
                                  difference(source, graph).empty();
  }
  if (run.check) {
    TG_CHECK(compare(source, options, "ref", bound, report));
  } else if (options.dtype != DType::F32) {
    TG_CHECK(compare(graph, options, options.backend, bound, report));
  }
  TG_CHECK(time_in_f32(graph, options, run.timing, bound, report));
  return report;
}

void judge_outputs(const RunReport& report, bool checked, DiagnosticSink& sink) {
  for (const RunOutput& output : report.outputs) {
    if (!output.summary.finite) {
      Diagnostic d =
          error(Code::not_finite, "the output `{0}` contains NaN or infinity", output.name);
      if (!checked) d.severity = Severity::Warning;
      sink.report(std::move(d));
    } else if (output.max_rel_diff && !(*output.max_rel_diff <= output.bound)) {
      sink.report(error(
          Code::outputs_differ, "the output `{0}` differs from the reference by {1}, more than {2}",
          output.name, difference_text(*output.max_rel_diff), difference_text(output.bound)));
    }
  }
}

std::string difference_text(double difference) {
  if (difference == 0) return "0";
  if (!std::isfinite(difference)) return "not finite";
  return llvm::formatv("{0:e1}", difference);
}

} // namespace tg
