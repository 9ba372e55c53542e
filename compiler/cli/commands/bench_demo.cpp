// `tg bench demo`: optimises real models as `tg opt` does on this machine, runs both graphs
// interleaved, and compares them with the reference backend. Prints a table, or JSON objects.
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/trial/run_model.h"
#include "lang/core/diagnostics/escape.h"
#include "runtime/random.h"

#include <llvm/ADT/StringExtras.h>

#include <cmath>

namespace tg::cli {
namespace {

const char* const kModels[] = {"examples/paper/squeezenet.tg", "examples/paper/nasrnn.tg",
                               "examples/paper/bert.tg", "examples/paper/resnext50.tg",
                               "examples/resnet50.tg"};

struct Row {
  OptimizeReport report;
  Comparison runs; // source first
  double max_rel_diff = 0;
  double optimise_s = 0; // without the whole runs that judge the result

  double before_us() const { return runs.first_us; }
  /// Returns the time of the returned graph, which is the source if the new one is not faster.
  double after_us() const { return report.changed() ? runs.second_us : before_us(); }
  double speedup() const { return report.changed() ? runs.ratio : 1; }
};

/// Runs a graph on random inputs, the same for all graphs.
Result<RunReport> run_on_cpu(const Options& o, const LoadedModel& source, const Graph& graph,
                             const RunModelOptions& run) {
  TG_TRY(PrepareOptions options, prepare_options(o, source));
  return run_model(source.graph, graph, options, run,
                   [&](const Plan& plan) { return random_inputs(plan, o.seed); });
}

/// Returns the largest difference between an output of `graph` on the cpu and that of `source` on
/// ref; infinite if a value is not finite.
Result<double> difference_from_ref(const Options& o, const LoadedModel& source,
                                   const Graph& graph) {
  RunModelOptions once{.timing = {.runs = 1, .warmup = 0}, .check = true};
  TG_TRY(RunReport run, run_on_cpu(o, source, graph, once));
  double worst = 0;
  for (const RunOutput& output : run.outputs) worst = std::fmax(worst, *output.max_rel_diff);
  return worst;
}

/// Times whole runs of an unchanged model, which is compared with itself.
Result<Comparison> time_alone(const Options& o, const LoadedModel& source) {
  TG_TRY(RunReport run, run_on_cpu(o, source, source.graph, {.timing = {.seconds = 1}}));
  const Timing& timing = run.times.timing;
  return Comparison{timing, timing, 1, 1, 1, timing.median_us, timing.median_us};
}

Result<Row> finish_row(const Options& o, const LoadedModel& source, Optimized optimized) {
  Row row;
  if (optimized.report.comparison) {
    row.runs = *optimized.report.comparison;
  } else {
    TG_TRY(row.runs, time_alone(o, source));
  }
  TG_TRY(row.max_rel_diff, difference_from_ref(o, source, optimized.graph));
  row.optimise_s = optimized.report.total_s - optimized.report.finalists_s;
  row.report = std::move(optimized.report);
  return row;
}

std::optional<Row> run_demo_model(Session& session, const std::string& path) {
  const Options& o = session.options;
  session.stop = stop_of(o); // each model has its own time limit
  std::optional<LoadedModel> source = load(session, path, o.files.size() > 1);
  if (!source) return std::nullopt;
  std::optional<OptimizedModel> optimized =
      optimize_model(session, source->graph, {.weights = source->weights, .remember = false});
  if (!optimized) return std::nullopt;
  Result<Row> row = finish_row(o, *source, std::move(optimized->result));
  if (!row) {
    session.sink.report(row.error());
    return std::nullopt;
  }
  return std::move(*row);
}

double geometric_mean(llvm::ArrayRef<Row> rows) {
  double sum = 0;
  for (const Row& row : rows) sum += std::log(row.speedup());
  return std::exp(sum / static_cast<double>(rows.size()));
}

void print_table(llvm::raw_ostream& out, llvm::ArrayRef<Row> rows, bool color) {
  Table table({{"model"},
               {"operators", Align::Right},
               {"cost", Align::Right},
               {"measured", Align::Right},
               {"speedup", Align::Right},
               {"difference", Align::Right},
               {"optimise", Align::Right},
               {""}});
  auto arrow = [](const std::string& before, const std::string& after) {
    return before + " → " + after;
  };
  for (const Row& row : rows) {
    const OptimizeReport& r = row.report;
    table.add({r.model, arrow(count_text(r.nodes_before), count_text(r.nodes_after)),
               arrow(duration_text(r.cost_before_us), duration_text(r.cost_after_us)),
               arrow(duration_text(row.before_us()), duration_text(row.after_us())),
               ratio_text(row.speedup()), difference_text(row.max_rel_diff),
               duration_text(row.optimise_s * 1e6), r.source_returned ? "source returned" : ""});
  }
  table.print(out, color);
  out << "\ngeometric mean of the speedups: " << ratio_text(geometric_mean(rows)) << "\n";
}

void print_rules(llvm::raw_ostream& out, llvm::ArrayRef<Row> rows) {
  out << "\nrules applied:\n";
  for (const Row& row : rows) {
    std::vector<std::string> parts;
    for (const RuleCount& rule : row.report.rules_applied)
      parts.push_back(rule.rule + " x" + std::to_string(rule.count));
    out << "  " << row.report.model << ": " << (parts.empty() ? "none" : llvm::join(parts, ", "))
        << "\n";
    for (const std::string& note : row.report.notes) out << "    note: " << printable(note) << "\n";
  }
}

std::string table_json(llvm::ArrayRef<Row> rows) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeArray("models", [&] {
      for (const Row& row : rows)
        json.object([&] {
          const OptimizeReport& r = row.report;
          json.attribute("model", r.model);
          json.attribute("ops_before", static_cast<int64_t>(r.nodes_before));
          json.attribute("ops_after", static_cast<int64_t>(r.nodes_after));
          write_number(json, "cost_before_us", r.cost_before_us);
          write_number(json, "cost_after_us", r.cost_after_us);
          write_number(json, "median_before_us", row.before_us());
          write_number(json, "median_after_us", row.after_us());
          write_number(json, "speedup", row.speedup());
          write_number(json, "max_rel_diff", row.max_rel_diff);
          write_number(json, "optimise_s", row.optimise_s);
          json.attributeObject("rules_applied", [&] {
            for (const RuleCount& rule : r.rules_applied)
              json.attribute(rule.rule, static_cast<int64_t>(rule.count));
          });
          json.attribute("source_returned", r.source_returned);
          write_number(json, "p10_before_us", row.runs.first.p10_us);
          write_number(json, "p90_before_us", row.runs.first.p90_us);
          write_number(json, "p10_after_us", row.runs.second.p10_us);
          write_number(json, "p90_after_us", row.runs.second.p90_us);
          json.attributeArray("notes", [&] {
            for (const std::string& note : r.notes) json.value(note);
          });
        });
    });
  });
  out << "\n";
  return out.str();
}

