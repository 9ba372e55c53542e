// `tg run`: a model on a backend, with random or given inputs: what comes out, how long it takes,
// and on request whether the reference backend agrees.
#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/table.h"
#include "compiler/driver/devices.h"
#include "compiler/driver/prepare.h"
#include "compiler/driver/public_types.h"
#include "compiler/driver/side_by_side.h"
#include "lang/core/escape.h"
#include "lang/core/stopwatch.h"
#include "runtime/bounds.h"
#include "runtime/execute.h"
#include "runtime/npy.h"
#include "runtime/npz.h"
#include "runtime/random.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <cmath>

namespace tg::cli {
namespace {

struct Output {
  std::string name;
  Tensor tensor;
  TensorSummary summary;
  std::optional<double> max_rel_diff; // against ref, with --check; against f32, with --dtype
};

struct RunReport {
  std::string model, backend, device;
  int threads = 1;
  double build_s = 0; // from the graph to what can run, weights given
  Timing timing;      // of rounds, where several instances run side by side
  size_t streams = 1;
  double sum_of_ops_us = 0;
  double device_us = 0; // of a whole run on the device alone; 0 where that is not known
  MemoryUse memory;
  std::vector<StepInfo> steps;
  std::vector<std::string> notes; // of the backend
  std::vector<Output> outputs;
  std::optional<OptimizeReport> optimized;
};

double throughput(const RunReport& report) {
  return static_cast<double>(report.streams) * 1e6 / report.timing.median_us;
}

/// Which input has the name. Errors: `bad_input_value` for a name that the model does not have.
Result<size_t> find_input(const Plan& plan, llvm::StringRef name) {
  std::vector<llvm::StringRef> names;
  for (PlanValueId id : plan.inputs) names.push_back(plan.values[id].name);
  auto found = llvm::find(names, name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  llvm::StringRef near = near_miss(name, names);
  Diagnostic d = error(Code::bad_input_value, "`{0}` has no input `{1}`", plan.model, name);
  d.help = near.empty() ? "its inputs: " + llvm::join(names, ", ")
                        : llvm::formatv("did you mean `{0}`?", near).str();
  return d;
}

/// Random tensors from the seed, but those that --input gives. Errors: those of find_input and of
/// reading.
Result<std::vector<Tensor>> read_inputs(const Options& o, const Plan& plan) {
  TG_TRY(std::vector<Tensor> inputs, random_inputs(plan, o.seed));
  for (const auto& [name, path] : o.inputs) {
    if (!name.empty()) {
      TG_TRY(size_t input, find_input(plan, name));
      TG_TRY(inputs[input], read_npy(path));
      continue;
    }
    auto wanted = [&](llvm::StringRef array, const TensorType& type) -> Result<void> {
      TG_TRY(size_t input, find_input(plan, array));
      return check_input(plan.values[plan.inputs[input]], type);
    };
    TG_TRY(std::vector<NamedTensor> arrays, read_npz(path, wanted));
    for (NamedTensor& array : arrays) {
      TG_TRY(size_t input, find_input(plan, array.name));
      inputs[input] = std::move(array.tensor);
    }
  }
  return inputs;
}

/// Sum of the medians of the steps, from runs of their own: profiling costs a little.
Result<double> profile_steps(Executable& executable, const TimingOptions& timing) {
  executable.profile(true);
  TG_TRY(Timing ignored, time_runs(executable, timing));
  (void)ignored;
  double sum = 0;
  for (const StepInfo& step : executable.steps()) sum += step.measured_us;
  return sum;
}

/// Instances beside `first`, each with weights and memory of its own, all on the same inputs.
Result<Timing> time_streams(const Options& o, const PrepareOptions& options, const Graph& graph,
                            llvm::ArrayRef<Tensor> inputs, Executable& first,
                            const TimingOptions& timing) {
  std::vector<Prepared> others;
  std::vector<Executable*> instances = {&first};
  for (int64_t i = 1; i < o.streams; ++i) {
    TG_TRY(Prepared other, prepare(graph, options));
    TG_CHECK(other.executable->bind_inputs(inputs));
    others.push_back(std::move(other));
    instances.push_back(others.back().executable.get());
  }
  return time_side_by_side(instances, timing);
}

/// `seconds` gets how long it took, but for reading or drawing weights.
Result<Prepared> prepare_timed(const Graph& graph, PrepareOptions options, double& seconds) {
  double of_weights = 0;
  options.weights = [&, given = options.weights, seed = options.seed,
                     threads = thread_count(options.threads)](const PlanValue& value) {
    Stopwatch watch;
    Result<Tensor> made =
        given ? given(value) : random_weight(value.name, value.type, value.init, seed, threads);
    of_weights += watch.seconds();
    return made;
  };
  Stopwatch watch;
  TG_TRY(Prepared prepared, prepare(graph, options));
  seconds = watch.seconds() - of_weights;
  return prepared;
}

/// `inputs` gets what the model ran on.
Result<RunReport> run_on_backend(const Options& o, const PrepareOptions& options,
                                 const Graph& graph, std::vector<Tensor>& inputs) {
  RunReport report;
  TG_TRY(Prepared prepared, prepare_timed(graph, options, report.build_s));
  TG_TRY(inputs, read_inputs(o, prepared.plan));
  Executable& executable = *prepared.executable;
  TG_CHECK(executable.bind_inputs(inputs));
  report.model = graph.name();
  report.backend = prepared.backend->name();
  report.device = prepared.backend->description();
  report.threads = prepared.threads;
  TimingOptions timing;
  timing.runs = static_cast<size_t>(o.runs);
  // The reference backend is for its results; once is enough unless asked for more.
  if (o.backend == tangram::Backend::Ref && o.runs == 0) timing = {.runs = 1, .warmup = 0};
  if (o.streams > 1) {
    report.streams = static_cast<size_t>(o.streams);
    TG_TRY(report.timing, time_streams(o, options, graph, inputs, executable, timing));
  } else {
    TG_TRY(report.timing, time_runs(executable, timing));
  }
  if (o.verbose || o.json) {
    TG_TRY(report.sum_of_ops_us, profile_steps(executable, timing));
  }
  report.steps = executable.steps();
  report.notes = prepared.backend->notes();
  report.device_us = executable.device_us();
  report.memory = executable.memory();
  TG_TRY(std::vector<Tensor> tensors, executable.outputs());
  for (size_t i = 0; i < tensors.size(); ++i) {
    TensorSummary summary = summarise(tensors[i]);
    report.outputs.push_back(
        {prepared.plan.outputs[i].name, std::move(tensors[i]), summary, std::nullopt});
  }
  return report;
}

/// Fills in max_rel_diff, against a graph of f32.
Result<void> compare(const PrepareOptions& options, const Graph& graph,
                     llvm::ArrayRef<Tensor> inputs, RunReport& report) {
  TG_TRY(Prepared reference, prepare(graph, options));
  TG_TRY(std::vector<Tensor> expected, reference.executable->run(inputs));
  for (size_t i = 0; i < expected.size(); ++i)
    report.outputs[i].max_rel_diff = max_rel_diff(report.outputs[i].tensor, expected[i]);
  return {};
}

Result<void> write_outputs(const Options& o, const RunReport& report) {
  if (llvm::sys::path::extension(o.output) == ".npz") {
    std::vector<NamedTensor> tensors;
    for (const Output& output : report.outputs) tensors.push_back({output.name, output.tensor});
    return write_npz(o.output, tensors);
  }
  if (std::error_code code = llvm::sys::fs::create_directories(o.output))
    return error(Code::cannot_write, "cannot create the folder `{0}`: {1}", o.output,
                 code.message());
  for (const Output& output : report.outputs) {
    llvm::SmallString<128> path(o.output);
    llvm::sys::path::append(path, output.name + ".npy");
    TG_CHECK(write_npy(path, output.tensor));
  }
  return {};
}

std::string figure(double value) {
  return std::isfinite(value) ? llvm::formatv("{0:f6}", value).str() : "not finite";
}

void print_outputs(llvm::raw_ostream& out, const RunReport& report, bool color,
                   llvm::StringRef against) {
  bool checked = !report.outputs.empty() && report.outputs[0].max_rel_diff;
  std::vector<Table::Column> columns = {{"output"},
                                        {"type"},
                                        {"mean", Align::Right},
                                        {"std", Align::Right},
                                        {"checksum", Align::Right}};
  if (checked) columns.push_back({against.str(), Align::Right});
  Table table(columns);
  for (const Output& output : report.outputs) {
    std::vector<std::string> cells = {output.name, output.tensor.type().text(),
                                      figure(output.summary.mean), figure(output.summary.std),
                                      llvm::utohexstr(output.summary.checksum, true)};
    if (checked) cells.push_back(difference_text(*output.max_rel_diff));
    table.add(cells);
  }
  table.print(out, color, 2);
}

void print_steps(llvm::raw_ostream& out, const RunReport& report, bool color) {
  bool uses = llvm::any_of(report.steps, [](const StepInfo& step) { return !step.uses.empty(); });
  std::vector<Table::Column> columns = {
      {"step"}, {"result"}, {"implementation"}, {"time", Align::Right}};
  if (uses) columns.push_back({"uses"});
  Table table(columns);
  for (const StepInfo& step : report.steps) {
    std::vector<std::string> cells = {step.name, step.result, step.implementation,
                                      duration_text(step.measured_us)};
    if (uses) cells.push_back(step.uses);
    table.add(cells);
  }
  table.print(out, color, 2);
}

void print_run(Session& session, const RunReport& report) {
  llvm::raw_ostream& out = session.out;
  if (report.optimized) {
    print_report(out, *report.optimized, session.color, session.options.verbose);
    out << "\n";
  }
  out << report.model << " on " << report.backend << ", " << report.threads
      << (report.threads == 1 ? " thread\n\n" : " threads\n\n");
  bool against_f32 = session.options.dtype != tangram::DType::F32 && !session.options.check;
  print_outputs(out, report, session.color, against_f32 ? "against f32" : "against ref");
  out << "\n  median " << duration_text(report.timing.median_us) << " (p10 "
      << duration_text(report.timing.p10_us) << ", p90 " << duration_text(report.timing.p90_us)
      << ") of " << report.timing.runs << (report.timing.runs == 1 ? " run" : " runs") << "; "
      << bytes_text(static_cast<double>(report.memory.total())) << " of memory\n";
  if (report.streams > 1)
    out << "  " << report.streams
        << " side by side: " << llvm::formatv("{0:f1}", throughput(report)) << " runs a second\n";
  if (!session.options.verbose) return;
  if (report.device_us > 0)
    out << "  on the device " << duration_text(report.device_us) << ", the steps add up to "
        << llvm::formatv("{0:f1}%", 100 * report.sum_of_ops_us / report.device_us) << " of it\n";
  out << "  device " << report.device << "; sum of the steps "
      << duration_text(report.sum_of_ops_us) << "\n\n";
  print_steps(out, report, session.color);
  for (const std::string& note : report.notes) out << "\n  " << printable(note) << "\n";
}

void write_outputs_json(llvm::json::OStream& json, const RunReport& report) {
  json.attributeArray("outputs", [&] {
    for (const Output& output : report.outputs)
      json.object([&] {
        json.attribute("name", output.name);
        json.attributeArray("shape", [&] {
          for (int64_t size : output.tensor.type().shape) json.value(size);
        });
        json.attribute("dtype", dtype_name(output.tensor.type().dtype));
        write_number(json, "mean", output.summary.mean);
        write_number(json, "std", output.summary.std);
        json.attribute("checksum", llvm::utohexstr(output.summary.checksum, true));
        json.attribute("finite", output.summary.finite);
        if (output.max_rel_diff) write_number(json, "max_rel_diff", *output.max_rel_diff);
      });
  });
}

void write_steps_json(llvm::json::OStream& json, const RunReport& report) {
  json.attributeArray("steps", [&] {
    for (const StepInfo& step : report.steps)
      json.object([&] {
        json.attribute("name", step.name);
        json.attribute("result", step.result);
        json.attribute("implementation", step.implementation);
        if (!step.uses.empty()) json.attribute("uses", step.uses);
        write_number(json, "us", step.measured_us);
        write_number(json, "flops", step.flops);
        write_number(json, "bytes", step.bytes);
      });
  });
}

void print_run_json(Session& session, const RunReport& report) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("model", report.model);
    json.attribute("backend", report.backend);
    json.attribute("device", report.device);
    json.attribute("threads", report.threads);
    write_number(json, "build_s", report.build_s);
    json.attribute("runs", static_cast<int64_t>(report.timing.runs));
    write_number(json, "median_us", report.timing.median_us);
    write_number(json, "p10_us", report.timing.p10_us);
    write_number(json, "p90_us", report.timing.p90_us);
    write_number(json, "sum_of_ops_us", report.sum_of_ops_us);
    if (report.device_us > 0) {
      write_number(json, "device_us", report.device_us);
      write_number(json, "sum_error", report.sum_of_ops_us / report.device_us - 1);
    }
    json.attribute("streams", static_cast<int64_t>(report.streams));
    write_number(json, "runs_per_s", throughput(report));
    write_number(json, "memory_mb", static_cast<double>(report.memory.total()) / (1 << 20));
    write_outputs_json(json, report);
    if (session.options.verbose) write_steps_json(json, report);
    if (!report.notes.empty())
      json.attributeArray("notes", [&] {
        for (const std::string& note : report.notes) json.value(note);
      });
    if (report.optimized)
      json.attributeObject("opt", [&] { write_report(json, *report.optimized); });
  });
  session.out << "\n";
}

