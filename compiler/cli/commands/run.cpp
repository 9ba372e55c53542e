// `tg run`: runs a model on a backend with random or given inputs and prints outputs, times and, on
// request, a comparison with the reference backend.
#include "compiler/api/public_types.h"
#include "compiler/cli/commands/run_files.h"
#include "compiler/cli/commands/run_steps.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/report/report_json.h"
#include "compiler/trial/run_model.h"
#include "lang/core/diagnostics/escape.h"
#include "runtime/execute.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

namespace tg::cli {
namespace {

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
  for (const RunOutput& output : report.outputs) {
    std::vector<std::string> cells = {output.name, output.tensor.type().text(),
                                      figure(output.summary.mean), figure(output.summary.std),
                                      llvm::utohexstr(output.summary.checksum, true)};
    if (checked) cells.push_back(difference_text(*output.max_rel_diff));
    table.add(cells);
  }
  table.print(out, color, 2);
}

void print_steps(llvm::raw_ostream& out, const RunReport& report, bool color) {
  bool uses =
      llvm::any_of(report.times.steps, [](const StepInfo& step) { return !step.uses.empty(); });
  std::vector<Table::Column> columns = {
      {"step"}, {"result"}, {"implementation"}, {"time", Align::Right}};
  if (uses) columns.push_back({"uses"});
  Table table(columns);
  for (const StepInfo& step : report.times.steps) {
    std::vector<std::string> cells = {step.name, step.result, step.implementation,
                                      duration_text(step.measured_us)};
    if (uses) cells.push_back(step.uses);
    table.add(cells);
  }
  table.print(out, color, 2);
}

void print_recomputed(llvm::raw_ostream& out, const Recomputed& spent) {
  if (spent.operators == 0) return;
  out << "  " << spent.operators << (spent.operators == 1 ? " operator runs" : " operators run")
      << " twice: the peak memory is " << bytes_text(static_cast<double>(spent.peak_bytes))
      << " instead of " << bytes_text(static_cast<double>(spent.peak_kept_bytes)) << ", for "
      << llvm::formatv("{0:f1}%", 100 * spent.added_us / spent.total_us)
      << " more time by estimates\n";
}

void write_recomputed_json(llvm::json::OStream& json, const Recomputed& spent) {
  if (spent.operators == 0) return;
  json.attributeObject("recomputed", [&] {
    json.attribute("operators", static_cast<int64_t>(spent.operators));
    json.attribute("peak_bytes", spent.peak_bytes);
    json.attribute("peak_kept_bytes", spent.peak_kept_bytes);
    write_number(json, "time_share", spent.added_us / spent.total_us);
  });
}

/// `optimized` is the report of the preceding search, or null.
void print_run(Session& session, const RunReport& report, const OptimizeReport* optimized) {
  llvm::raw_ostream& out = session.out;
  if (optimized) {
    print_report(out, *optimized, session.color, session.options.verbose);
    out << "\n";
  }
  out << report.model << " on " << report.backend << ", " << counted(report.threads, "thread")
      << "\n\n";
  bool against_f32 = session.options.dtype != tangram::DType::F32 && !session.options.check;
  print_outputs(out, report, session.color, against_f32 ? "against f32" : "against ref");
  if (report.compared_with_itself)
    out << "\n  every step used the kernels of ref: the check compared them with themselves\n";
  out << "\n  median " << duration_text(report.times.timing.median_us) << " (p10 "
      << duration_text(report.times.timing.p10_us) << ", p90 "
      << duration_text(report.times.timing.p90_us) << ") of "
      << counted(report.times.timing.runs, "run") << "; "
      << bytes_text(static_cast<double>(report.memory.total())) << " of memory\n";
  if (report.beside_f32) out << "  " << text_of(*report.beside_f32) << "\n";
  if (report.times.streams > 1)
    out << "  " << report.times.streams
        << " concurrent copies: " << llvm::formatv("{0:f1}", report.times.runs_per_s())
        << " runs per second\n";
  print_recomputed(out, report.recomputed);
  if (!session.options.verbose) return;
  if (report.times.device_us > 0)
    out << "  on the device " << duration_text(report.times.device_us) << ", the steps add up to "
        << llvm::formatv("{0:f1}%", 100 * report.times.steps_us / report.times.device_us)
        << " of it\n";
  out << "  device " << report.device << "; sum of the steps "
      << duration_text(report.times.steps_us) << "\n\n";
  print_steps(out, report, session.color);
  for (const std::string& note : report.notes) out << "\n  " << printable(note) << "\n";
}

void write_outputs_json(llvm::json::OStream& json, const RunReport& report) {
  json.attributeArray("outputs", [&] {
    for (const RunOutput& output : report.outputs)
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
    for (const StepInfo& step : report.times.steps)
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

void print_run_json(Session& session, const RunReport& report, const OptimizeReport* optimized) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("model", report.model);
    json.attribute("backend", report.backend);
    json.attribute("device", report.device);
    json.attribute("threads", report.threads);
    write_number(json, "build_s", report.build_s);
    json.attribute("runs", static_cast<int64_t>(report.times.timing.runs));
    write_number(json, "median_us", report.times.timing.median_us);
    write_number(json, "p10_us", report.times.timing.p10_us);
    write_number(json, "p90_us", report.times.timing.p90_us);
    write_number(json, "sum_of_ops_us", report.times.steps_us);
    if (report.beside_f32) {
      json.attribute("dtype", dtype_name(report.beside_f32->dtype));
      write_number(json, "f32_median_us", report.beside_f32->f32_us);
    }
    if (report.times.device_us > 0) {
      write_number(json, "device_us", report.times.device_us);
      write_number(json, "sum_error", report.times.steps_us / report.times.device_us - 1);
    }
    json.attribute("streams", static_cast<int64_t>(report.times.streams));
    write_number(json, "runs_per_s", report.times.runs_per_s());
    write_number(json, "memory_mb", static_cast<double>(report.memory.total()) / (1 << 20));
    write_recomputed_json(json, report.recomputed);
    write_outputs_json(json, report);
    if (report.compared_with_itself) json.attribute("compared_with_itself", true);
    if (session.options.verbose) write_steps_json(json, report);
    if (!report.notes.empty())
      json.attributeArray("notes", [&] {
        for (const std::string& note : report.notes) json.value(note);
      });
    if (optimized) json.attributeObject("opt", [&] { write_report(json, *optimized); });
  });
  session.out << "\n";
}

Result<RunReport> run_with_options(Session& session, const Graph& source, const Graph& graph,
                                   PrepareOptions options) {
  const Options& o = session.options;
  options.dtype = to_internal(o.dtype);
  options.interrupt = interrupts();
  RunModelOptions run;
  run.timing.runs = static_cast<size_t>(o.runs);
  run.timing.streams = static_cast<int>(o.streams);
  run.timing.steps = o.verbose || o.json;
  run.check = o.check;
  auto inputs = [&](const Plan& plan) { return read_inputs(o, plan, options); };
  TG_TRY(RunReport report, run_model(source, graph, options, run, inputs));
  if (!o.output.empty()) TG_CHECK(write_outputs(o, report));
  judge_outputs(report, o.check, session.sink);
  return report;
}

/// Prints the values of small outputs, one row of the innermost axis per line.
void print_values(llvm::raw_ostream& out, const RunReport& report) {
  constexpr int64_t kShown = 64;
  for (const RunOutput& output : report.outputs) {
    const TensorType& type = output.tensor.type();
    bool shown = type.dtype == DType::F32 || type.dtype == DType::F64;
    if (!shown || type.elements() > kShown) continue;
    std::vector<double> values = output.tensor.doubles();
    size_t row = type.rank() == 0 ? 1 : static_cast<size_t>(type.shape.back());
    out << "\n  " << output.name << ":\n";
    for (size_t i = 0; i < values.size(); ++i)
      out << (i % row == 0 ? "    " : " ") << llvm::formatv("{0,9:f5}", values[i])
          << ((i + 1) % row == 0 ? "\n" : "");
  }
}

void print_steps_json(Session& session, const StepsRun& run) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("model", run.report.model);
    json.attribute("backend", run.report.backend);
    json.attribute("device", run.report.device);
    json.attribute("threads", run.report.threads);
    json.attribute("steps", static_cast<int64_t>(run.report.times.timing.runs));
    write_number(json, "step_us", run.report.times.timing.median_us);
    write_number(json, "memory_mb", static_cast<double>(run.report.memory.total()) / (1 << 20));
    write_recomputed_json(json, run.report.recomputed);
    json.attributeArray("history", [&] {
      for (const StepValues& found : run.history)
        json.object([&] {
          json.attribute("step", static_cast<int64_t>(found.step));
          for (const auto& [name, value] : found.values) write_number(json, name, value);
        });
    });
    write_outputs_json(json, run.report);
  });
  session.out << "\n";
}

