// `tg opt`: optimises a model, prints a report, and writes the result as a .tg or .onnx file.
#include "compiler/api/files/generic_model.h"
#include "compiler/api/files/onnx_export.h"
#include "compiler/api/files/weights.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/import/text/composites.h"
#include "compiler/ir/to_text.h"
#include "compiler/report/report_json.h"
#include "lang/core/diagnostics/escape.h"

#include <llvm/Support/FormatVariadic.h>

#include <cmath>

namespace tg::cli {
namespace {

void print_costs(llvm::raw_ostream& out, const OptimizeReport& report, bool color) {
  Table table(
      {{""}, {"before", Align::Right}, {"after", Align::Right}, {"gain", Align::Right}, {""}});
  table.add({"operators", count_text(report.nodes_before), count_text(report.nodes_after), "", ""});
  table.add({"cost", duration_text(report.cost_before_us), duration_text(report.cost_after_us),
             ratio_text(report.cost_before_us / report.cost_after_us), report.cost_model});
  if (const auto& groups = report.groups) {
    double before = groups->before.microseconds, after = groups->after.microseconds;
    std::string launches =
        llvm::formatv("{0} launches to {1}", groups->before.groups, groups->after.groups);
    table.add({"by groups", duration_text(before), duration_text(after), ratio_text(before / after),
               launches});
  }
  if (report.load_nodes_after > 0)
    table.add(
        {"at load", "", count_text(report.load_nodes_after), "", "computed once, from weights"});
  if (const auto& runs = report.comparison)
    table.add({"whole run", duration_text(runs->first_us), duration_text(runs->second_us),
               ratio_text(runs->ratio),
               report.source_returned ? "of the new graph; the source is returned"
               : runs->remembered     ? "as measured before"
                                      : "interleaved runs, least of 3"});
  table.print(out, color, 2);
}

void print_exploration(llvm::raw_ostream& out, const OptimizeReport& report) {
  if (report.searches == 0) return;
  bool extracts = report.extract != "none"; // otherwise the search went from graph to graph
  out << "  explored   ";
  if (extracts)
    out << counted(report.egraph_nodes, "e-node") << " in "
        << counted(report.egraph_classes, "class");
  else
    out << counted(report.egraphs, "graph") << " in " << counted(report.simulations, "move");
  out << " with " << counted(report.rules, "rule") << ", in "
      << duration_text(report.explore_s * 1e6) << "; stopped by: " << report.stopped_by << "\n";
  if (!extracts) return;
  out << "  extracted  " << report.extract << ", in " << duration_text(report.extract_s * 1e6);
  if (report.bounds_all()) {
    out << "; every graph here costs at least " << duration_text(*report.lower_bound_us);
    if (std::isfinite(report.bound_bytes))
      out << " (weights up to " << bytes_text(report.bound_bytes) << ")";
  }
  out << "\n";
}

/// Prints the time spent on timing operators, and the earlier searches, if operators were
/// timed on the way.
void print_settling(llvm::raw_ostream& out, const OptimizeReport& report) {
  constexpr double kWorthALine = 0.05;
  if (report.settle_s + report.placed_s < kWorthALine) return;
  out << "  timed      ";
  if (report.graphs_placed > 0)
    out << "operators within whole runs of " << counted(report.graphs_placed, "graph") << ", in "
        << duration_text(report.placed_s * 1e6);
  else
    out << "the deciding operators, in "
        << duration_text((report.settle_s + report.placed_s) * 1e6);
  if (report.searches > 1)
    out << "; " << report.searches << " searches, all but the last in "
        << duration_text(report.searched_before_s * 1e6);
  out << "\n";
}

void print_refinement(llvm::raw_ostream& out, const GroupReport& groups) {
  out << "  refined    by groups, in " << duration_text(groups.seconds * 1e6) << "; "
      << counted(groups.priced, "graph") << " priced, " << counted(groups.moves, "change");
  if (groups.ended) out << ", stopped by the time limit";
  if (groups.found) out << "; previously " << duration_text(groups.found->microseconds);
  out << "\n";
}

/// Returns "3.36x", or "1.05x to 3.36x", for the sizes at which the recipe was tried.
std::string gains_text(const OptimizeReport& report, size_t recipe) {
  double least = HUGE_VAL, most = 0;
  for (const SizeTrial& trial : report.tried) {
    if (trial.recipe != recipe) continue;
    double gain = trial.cost_before_us / trial.cost_after_us;
    least = std::min(least, gain), most = std::max(most, gain);
  }
  std::string low = ratio_text(least), high = ratio_text(most);
  return low == high ? low : low + " to " + high;
}

std::string tried_text(const OptimizeReport& report) {
  constexpr size_t kListed = 8;
  if (report.open_sizes.size() > 1 || report.tried.size() > kListed)
    return counted(report.tried.size(), "point") + " of the ranges";
  std::vector<std::string> sizes;
  for (const SizeTrial& trial : report.tried)
    sizes.push_back(llvm::StringRef(trial.at).split(" = ").second.str());
  llvm::sort(sizes, [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b); // as numbers
  });
  return (llvm::StringRef(report.tried[0].at).split(" = ").first + " = " + llvm::join(sizes, ", "))
      .str();
}

/// Prints the recipes of a model with open sizes, and how they are known to be right.
void print_sizes(llvm::raw_ostream& out, const OptimizeReport& report, bool color, bool verbose) {
  if (report.tried.empty()) return;
  Table recipes({{"recipe for"}, {"searched at"}, {"rewrites", Align::Right}, {"gain"}});
  for (size_t i = 0; i < report.recipes.size(); ++i)
    recipes.add({report.recipes[i].sizes, report.recipes[i].searched_at,
                 count_text(report.recipes[i].steps), gains_text(report, i)});
  out << "\n";
  recipes.print(out, color, 2);
  if (report.proved_for) out << "  proved for " << *report.proved_for << "\n";
  out << "  checked at " << tried_text(report) << "\n";
  if (!verbose) return;
  Table tried({{"at"},
               {"before", Align::Right},
               {"after", Align::Right},
               {"gain", Align::Right},
               {"skipped", Align::Right},
               {"recipe for"}});
  for (const SizeTrial& trial : report.tried)
    tried.add({trial.at, duration_text(trial.cost_before_us), duration_text(trial.cost_after_us),
               ratio_text(trial.cost_before_us / trial.cost_after_us), count_text(trial.skipped),
               report.recipes[trial.recipe].sizes +
                   (trial.source_returned ? ", but the source is cheaper" : "")});
  out << "\n";
  tried.print(out, color, 2);
}

void print_activity(llvm::raw_ostream& out, const OptimizeReport& report, bool color) {
  Table table({{"rule in the search"}, {"matched", Align::Right}, {"changed", Align::Right}});
  for (const RuleActivity& rule : report.activity)
    table.add({rule.rule, count_text(rule.matches), "x" + std::to_string(rule.applied)});
  table.print(out, color, 2);
}

} // namespace

