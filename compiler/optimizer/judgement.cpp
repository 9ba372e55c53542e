// See judgement.h: by price, by prices of groups, and by whole runs.
#include "compiler/optimizer/judgement.h"

#include "compiler/ir/graph.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

/// What the result costs by groups; whether that is more than the source does.
bool worse_by_groups(const Graph& result, GroupPricer& groups, OptimizeReport& report) {
  report.groups->after = groups.price({&result}).front();
  return costs_more(report.groups->after.microseconds, report.groups->before.microseconds);
}

/// Whether what is launched at once costs less than the source's, as far as that is known.
bool gains_by_groups(const OptimizeReport& report) {
  return !report.groups ||
         costs_more(report.groups->before.microseconds, report.groups->after.microseconds);
}

/// The source is the answer; why, for a person.
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

/// What was found, for a person.
std::string new_graph(const OptimizeReport& report) {
  return llvm::formatv("the new graph ({0} operators, {1:f1} us by the model)", report.nodes_after,
                       report.cost_after_us);
}

/// Why not the new graph, where there was no time to run both.
std::string why_unmet(const OptimizeReport& report, llvm::StringRef what_ended) {
  return llvm::formatv("{0} did not meet the source ({1}): the source is returned; with "
                       "`--finalists 0` prices alone decide",
                       new_graph(report), what_ended);
}

/// Why not the new graph, as measured: a fault, or what it gained.
std::string why_source(const OptimizeReport& report, const WholeRuns& runs) {
  std::string graph = new_graph(report);
  if (!runs.fault.empty()) return graph + " " + runs.fault + ": the source is returned";
  if (runs.times.cut)
    return why_unmet(
        report,
        llvm::formatv("the time was over after {0} runs of each", runs.times.first.runs).str());
  return llvm::formatv("as measured{3}, {0} is {1} ({2:f2}x): the source is returned", graph,
                       runs.times.second_slower() ? "slower" : "not faster beyond the noise",
                       runs.times.ratio,
                       runs.disturbance != Disturbance::None ? " while other work ran" : "");
}

/// Where no runs are to be had. A source that does not run here is too large, perhaps; what
/// operators cost is known all the same. Where it is time that lacks, nothing is known of the new
/// graph but its price, unless it met the source in an earlier search.
Optimized judge_without_runs(const Graph& source, Optimized optimized, const Diagnostic& why) {
  OptimizeReport& report = optimized.report;
  if (why.code != Code::limit_no_answer) {
    report.notes.push_back("whole runs were not possible, the prices decide: " + why.message);
    if (gains_by_groups(report)) return optimized;
    std::string note = new_graph(report) + " costs no less by what the device launches at once: "
                                           "the source is returned";
    return keep_source(source, std::move(report), std::move(note));
  }
  if (report.recalled_times) {
    report.comparison = report.recalled_times;
    return optimized;
  }
  std::string note = why_unmet(report, why.message);
  return keep_source(source, std::move(report), std::move(note));
}

/// Whether runs say that the new graph may take the source's place. What was guessed and not timed
/// is not given up for a machine's noise, unless it promised little: then there is little to lose,
/// and as much to be gained as other layouts in memory make from load to load. Runs have to show
/// what the price did not promise: an interval knows the noise of some seconds alone.
bool passes(const OptimizeReport& report, const WholeRuns& runs, bool must_gain) {
  constexpr double kLittle = 1.03;
  const Comparison& times = runs.times;
  if (times.cut) return false;
  if (must_gain || runs.in_parts || runs.disturbance != Disturbance::None)
    return times.second_faster();
  double promised = report.cost_before_us / report.cost_after_us;
  return promised >= kLittle ? times.ratio >= 1 : times.low >= kLittle / promised;
}

/// Runs both. The new graph has to give the same outputs and to be faster beyond the noise (where
/// it must gain), or not to be slower; a `fault` that is known is enough.
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

/// The rank of a graph among those that compute the same.
struct Rank {
  double cost_us = 0;
  size_t operators = 0;

  /// True if it costs less, or has fewer operators at an equal price. Prices that differ by less
  /// than the factor 1 + `noise` are equal.
  bool is_before(const Rank& other, double noise) const {
    if (costs_more(other.cost_us, cost_us * (1 + noise))) return true;
    return !costs_more(cost_us, other.cost_us) && operators < other.operators;
  }
};

enum class Preference { None, Source, Found };

/// Compares the source with the found graph, in the form in which they are used. Returns None if
/// they are equal there, or if both have the same rank and nothing `else_decides` (whole runs,
/// prices of groups). What an earlier search found keeps the prices of that search.
Preference compare_with_source(const Graph& source, const Candidate& found,
                               llvm::ArrayRef<Rule> rules, PriceCache& prices,
                               const OptimizeOptions& options, const OptimizeReport& report,
                               bool else_decides) {
  if (difference(source, found.graph).empty()) return Preference::None;
  constexpr double kNoiseOfForms = 1e-3; // no price of another runtime is known better
  Rank of_source{report.cost_before_us, source.op_count()};
  Rank of_found{found.cost_us, found.graph.op_count()};
  double noise = 0;
  auto used = [&](const Graph& graph) {
    return options.used_as ? options.used_as(graph) : std::nullopt;
  };
  if (std::optional<UsedForm> a = used(source), b = used(found.graph); a && b) {
    if (a->digest == b->digest) return Preference::None;
    bool in_time = !options.time.end().asked();
    auto rank = [&](const UsedForm& form) {
      double cost = in_time ? price_fused(form.graph, rules, prices, options.explore.numerics)
                            : price_graph(form.graph, prices);
      return Rank{cost, form.operators};
    };
    if (!report.recalled) of_source = rank(*a), of_found = rank(*b);
    noise = kNoiseOfForms;
    else_decides = false;
  }
  if (costs_more(of_found.cost_us, of_source.cost_us)) return Preference::Source;
  return else_decides || of_found.is_before(of_source, noise) ? Preference::Found
                                                              : Preference::None;
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
  report.found_other = changed || report.comparison; // or an earlier search did, whose result lost
  // Where whole runs are possible, they decide.
  if (pricing.groups && worse_by_groups(graph, *pricing.groups, report))
    worse |= changed && !runner;
  if (!changed || worse)
    return keep_source(source, std::move(report),
                       worse ? "nothing found costs less than the source" : "");
  Optimized result{std::move(graph), std::move(report)};
  if (!runner || result.report.comparison) return result;
  return judge_by_clock(source, std::move(result), std::move(found.fault), *runner,
                        options.must_gain);
}

} // namespace tg