/// The demo's promise: every output is finite and equals the reference's within 1e-4.
void judge(Session& session, llvm::ArrayRef<Row> rows) {
  for (const Row& row : rows)
    if (!(row.max_rel_diff <= 1e-4))
      session.sink.report(error(Code::outputs_differ,
                                "the optimised `{0}` differs from the reference by {1}",
                                row.report.model, difference_text(row.max_rel_diff)));
}

} // namespace

int run_bench_demo(Session& outer) {
  Options options = outer.options;
  if (options.files.empty()) options.files.assign(std::begin(kModels), std::end(kModels));
  Session session(options, outer.out, outer.err);
  session.color = outer.color;
  std::vector<Row> rows;
  for (const std::string& path : options.files) {
    if (!options.quiet && !options.json) session.err << "optimising " << path << "\n";
    std::optional<Row> row = run_demo_model(session, path);
    if (!row) return session.fail();
    rows.push_back(std::move(*row));
  }
  std::string json = table_json(rows);
  if (!options.output.empty())
    if (auto written = write_text_file(session, options.output, json); !written)
      return session.fail(written.error());
  if (options.json) {
    session.out << json;
  } else if (!options.quiet) {
    print_table(session.out, rows, session.color);
    print_rules(session.out, rows);
  }
  judge(session, rows);
  return session.sink.failed() ? session.fail() : 0;
}

} // namespace tg::cli