void print_report(llvm::raw_ostream& out, const OptimizeReport& report, bool color, bool verbose) {
  out << report.model << "\n\n";
  print_costs(out, report, color);
  out << "\n";
  print_exploration(out, report);
  print_settling(out, report);
  if (verbose && report.groups) print_refinement(out, *report.groups);
  out << "  total      in " << duration_text(report.total_s * 1e6) << ", "
      << bytes_text(report.peak_memory_mb * 1024 * 1024) << " peak, seed " << report.seed << "\n";
  for (const std::string& note : report.notes) out << "  note       " << printable(note) << "\n";
  if (!report.rules_applied.empty()) {
    out << "\n";
    Table rules({{"rule"}, {"nodes created", Align::Right}});
    for (const RuleCount& rule : report.rules_applied)
      rules.add({rule.rule, "x" + std::to_string(rule.count)});
    rules.print(out, color, 2);
  }
  print_sizes(out, report, color, verbose);
  if (!verbose || report.activity.empty()) return;
  out << "\n";
  print_activity(out, report, color);
}

namespace {

/// Writes the optimised model. With --weights-out, values computed at load are written as weights.
/// A name that ends in .onnx gives an ONNX file, which has both.
Result<void> write_model(Session& session, const LoadedModel& source, const Graph& optimized,
                         std::vector<std::string>& notes) {
  const Options& o = session.options;
  if (is_onnx_path(o.out_file)) {
    TG_TRY(PrepareOptions options, prepare_options(o, source));
    TG_TRY(OnnxExport exported,
           export_onnx(source, optimized, options, static_cast<int>(o.opset), o.out_file));
    for (std::string& note : exported.notes) notes.push_back(std::move(note));
    if (source.kept && source.kept->has_nodes())
      notes.push_back("costs do not include the kept nodes");
    return {};
  }
  if (o.weights_out.empty()) return write_text_file(session, o.out_file, to_text(optimized));
  TG_TRY(PrepareOptions options, prepare_options(o, source));
  TG_TRY(Graph folded, save_folded(optimized, options, o.weights_out));
  return write_text_file(session, o.out_file, to_text(folded));
}

/// Notes that the file is for all sizes, and by which of several recipes.
void note_recipe(const LoadedAndOptimized& optimized, std::vector<std::string>& notes) {
  llvm::ArrayRef<OpenSize> sizes = optimized.open->sizes();
  notes.push_back("the file is for all sizes: " + text_of(sizes));
  if (optimized.recipes->recipes().size() > 1)
    notes.push_back("the file has the recipe that is best over the tried sizes, that of " +
                    text_of(sizes, optimized.recipes->best_overall().searched_at));
}

/// Writes one ONNX file for all open sizes, by the recipe that is best over the tried ones.
Result<void> write_open_onnx(Session& session, const LoadedAndOptimized& optimized,
                             std::vector<std::string>& notes) {
  const Options& o = session.options;
  const OpenModel& open = *optimized.open;
  const SizeRecipes::Serving& best = optimized.recipes->best_overall();
  auto at = [&](llvm::ArrayRef<int64_t> point) -> Result<LoadedModel> {
    TG_TRY(LoadedModel model, open.at(point));
    TG_TRY(RepeatedGraph repeated, repeat(best.recipe, model.graph));
    model.graph = std::move(repeated.graph);
    return model;
  };
  TG_TRY(PrepareOptions options, prepare_options(o, optimized.source));
  TG_TRY(OnnxExport exported,
         export_open_onnx(open.sizes(), at, options, static_cast<int>(o.opset), o.out_file));
  for (std::string& note : exported.notes) notes.push_back(std::move(note));
  note_recipe(optimized, notes);
  return {};
}

/// Returns generic text of the result by the recipe that is best over the tried sizes.
Result<std::string> generic_text(const LoadedAndOptimized& optimized) {
  const SizeRecipes::Serving& best = optimized.recipes->best_overall();
  auto rewrite = [&](const Graph& source) -> Result<Graph> {
    TG_TRY(RepeatedGraph repeated, repeat(best.recipe, source));
    return std::move(repeated.graph);
  };
  DiagnosticSink sink;
  std::optional<GenericModel> fitted = fit_model(*optimized.open, sink, nullptr, rewrite);
  if (!fitted) return first_error(sink);
  return fitted->text();
}

/// Writes the result: for all open sizes, or else for those of a plain run, with a note.
Result<void> write_result(Session& session, LoadedAndOptimized& optimized) {
  const Options& o = session.options;
  Optimized& result = optimized.best.result;
  std::vector<std::string>& notes = result.report.notes;
  const std::optional<OpenModel>& open = optimized.open;
  if (optimized.recipes && is_onnx_path(o.out_file))
    return write_open_onnx(session, optimized, notes);
  std::string reason = "set other sizes with --set";
  if (optimized.recipes && o.weights_out.empty()) {
    Result<std::string> text = generic_text(optimized);
    if (text) {
      note_recipe(optimized, notes);
      return write_text_file(session, o.out_file, *text);
    }
    reason = text.error().message;
  }
  if (open)
    notes.push_back("the file is for " + text_of(open->sizes(), open->sample()) +
                    " only: " + reason);
  return write_model(session, optimized.source, result.graph, notes);
}

size_t count_of(llvm::ArrayRef<RuleCount> counts, llvm::StringRef name) {
  const auto* row = llvm::find_if(counts, [&](const RuleCount& c) { return c.rule == name; });
  return row == counts.end() ? 0 : row->count;
}

/// Prints the composite operators of source and result, and what only looks like one.
void print_composites(llvm::raw_ostream& out, const Graph& source, const Graph& result,
                      bool color) {
  Composites before = composites_of(source), after = composites_of(result);
  std::vector<RuleCount> all = before.found;
  add_counts(all, after.found);
  llvm::sort(all, [](auto& a, auto& b) { return a.rule < b.rule; });
  Table counts({{"composite"}, {"source", Align::Right}, {"result", Align::Right}});
  for (const RuleCount& row : all)
    counts.add({row.rule, count_text(count_of(before.found, row.rule)),
                count_text(count_of(after.found, row.rule))});
  Table near({{"looks like"}, {"but"}, {"places", Align::Right}});
  for (const NearComposite& row : after.near)
    near.add({row.composite, row.reason, count_text(row.count)});
  for (Table* table : {&counts, &near}) {
    if (table->empty()) continue;
    out << "\n";
    table->print(out, color, 2);
  }
}

} // namespace

int run_opt(Session& session) {
  const Options& o = session.options;
  std::optional<LoadedAndOptimized> optimized = load_and_optimize(session);
  if (!optimized) return session.fail();
  Optimized& result = optimized->best.result;
  // With `-o -` the model goes to standard output, and the report elsewhere.
  bool model_to_stdout = o.out_file == "-";
  if (!o.out_file.empty())
    if (auto written = write_result(session, *optimized); !written)
      return session.fail(written.error());
  session.print_warnings();
  if (o.json) {
    session.out << report_json(result.report, o.priors) << "\n";
  } else if (!o.quiet) {
    llvm::raw_ostream& out = model_to_stdout ? session.err : session.out;
    print_report(out, result.report, session.color, o.verbose);
    if (o.verbose) print_composites(out, optimized->source.graph, result.graph, session.color);
  }
  return optimized->best.verified == Verified::Undecided ? kNotDecided : 0;
}

} // namespace tg::cli
