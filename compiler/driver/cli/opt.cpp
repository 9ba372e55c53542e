// `tg opt`: optimises a model, says what happened, writes the result as a .tg file.
#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/search_files.h"
#include "compiler/driver/cli/table.h"
#include "compiler/driver/weights.h"
#include "compiler/ir/to_text.h"
#include "lang/core/escape.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

namespace tg::cli {
namespace {

void write_counts(llvm::json::OStream& json, llvm::StringRef name,
                  llvm::ArrayRef<RuleCount> counts) {
  json.attributeObject(name, [&] {
    for (const RuleCount& rule : counts)
      json.attribute(rule.rule, static_cast<int64_t>(rule.count));
  });
}

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
               report.source_returned ? "the source is returned"
               : runs->remembered     ? "as measured before"
                                      : "medians of the least of 3, in turns"});
  table.print(out, color, 2);
}

void print_exploration(llvm::raw_ostream& out, const OptimizeReport& report) {
  if (report.searches == 0) return;
  bool extracts = report.extract != "none"; // else it went from graph to graph
  out << "  explored   ";
  if (extracts)
    out << count_text(report.egraph_nodes) << " e-nodes in " << count_text(report.egraph_classes)
        << " classes";
  else
    out << count_text(report.egraphs) << " graphs in " << count_text(report.simulations)
        << " moves";
  out << " with " << count_text(report.rules) << " rules, in "
      << duration_text(report.explore_s * 1e6) << "; stopped by: " << report.stopped_by << "\n";
  if (!extracts) return;
  out << "  extracted  " << report.extract << ", in " << duration_text(report.extract_s * 1e6);
  if (report.lower_bound_us)
    out << "; no graph here costs less than " << duration_text(*report.lower_bound_us);
  out << "\n";
}

/// Where operators were timed on the way: how long that took, and the searches before the last.
void print_settling(llvm::raw_ostream& out, const OptimizeReport& report) {
  constexpr double kWorthALine = 0.05;
  if (report.settle_s + report.placed_s < kWorthALine) return;
  out << "  timed      ";
  if (report.graphs_placed > 0)
    out << "operators within whole runs of "
        << (report.graphs_placed == 1 ? "1 graph" : count_text(report.graphs_placed) + " graphs")
        << ", in " << duration_text(report.placed_s * 1e6);
  else
    out << "what decides, in " << duration_text((report.settle_s + report.placed_s) * 1e6);
  if (report.searches > 1)
    out << "; " << report.searches << " searches, those before the last in "
        << duration_text(report.searched_before_s * 1e6);
  out << "\n";
}

void print_refinement(llvm::raw_ostream& out, const GroupReport& groups) {
  out << "  refined    by groups, in " << duration_text(groups.seconds * 1e6) << "; "
      << count_text(groups.priced) << " graphs priced, " << count_text(groups.moves) << " changes";
  if (groups.ended) out << ", ended by the clock";
  if (groups.found) out << "; before it " << duration_text(groups.found->microseconds);
  out << "\n";
}

void print_activity(llvm::raw_ostream& out, const OptimizeReport& report, bool color) {
  Table table({{"rule while exploring"}, {"matched", Align::Right}, {"changed", Align::Right}});
  for (const RuleActivity& rule : report.activity)
    table.add({rule.rule, count_text(rule.matches), "x" + std::to_string(rule.applied)});
  table.print(out, color, 2);
}

void write_groups(llvm::json::OStream& json, const GroupReport& groups) {
  write_number(json, "group_cost_before_us", groups.before.microseconds);
  write_number(json, "group_cost_found_us",
               groups.found ? groups.found->microseconds : std::nan(""));
  write_number(json, "group_cost_after_us", groups.after.microseconds);
  json.attribute("groups_before", static_cast<int64_t>(groups.before.groups));
  json.attribute("groups_after", static_cast<int64_t>(groups.after.groups));
  json.attribute("groups_priced", static_cast<int64_t>(groups.priced));
  json.attribute("groups_moves", static_cast<int64_t>(groups.moves));
  json.attribute("groups_ended", groups.ended);
  write_number(json, "groups_s", groups.seconds);
}

void write_bounds(llvm::json::OStream& json, const OptimizeReport& report) {
  json.attributeArray("bounds", [&] {
    for (const GraphBound& bound : report.bounds)
      json.object([&] {
        write_number(json, "lower_bound_us", std::min(bound.lower_us, report.cost_after_us));
        json.attribute("optimal", bound.optimal());
        json.attribute("egraph_nodes", static_cast<int64_t>(bound.nodes));
        json.attribute("filtered", static_cast<int64_t>(bound.filtered));
        json.attribute("of_source", bound.of_source);
        json.attribute("saturated", bound.saturated);
        json.attribute("multi_iterations", bound.multi_iterations);
      });
  });
}

} // namespace