/// What is wrong with the outputs: not finite (a warning, or an error with --check), or not what
/// the reference backend says.
void judge_outputs(Session& session, const RunReport& report) {
  bool tf32 = session.options.allow_tf32 && session.options.backend == tangram::Backend::Cuda;
  double bound = difference_bound(part_of(session.options.dtype), tf32);
  for (const Output& output : report.outputs) {
    if (!output.summary.finite) {
      Diagnostic d = error(Code::not_finite, "the output `{0}` holds NaN or infinity", output.name);
      if (!session.options.check) d.severity = Severity::Warning;
      session.sink.report(std::move(d));
    } else if (output.max_rel_diff && !(*output.max_rel_diff <= bound)) {
      session.sink.report(error(
          Code::outputs_differ, "the output `{0}` differs from the reference by {1}, over {2}",
          output.name, difference_text(*output.max_rel_diff), difference_text(bound)));
    }
  }
}

Result<RunReport> run_model(Session& session, const Graph& source, const Graph& graph) {
  const Options& o = session.options;
  TG_TRY(PrepareOptions options, prepare_options(o, source));
  options.dtype = part_of(o.dtype);
  options.interrupt = interrupts();
  std::vector<Tensor> inputs;
  TG_TRY(RunReport report, run_on_backend(o, options, graph, inputs));
  bool narrow = std::exchange(options.dtype, DType::F32) != DType::F32;
  if (narrow && !o.check) TG_CHECK(compare(options, graph, inputs, report));
  options.backend = "ref";
  if (o.check) TG_CHECK(compare(options, source, inputs, report));
  if (!o.output.empty()) TG_CHECK(write_outputs(o, report));
  return report;
}

