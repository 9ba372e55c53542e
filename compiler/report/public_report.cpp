#include "compiler/report/public_report.h"

#include <algorithm>
#include <limits>

namespace tg {

namespace {

tangram::RuleCounts to_public(const RuleCounts& counts) {
  tangram::RuleCounts out;
  for (const RuleCount& rule : counts) out.emplace_back(rule.rule, rule.count);
  return out;
}
std::vector<tangram::SizeRecipe> to_public(const std::vector<SizeRecipe>& recipes) {
  std::vector<tangram::SizeRecipe> out;
  for (const SizeRecipe& from : recipes) {
    tangram::SizeRecipe& to = out.emplace_back();
#define TG_SIZE_RECIPE(type, field, value, meaning) to.field = from.field;
#include "compiler/optimizer/report.def"
  }
  return out;
}
std::vector<tangram::SizeTrial> to_public(const std::vector<SizeTrial>& tried) {
  std::vector<tangram::SizeTrial> out;
  for (const SizeTrial& from : tried) {
    tangram::SizeTrial& to = out.emplace_back();
#define TG_SIZE_TRIAL(type, field, value, meaning) to.field = from.field;
#include "compiler/optimizer/report.def"
  }
  return out;
}
template <class T> const T& to_public(const T& value) { return value; }

std::vector<tangram::Bound> to_public(const OptimizeReport& from) {
  std::vector<tangram::Bound> out;
  for (const GraphBound& bound : from.bounds)
    out.push_back({.lower_bound_us = std::min(bound.lower_us, from.cost_after_us),
                   .optimal = bound.optimal(),
                   .egraph_nodes = bound.nodes,
                   .filtered = bound.filtered,
                   .of_source = bound.of_source,
                   .saturated = bound.saturated,
                   .multi_iterations = static_cast<size_t>(bound.multi_iterations),
                   .most_bytes = bound.most_bytes});
  return out;
}

void derive(const GroupReport& groups, tangram::report_sections::Extraction& out) {
  out.group_cost_before_us = groups.before.microseconds;
  out.group_cost_found_us =
      groups.found ? groups.found->microseconds : std::numeric_limits<double>::quiet_NaN();
  out.group_cost_after_us = groups.after.microseconds;
  out.groups_before = groups.before.groups;
  out.groups_after = groups.after.groups;
  out.groups_priced = groups.priced;
  out.groups_moves = groups.moves;
  out.groups_ended = groups.ended;
  out.groups_s = groups.seconds;
}

void derive(const RunsSection& from, tangram::report_sections::Runs& out) {
  out.changed = from.changed();
  if (from.comparison || from.source_returned) out.finalists = from.finalists;
  if (!from.comparison) return;
  out.median_before_us = from.comparison->first_us;
  out.median_after_us = from.comparison->second_us;
  out.remembered = from.comparison->remembered;
  out.speedup = out.changed ? from.comparison->ratio : 1;
}

} // namespace

tangram::Report public_report(const OptimizeReport& from) {
  tangram::Report out;
#define TG_COPY_Filled_(field) out.field = to_public(from.field);
#define TG_COPY_Derived_(field)
#define TG_ROW(section, origin, written, type, field, value, meaning) TG_COPY_##origin##_(field)
#include "compiler/optimizer/report.def"
#undef TG_COPY_Filled_
#undef TG_COPY_Derived_
  out.optimal = from.optimal && from.bounds_all();
  if (from.lower_bound_us) out.bounds = to_public(from);
  if (from.groups) derive(*from.groups, out);
  derive(from, static_cast<tangram::report_sections::Runs&>(out));
  return out;
}

} // namespace tg