int run_steps_command(Session& session, const Graph& source, const Graph& graph,
                      PrepareOptions options) {
  const Options& o = session.options;
  Result<StepsRun> run = run_steps_with_options(session, source, graph, std::move(options));
  if (!run) return session.fail(run.error());
  const RunReport& report = run->report;
  double us = report.times.timing.median_us;
  if (o.json)
    print_steps_json(session, *run);
  else if (!o.quiet) {
    session.out << "\n  " << duration_text(us) << " per step, "
                << duration_text(us * static_cast<double>(o.steps)) << " in total; "
                << bytes_text(static_cast<double>(report.memory.total())) << " of memory\n";
    print_recomputed(session.out, report.recomputed);
  }
  session.print_warnings();
  return 0;
}

/// Adds a note to the report of the search if its cost is far from the time of the run.
void note_gap(OptimizeReport& found, const RunReport& run, const Options& options) {
  bool noted = llvm::any_of(found.notes, is_gap_note);
  if (noted || run.times.streams > 1 || options.backend != backend_of_costs(options.cost)) return;
  std::string note = gap_note(
      gap_of(found, options.cost, run.times.timing.median_us, static_cast<int>(run.threads)));
  if (!note.empty()) found.notes.push_back(std::move(note));
}

} // namespace

bool run_graph(Session& session, const Graph& source, const Graph& graph, WeightSource weights) {
  Result<PrepareOptions> options = prepare_options(session.options, LoadedModel{source});
  if (options && !options->weights) options->weights = std::move(weights);
  Result<RunReport> report = options ? run_with_options(session, source, graph, std::move(*options))
                                     : Result<RunReport>(std::move(options.error()));
  if (!report) {
    session.sink.report(report.error());
    return false;
  }
  print_run(session, *report, nullptr);
  print_values(session.out, *report);
  return !session.sink.failed();
}

int run_run(Session& session) {
  const Options& o = session.options;
  std::optional<LoadedModel> source = load(session);
  if (!source) return session.fail();
  std::optional<OptimizedModel> best;
  if (o.optimize) {
    session.interruptible = std::make_unique<Interruptible>();
    best = optimize_model(session, source->graph, {.weights = source->weights});
    session.interruptible.reset(); // the runs have no partial result
    if (!best) return session.fail();
  }
  Result<PrepareOptions> options = prepare_options(o, *source);
  if (!options) return session.fail(options.error());
  const Graph& graph = best ? best->result.graph : source->graph;
  if (o.steps > 0) return run_steps_command(session, source->graph, graph, std::move(*options));
  Result<RunReport> report = run_with_options(session, source->graph, graph, std::move(*options));
  if (!report) return session.fail(report.error());
  if (best) note_gap(best->result.report, *report, o);
  const OptimizeReport* optimized = best ? &best->result.report : nullptr;
  if (o.json && !session.sink.failed())
    print_run_json(session, *report, optimized);
  else if (!o.quiet && !o.json)
    print_run(session, *report, optimized);
  if (session.sink.failed()) return session.fail();
  session.print_warnings();
  return 0;
}

} // namespace tg::cli