void write_report(llvm::json::OStream& json, const OptimizeReport& report) {
  json.attribute("model", report.model);
  json.attribute("search", report.search);
  json.attribute("extract", report.extract);
  json.attribute("cost_model", report.cost_model);
  json.attribute("rules", static_cast<int64_t>(report.rules));
  json.attribute("nodes_before", static_cast<int64_t>(report.nodes_before));
  json.attribute("nodes_after", static_cast<int64_t>(report.nodes_after));
  json.attribute("load_nodes_after", static_cast<int64_t>(report.load_nodes_after));
  write_number(json, "cost_before_us", report.cost_before_us);
  write_number(json, "cost_after_us", report.cost_after_us);
  write_number(json, "lower_bound_us", report.lower_bound_us.value_or(std::nan("")));
  if (report.lower_bound_us && !report.bounds.empty()) write_bounds(json, report);
  json.attribute("optimal", report.optimal);
  json.attribute("egraph_nodes", static_cast<int64_t>(report.egraph_nodes));
  json.attribute("egraph_classes", static_cast<int64_t>(report.egraph_classes));
  write_number(json, "explore_s", report.explore_s);
  write_number(json, "extract_s", report.extract_s);
  json.attribute("searches", static_cast<int64_t>(report.searches));
  write_number(json, "searched_before_s", report.searched_before_s);
  write_number(json, "settle_s", report.settle_s);
  json.attribute("graphs_placed", static_cast<int64_t>(report.graphs_placed));
  write_number(json, "placed_s", report.placed_s);
  write_number(json, "finalists_s", report.finalists_s);
  write_number(json, "total_s", report.total_s);
  write_number(json, "peak_memory_mb", report.peak_memory_mb);
  json.attribute("seed", report.seed);
  json.attribute("stopped_by", report.stopped_by);
  json.attribute("simulations", static_cast<int64_t>(report.simulations));
  json.attribute("decisions", static_cast<int64_t>(report.decisions));
  json.attribute("egraphs", static_cast<int64_t>(report.egraphs));
  json.attribute("stretches", static_cast<int64_t>(report.stretches));
  json.attribute("distinct_stretches", static_cast<int64_t>(report.distinct_stretches));
  write_number(json, "search_memory_mb", report.search_memory_mb);
  json.attribute("changed", report.changed);
  json.attribute("recalled", report.recalled);
  write_counts(json, "rules_applied", report.rules_applied);
  if (!report.chain_steps.empty()) write_counts(json, "chain_steps", report.chain_steps);
  if (report.groups) write_groups(json, *report.groups);
  if (report.comparison) {
    write_number(json, "median_before_us", report.comparison->first.median_us);
    write_number(json, "median_after_us", report.comparison->second.median_us);
    json.attribute("remembered", report.comparison->remembered);
    write_number(json, "speedup", report.source_returned ? 1.0 : report.comparison->ratio);
  }
  if (report.comparison || report.source_returned) {
    json.attribute("source_returned", report.source_returned);
    json.attribute("finalists", static_cast<int64_t>(report.finalists));
  }
  json.attributeArray("notes", [&] {
    for (const std::string& note : report.notes) json.value(note);
  });
}

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
    Table rules({{"rule"}, {"nodes made", Align::Right}});
    for (const RuleCount& rule : report.rules_applied)
      rules.add({rule.rule, "x" + std::to_string(rule.count)});
    rules.print(out, color, 2);
  }
  if (!verbose || report.activity.empty()) return;
  out << "\n";
  print_activity(out, report, color);
}

namespace {

/// The optimised model; with --weights-out as one that has nothing left to compute at load, and its
/// weights.
Result<void> write_model(Session& session, const Graph& source, const Graph& optimized) {
  const Options& o = session.options;
  if (o.weights_out.empty()) return write_text_file(session, o.out_file, to_text(optimized));
  TG_TRY(PrepareOptions options, prepare_options(o, source));
  Folded folded = fold_weights(optimized);
  TG_CHECK(save_folded_weights(folded, options, o.weights_out));
  return write_text_file(session, o.out_file, to_text(folded.graph));
}

} // namespace

int run_opt(Session& session) {
  const Options& o = session.options;
  std::optional<LoadedAndOptimized> optimized = load_and_optimize(session);
  if (!optimized) return session.fail();
  const Optimized& result = optimized->best.result;
  // With `-o -` the model takes standard output, and the report makes room.
  bool model_to_stdout = o.out_file == "-";
  if (!o.out_file.empty())
    if (auto written = write_model(session, optimized->source, result.graph); !written)
      return session.fail(written.error());
  session.print_warnings();
  if (o.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] {
      write_report(json, result.report);
      json.attribute("priors", o.priors); // input, as the model, rules and seed are
    });
    session.out << "\n";
  } else if (!o.quiet) {
    print_report(model_to_stdout ? session.err : session.out, result.report, session.color,
                 o.verbose);
  }
  return optimized->best.verified == Verified::Undecided ? kNotDecided : 0;
}

} // namespace tg::cli