/// The values of small outputs, one row of the innermost axis a line.
void print_values(llvm::raw_ostream& out, const RunReport& report) {
  constexpr int64_t kShown = 64;
  for (const Output& output : report.outputs) {
    const TensorType& type = output.tensor.type();
    if (type.dtype != DType::F32 || type.elements() > kShown) continue;
    llvm::ArrayRef<float> values = output.tensor.floats();
    size_t row = type.rank() == 0 ? 1 : static_cast<size_t>(type.shape.back());
    out << "\n  " << output.name << ":\n";
    for (size_t i = 0; i < values.size(); ++i)
      out << (i % row == 0 ? "    " : " ") << llvm::formatv("{0,9:f5}", values[i])
          << ((i + 1) % row == 0 ? "\n" : "");
  }
}

} // namespace

bool run_graph(Session& session, const Graph& source, const Graph& graph) {
  Result<RunReport> report = run_model(session, source, graph);
  if (!report) {
    session.sink.report(report.error());
    return false;
  }
  judge_outputs(session, *report);
  print_run(session, *report);
  print_values(session.out, *report);
  return !session.sink.failed();
}

int run_run(Session& session) {
  const Options& o = session.options;
  std::optional<Graph> source = load(session);
  if (!source) return session.fail();
  std::optional<OptimizedModel> optimized;
  if (o.optimize) {
    session.interruptible = std::make_unique<Interruptible>();
    optimized = optimize_model(session, *source);
    session.interruptible.reset(); // the runs have nothing to lose
    if (!optimized) return session.fail();
  }
  Result<RunReport> report =
      run_model(session, *source, optimized ? optimized->result.graph : *source);
  if (!report) return session.fail(report.error());
  if (optimized && report) report->optimized = std::move(optimized->result.report);
  judge_outputs(session, *report);
  if (o.json && !session.sink.failed())
    print_run_json(session, *report);
  else if (!o.quiet && !o.json)
    print_run(session, *report);
  if (session.sink.failed()) return session.fail();
  session.print_warnings();
  return 0;
}

} // namespace tg::cli
