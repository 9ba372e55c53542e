// `tg tune`: the operators of a model tuned on this machine, a line each as soon as it is done.
#include "compiler/cli/options/program.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/trial/tune_model.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cli {

namespace {

using tune::PlanTuneLine;
using tune::TuneState;

double peak_share(const TunedModel& model, const PlanTuneLine& line) {
  if (!line.op || !line.found || model.peak_flops <= 0) return 0;
  const tune::KeptProgram& found = *line.found;
  double us = found.faster ? found.best.microseconds : found.untuned_us;
  return model.operators[*line.op].flops / us / model.peak_flops * 1e6;
}

/// Returns "3.07 ms -> 2.92 ms, 83% of the peak": the times before and after tuning.
std::string times_text(const PlanTuneLine& line, const TunedModel& model) {
  if (!line.found) return line.note;
  const tune::KeptProgram& found = *line.found;
  std::string text = duration_text(found.untuned_us);
  text += found.faster ? " -> " + duration_text(found.best.microseconds) : std::string(" stays");
  text += llvm::formatv(", {0:f0}% of the peak", 100 * peak_share(model, line));
  if (line.library_us > 0) text += ", library " + duration_text(line.library_us);
  return text;
}

std::string trials_text(const PlanTuneLine& line) {
  if (line.state == TuneState::NoKernel) return "";
  if (line.state == TuneState::Stopped && line.trials == 0) return "";
  if (line.state == TuneState::Known)
    return counted(static_cast<uint64_t>(line.found->trials), "trial") + " earlier";
  std::string text = llvm::formatv(
      "{0} in {1:f1} s", counted(static_cast<uint64_t>(line.trials), "trial"), line.seconds);
  if (!line.reused_from.empty()) text += ", from " + line.reused_from;
  if (line.found && !line.note.empty()) text += ", " + line.note;
  return text;
}

void print_line(llvm::raw_ostream& out, const PlanTuneLine& line, const TunedModel& model) {
  std::string name = line.name;
  if (line.op && model.operators[*line.op].occurrences > 1)
    name += llvm::formatv(", {0} times", model.operators[*line.op].occurrences);
  std::string text =
      llvm::formatv("{0,-44} {1,-11} {2,-56} {3}", name, tune::state_name(line.state),
                    times_text(line, model), trials_text(line));
  out << llvm::StringRef(text).rtrim() << "\n";
  out.flush();
}

void write_line(llvm::json::OStream& json, const PlanTuneLine& line, const TunedModel& model) {
  json.object([&] {
    json.attribute("name", line.name);
    json.attribute("state", tune::state_name(line.state));
    json.attribute("trials", line.trials);
    if (line.trials_to_best > 0) json.attribute("trials_to_best", line.trials_to_best);
    json.attribute("filtered", line.filtered);
    json.attribute("planned", line.planned);
    json.attribute("expected", line.expected);
    json.attribute("reused_from", line.reused_from);
    json.attribute("seconds", line.seconds);
    if (line.compared_seconds > 0) json.attribute("compared_seconds", line.compared_seconds);
    if (!line.note.empty()) json.attribute("note", line.note);
    if (line.op) {
      json.attribute("key", model.operators[*line.op].key);
      json.attribute("occurrences", model.operators[*line.op].occurrences);
      json.attribute("flops", model.operators[*line.op].flops);
    }
    if (!line.found) return;
    json.attribute("best_us", line.found->best.microseconds);
    json.attribute("untuned_us", line.found->untuned_us);
    json.attribute("peak_share", peak_share(model, line));
    if (line.library_us > 0) json.attribute("library_us", line.library_us);
    json.attribute("program", tune::text(line.found->best.program));
  });
}

/// Prints "1.31x  on oneDNN's kernel, 12 times: matmul(...)".
void print_kernels(llvm::raw_ostream& out, const tune::KernelReport& report) {
  if (report.lines.empty()) return;
  out << llvm::formatv("{0} of {1} operators with two kernels run faster on the other "
                       "one, in {2:f1} s{3}\n",
                       report.changes(), report.lines.size(), report.seconds,
                       report.known > 0 ? llvm::formatv("; {0} known before", report.known).str()
                                        : "");
  for (const tune::KernelLine& line : report.lines)
    if (line.otherwise)
      out << llvm::formatv("  {0:f2}x on {1} kernel: {2}\n", line.times.ratio,
                           line.ours_by_rule ? "oneDNN's" : "our", line.name);
  if (report.whole)
    out << llvm::formatv("  whole model: {0:f3} [{1:f3}, {2:f3}] times as fast{3}\n",
                         report.whole->ratio, report.whole->low, report.whole->high,
                         report.changes() == 0 ? ", so no change is kept" : "");
  out.flush();
}

void write_kernels(llvm::json::OStream& json, const tune::KernelReport& report) {
  json.attribute("known", static_cast<int64_t>(report.known));
  json.attribute("seconds", report.seconds);
  if (report.whole) json.attribute("whole_speedup", report.whole->ratio);
  json.attributeArray("operators", [&] {
    for (const tune::KernelLine& line : report.lines)
      json.object([&] {
        json.attribute("name", line.name);
        json.attribute("occurrences", line.occurrences);
        json.attribute("ours_by_rule", line.ours_by_rule);
        json.attribute("rule_us", line.times.first_us);
        json.attribute("other_us", line.times.second_us);
        json.attribute("otherwise", line.otherwise);
      });
  });
}

void write_json(Session& session, const TunedModel& model) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attributeArray("operators", [&] {
      for (const PlanTuneLine& line : model.report.lines) write_line(json, line, model);
    });
    json.attributeObject("kernels", [&] { write_kernels(json, model.kernels); });
    json.attribute("trials", model.report.trials);
    json.attribute("seconds", model.report.seconds);
    json.attribute("first_seconds", model.report.first_seconds);
    json.attribute("tree_seconds", model.report.tree_seconds);
    json.attribute("library_seconds", model.report.library_seconds);
    json.attribute("threads", model.threads);
    json.attribute("peak_gflops", model.peak_flops / 1e9);
    json.attribute("stopped", model.report.stopped);
    json.attributeArray("notes", [&] {
      for (const std::string& note : model.notes) json.value(note);
    });
  });
  session.out << "\n";
}

} // namespace

