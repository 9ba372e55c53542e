#include "compiler/report/report_json.h"

#include "compiler/api/files/json_files.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/explanation.h"

#include <algorithm>
#include <cmath>

namespace tg {
namespace {

void write_counts(llvm::json::OStream& json, llvm::StringRef name,
                  llvm::ArrayRef<RuleCount> counts) {
  json.attributeObject(name, [&] {
    for (const RuleCount& rule : counts)
      json.attribute(rule.rule, static_cast<int64_t>(rule.count));
  });
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
        write_number(json, "most_bytes", bound.most_bytes);
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
  write_number(json, "bound_bytes", report.bound_bytes);
  json.attribute("optimal", report.optimal && report.bounds_all());
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
  json.attribute("segments", static_cast<int64_t>(report.segments));
  json.attribute("distinct_segments", static_cast<int64_t>(report.distinct_segments));
  write_number(json, "search_memory_mb", report.search_memory_mb);
  json.attribute("changed", report.changed());
  json.attribute("source_returned", report.source_returned);
  json.attribute("recalled", report.recalled);
  write_counts(json, "rules_applied", report.rules_applied);
  if (!report.chain_steps.empty()) write_counts(json, "chain_steps", report.chain_steps);
  if (report.groups) write_groups(json, *report.groups);
  if (report.comparison) {
    write_number(json, "median_before_us", report.comparison->first_us);
    write_number(json, "median_after_us", report.comparison->second_us);
    json.attribute("remembered", report.comparison->remembered);
    write_number(json, "speedup", !report.changed() ? 1.0 : report.comparison->ratio);
  }
  if (report.comparison || report.source_returned) {
    json.attribute("finalists", static_cast<int64_t>(report.finalists));
  }
  json.attributeArray("notes", [&] {
    for (const std::string& note : report.notes) json.value(note);
  });
}

void write_report(llvm::json::OStream& json, const OptimizeReport& report, llvm::StringRef priors) {
  write_report(json, report);
  json.attribute("priors", priors);
}

std::string report_json(const OptimizeReport& report, llvm::StringRef priors) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, 2);
  json.object([&] { write_report(json, report, priors); });
  out.flush();
  return text;
}

std::vector<tangram::Step> steps_of(const Derivation& chain, llvm::ArrayRef<Rule> rules) {
  std::vector<tangram::Step> steps;
  for (const DerivationStep& step : chain.steps) {
    const Rule& rule = rules[step.rule];
    steps.push_back({rule.name, rule.set, rule.built_in, rule.file, rule.line, !step.forward,
                     to_text(step_fragment(chain, step, rule, true)),
                     to_text(step_fragment(chain, step, rule, false)),
                     step_leaves(chain, step, rule)});
  }
  return steps;
}

void write_chain(llvm::json::OStream& json, llvm::StringRef name,
                 llvm::ArrayRef<tangram::Step> steps) {
  json.attributeArray(name, [&] {
    for (const tangram::Step& step : steps)
      json.object([&] {
        json.attribute("rule", step.rule);
        json.attribute("file", step.file);
        json.attribute("line", static_cast<int64_t>(step.line));
        json.attribute("backwards", step.backwards);
        json.attribute("before", step.before);
        json.attribute("after", step.after);
        json.attribute("where", step.where);
      });
  });
}

} // namespace tg
