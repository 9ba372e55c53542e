// Implements judgement.h: by price, by prices of groups, and by whole runs.
#include "compiler/optimizer/judgement.h"

#include "compiler/ir/graph.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/form_comparison.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

/// Prices the result by groups. Returns true if it costs more than the source.
bool worse_by_groups(const Graph& result, GroupPricer& groups, ExtractionSection& report) {
  report.groups->after = groups.price({&result}).front();
  return costs_more(report.groups->after.microseconds, report.groups->before.microseconds);
}

/// Returns true if the result costs less than the source by groups, or these have no prices.
bool gains_by_groups(const ExtractionSection& report) {
  return !report.groups ||
         costs_more(report.groups->before.microseconds, report.groups->after.microseconds);
}

/// Returns the source, with a note if there is a reason to tell.
Optimized keep_source(const Graph& source, OptimizeReport report, std::string why) {
  report.source_returned = report.found_other;
  report.cost_after_us = report.cost_before_us;
  report.nodes_after = report.nodes_before;
  report.optimal &=
      report.lower_bound_us && !costs_more(report.cost_before_us, *report.lower_bound_us);
  report.load_nodes_after = source.op_count() - report.nodes_before;
  report.rules_applied.clear();
  if (report.groups) report.groups->after = report.groups->before;
  if (!why.empty()) report.notes.push_back(std::move(why));
  return {source, std::move(report)};
}

/// Describes the found graph for a note.
std::string new_graph(const ResultSection& report) {
  return llvm::formatv("the new graph ({0} operators, {1:f1} us by the model)", report.nodes_after,
                       report.cost_after_us);
}

/// The note for a found graph that there was no time to run.
std::string unmeasured_note(const ResultSection& report, llvm::StringRef what_ended) {
  return llvm::formatv("{0} was not timed against the source ({1}): the source is returned; with "
                       "`--finalists 0`, prices alone decide",
                       new_graph(report), what_ended);
}

/// The note for a found graph that has a fault or is not faster.
std::string why_source(const ResultSection& report, const WholeRuns& runs) {
  std::string graph = new_graph(report);
  if (!runs.fault.empty()) return graph + " " + runs.fault + ": the source is returned";
  if (runs.times.cut)
    return unmeasured_note(
        report,
        llvm::formatv("the time limit was reached after {0} runs of each", runs.times.first.runs)
            .str());
  return llvm::formatv("as measured{3}, {0} is {1} ({2:f2}x): the source is returned", graph,
                       runs.times.second_slower() ? "slower" : "not faster beyond noise",
                       runs.times.ratio,
                       runs.disturbance != Disturbance::None ? " while other programs ran" : "");
}

/// Judges without whole runs. If the source does not run here, it may be too large, and prices
/// decide. If there was no time, only the price of the found graph is known, unless it was run
/// beside the source in an earlier search.
Optimized judge_without_runs(const Graph& source, Optimized optimized, const Diagnostic& why) {
  OptimizeReport& report = optimized.report;
  if (why.code != Code::limit_no_answer) {
    report.notes.push_back("whole runs were not possible, so prices decide: " + why.message);
    if (gains_by_groups(report)) return optimized;
    std::string note = new_graph(report) + " is not cheaper by the prices of operator groups: "
                                           "the source is returned";
    return keep_source(source, std::move(report), std::move(note));
  }
  if (report.recalled_times) {
    report.comparison = report.recalled_times;
    return optimized;
  }
  std::string note = unmeasured_note(report, why.message);
  return keep_source(source, std::move(report), std::move(note));
}

/// Returns true if runs allow the found graph to replace the source. A gain by guessed prices is
/// only given up for measurement noise if it is small. Then little is lost, and other memory
/// layouts change as much from load to load. A gain that prices do not predict must be shown by
/// runs, because an interval covers the noise of a few seconds only.
bool passes(const ResultSection& report, const WholeRuns& runs, bool must_gain) {
  constexpr double kLittle = 1.03;
  const Comparison& times = runs.times;
  if (times.cut) return false;
  if (must_gain || runs.in_parts || runs.disturbance != Disturbance::None)
    return times.second_faster();
  double promised = report.cost_before_us / report.cost_after_us;
  return promised >= kLittle ? times.ratio >= 1 : times.low >= kLittle / promised;
}