int run_tune(Session& session) {
  const Options& o = session.options;
  std::optional<LoadedModel> model = load(session);
  if (!model) return session.fail();
  session.print_warnings();
  session.interruptible = std::make_unique<Interruptible>(); // finished work is kept
  TuneModelOptions options;
  options.threads = static_cast<int>(o.threads);
  options.cost_db = o.cost_db;
  options.stop = session.stop;
  options.session.trials = o.trials;
  options.session.seed = o.seed;
  options.session.again = o.again;
  options.choose_kernels = !llvm::is_contained(o.tuner, "by-rule");
  options.session.library = llvm::is_contained(o.tuner, "library");
  std::shared_ptr<const void> own;
  if (program_tables().prepare_tuning) own = program_tables().prepare_tuning(o, options.session);
  bool lines = !o.json && !o.quiet;
  auto on_chosen = [&](const tune::KernelReport& kernels) {
    if (lines) print_kernels(session.out, kernels);
  };
  auto on_tuned = [&](const PlanTuneLine& line, const TunedModel& so_far) {
    if (lines) print_line(session.out, line, so_far);
  };
  Result<TunedModel> tuned = tune_model(model->graph, options, on_chosen, on_tuned);
  if (!tuned) return session.fail(tuned.error());
  if (o.json) {
    write_json(session, *tuned);
    return 0;
  }
  if (!lines) return 0;
  session.out << llvm::formatv(
      "{0} in {1:f1} s{2}\n", counted(static_cast<uint64_t>(tuned->report.trials), "trial"),
      tuned->report.seconds, tuned->report.stopped ? "; the next run continues from here" : "");
  for (const std::string& note : tuned->notes) session.out << "note: " << note << "\n";
  return 0;
}

} // namespace tg::cli