/// Runs both graphs. The new one must have the same outputs, and must be faster beyond the noise
/// (if `must_gain`), or else not slower. A known `fault` decides without a run.
Optimized judge_by_clock(const Graph& source, Optimized optimized, std::string fault,
                         FinalistRunner& finalists, bool must_gain) {
  Stopwatch watch;
  Result<WholeRuns> runs = fault.empty() ? finalists.compare(source, optimized.graph)
                                         : Result<WholeRuns>(WholeRuns{{}, std::move(fault)});
  optimized.report.finalists_s += watch.seconds();
  optimized.report.tried_us = optimized.report.cost_after_us;
  if (!runs) return judge_without_runs(source, std::move(optimized), runs.error());
  if (!runs->note.empty()) optimized.report.notes.push_back(runs->note);
  optimized.report.disturbance = runs->disturbance;
  optimized.report.slow_machine = runs->slow_machine;
  if (runs->fault.empty()) {
    if (!runs->times.cut) optimized.report.comparison = runs->times;
    if (passes(optimized.report, *runs, must_gain)) return optimized;
  }
  OptimizeReport report = std::move(optimized.report);
  std::string why = why_source(report, *runs);
  return keep_source(source, std::move(report), std::move(why));
}

/// Compares the source with the found graph, in the form in which they are used. Returns None if
/// they are equal in that form, or if both have the same rank and nothing `else_decides` (whole
/// runs, prices of groups). Results of earlier searches keep their prices.
Preference compare_with_source(const Graph& source, const Candidate& found,
                               llvm::ArrayRef<Rule> rules, PriceCache& prices,
                               const OptimizeOptions& options, const OptimizeReport& report,
                               bool else_decides) {
  if (difference(source, found.graph).empty()) return Preference::None;
  auto used = [&](const Graph& graph) {
    return options.used_as ? options.used_as(graph) : std::nullopt;
  };
  if (std::optional<UsedForm> a = used(source), b = used(found.graph); a && b) {
    if (!report.recalled) return FormComparison(rules, prices, options).prefer(*a, *b);
    if (a->digest == b->digest) return Preference::None;
    else_decides = false;
  }
  GraphRank of_source{report.cost_before_us, source.op_count()};
  GraphRank of_found{found.cost_us, found.graph.op_count()};
  if (costs_more(of_found.cost_us, of_source.cost_us)) return Preference::Source;
  return else_decides || of_found.is_before(of_source) ? Preference::Found : Preference::None;
}

} // namespace

Optimized judge(const Graph& source, Finalist& found, llvm::ArrayRef<Rule> rules,
                const PricingContext& pricing, const OptimizeOptions& options,
                OptimizeReport report) {
  Graph& graph = found.candidate.graph;
  FinalistRunner* runner = pricing.runner;
  Preference preferred = compare_with_source(source, found.candidate, rules, pricing.prices,
                                             options, report, runner || pricing.groups);
  bool changed = preferred != Preference::None, worse = preferred == Preference::Source;
  report.found_other = changed || report.comparison; // or an earlier search, whose result lost
  // Whole runs decide if they are possible.
  if (pricing.groups && worse_by_groups(graph, *pricing.groups, report))
    worse |= changed && !runner;
  if (!changed || worse)
    return keep_source(source, std::move(report),
                       worse ? "no graph was found that costs less than the source" : "");
  Optimized result{std::move(graph), std::move(report)};
  if (!runner || result.report.comparison) return result;
  return judge_by_clock(source, std::move(result), std::move(found.fault), *runner,
                        options.must_gain);
}

} // namespace tg
