// Search, and check the result against the source: by price always, by outputs and the clock where
// prices are measured.
#include "compiler/optimizer/optimize.h"

#include "compiler/optimizer/candidate.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/finalists.h"
#include "compiler/optimizer/group_refinement.h"
#include "compiler/optimizer/settled_search.h"
#include "compiler/optimizer/strategy/strategy.h"

#include "compiler/ir/graph.h"
#include "compiler/rules/book.h"
#include "compiler/rules/text.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

#include <sys/resource.h>

namespace tg {
namespace {

/// The most memory that this process has held so far.
double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

constexpr size_t kTreeNodes = 2'000; // of each e-graph of a tree search, as published

/// Operators that the outputs need and that each run computes.
size_t run_op_count(const Graph& graph) {
  std::vector<bool> needed = graph.reachable();
  size_t count = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (needed[i] && !node.weight_only && !op_info(node.op).has(Trait::Leaf)) ++count;
  }
  return count;
}

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

/// Whether the result says something of other days: it met its source while nobody took much of
/// the machine, or nothing was found that could.
bool lasting(const OptimizeReport& report) {
  bool met = report.comparison || !report.found_other;
  return met && !report.recalled && report.disturbance != Disturbance::Heavy;
}

void keep_lasting(const Graph& source, llvm::ArrayRef<Rule> rules, const OptimizeOptions& options,
                  const Optimized& result, FinalistRunner* finalists) {
  if (finalists && lasting(result.report)) finalists->keep(source, rules, options, result);
}

/// Whoever follows the search has seen its way, and now sees what it came to: kernels that the
/// device has for parts of it are taken at the end.
void tell_result(const OptimizeOptions& options, const OptimizeReport& report) {
  if (!options.portfolio.progress) return;
  SearchProgress end{report.explore_s + report.extract_s, options.explore.time_limit_s,
                     report.cost_before_us, report.cost_after_us};
  end.nodes = report.egraph_nodes;
  end.simulations = report.simulations;
  end.where = "result";
  options.portfolio.progress(end);
}

/// For whoever follows the search, now or by its trace. Searches in one e-graph are one step from
/// source to result.
void note_result(const OptimizeOptions& options, const OptimizeReport& report) {
  tell_result(options, report);
  SearchTrace* trace = options.trace;
  if (!trace) return;
  if (trace->points.empty() || trace->points.front().where != "source")
    trace->points.insert(trace->points.begin(), {0, report.cost_before_us, 0, 0, "source"});
  trace->points.push_back({report.explore_s + report.extract_s, report.cost_after_us,
                           report.simulations, report.egraph_nodes, "result"});
  if (!trace->steps.empty() || report.rules_applied.empty()) return;
  SearchTrace::Step step{"whole network", {}, report.cost_before_us, report.cost_after_us};
  step.rules = report.rules_applied;
  trace->steps.push_back(std::move(step));
}

/// The options with the limits of search and extraction, which the plan of the time says.
OptimizeOptions with_shared_time(const OptimizeOptions& given) {
  OptimizeOptions out = given;
  SearchTime time =
      given.time.search({.extracts_at_the_end = strategy_of(given).extracts_at_the_end(),
                         .greedy = is_greedy(given.extract.extractor),
                         .explains = given.explain});
  out.explore.trace = given.trace;
  out.explore.stop = time.explore; // prices that are timed included
  out.explore.time_limit_s = std::min(given.explore.time_limit_s, time.explore_s);
  out.settle_time_s = std::min(given.settle_time_s, time.settle_s);
  out.extract.stop = time.extract;
  return out;
}

/// Rules of the result that take finite tensors for granted.
void note_assumptions(llvm::ArrayRef<Rule> rules, OptimizeReport& report) {
  std::string names;
  for (const RuleCount& used : report.rules_applied)
    for (const Rule& rule : rules)
      if (rule.name == used.rule && !rule.finite.empty())
        names += (names.empty() ? "" : ", ") + rule.name;
  if (!names.empty())
    report.notes.push_back(
        "takes it for granted that no input or weight holds an infinity or NaN: " + names);
}

/// Rules of the user's own that `--numerics` leaves out, which nobody should have to find out.
void note_left_out(llvm::ArrayRef<Rule> rules, Numerics numerics, OptimizeReport& report) {
  std::string names;
  Numerics least = Numerics::Reassociates; // admits what is exact where inputs are finite
  for (const Rule& rule : rules) {
    if (rule.with_program || admits(numerics, rule)) continue;
    llvm::StringRef why = rule.numerics > numerics ? numerics_name(rule.numerics) : "finite(..)";
    names += llvm::formatv("{0}{1} ({2})", names.empty() ? "" : ", ", rule.name, why);
    least = std::max(least, rule.numerics);
  }
  if (names.empty()) return;
  llvm::StringRef option = least == Numerics::Lossy   ? "lossy"
                           : least == Numerics::Risky ? "all"
                                                      : "reassociate";
  report.notes.push_back(
      llvm::formatv("rules left out, which `--numerics {0}` uses: {1}", option, names));
}

/// How large what was found is. Errors: `internal`, in builds that verify.
Result<void> note_found(const Graph& found, OptimizeReport& report) {
#ifdef TG_VERIFY
  if (std::string fault = verify(found); !fault.empty())
    return error(Code::internal, "the optimised graph of `{0}` is not well formed: {1}",
                 report.model, fault);
#endif
  report.nodes_after = run_op_count(found);
  report.load_nodes_after = found.op_count() - report.nodes_after;
  return {};
}

/// How the result, which may be the source, follows from the source.
void explain(const Graph& source, bool is_source, Candidate& found, llvm::ArrayRef<Rule> rules,
             Optimized& result) {
  result.chain = is_source ? derivation_of(source) : std::move(found.chain);
  result.unexplained = is_source ? "" : found.unexplained;
  if (result.chain) result.report.chain_steps = count_rules(*result.chain, rules);
}

/// What is known in the end alone.
void finish(const CostModel& costs, llvm::ArrayRef<Rule> rules, const Stopwatch& watch,
            OptimizeReport& report) {
  llvm::sort(report.rules_applied);
  llvm::append_range(report.notes, costs.notes());
  note_assumptions(rules, report);
  report.total_s = watch.seconds();
  report.peak_memory_mb = peak_memory_mb();
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

bool occurs(const Graph& graph, OpKind op) {
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph.node({i}).op == op) return true;
  return false;
}

/// Why there are no prices, as of a GPU that was lost, is why there is no result.
Diagnostic with_notes(Diagnostic failure, const CostModel& costs) {
  for (std::string& note : costs.notes()) failure.note(std::move(note));
  return failure;
}

} // namespace

void set_limits(OptimizeOptions& options, double time_limit_s, int64_t node_limit, bool guessed) {
  SearchStrategy::Limits suits = strategy_of(options).limits(guessed);
  if (time_limit_s < 0) time_limit_s = suits.time_limit_s;
  options.explore.time_limit_s = options.extract.ilp.time_limit_s = time_limit_s;
  options.refine.time_limit_s = std::min(options.refine.time_limit_s, time_limit_s);
  auto nodes = [&](size_t otherwise) {
    return node_limit > 0 ? static_cast<size_t>(node_limit) : otherwise;
  };
  options.explore.node_limit = nodes(suits.node_limit);
  options.portfolio.mcts.explore.node_limit = nodes(kTreeNodes);
}

Result<Optimized> optimize(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                           const OptimizeOptions& given, FinalistRunner* finalists,
                           CostModel* second_opinion) {
  Stopwatch watch;
  OptimizeOptions options = with_shared_time(given);
  OptimizeReport report;
  report.model = source.name();
  report.search = search_name(options).str();
  report.extract = extractor_name(options.extract.extractor).str();
  report.cost_model = costs.name();
  report.seed = options.explore.seed;
  report.rules = static_cast<size_t>(llvm::count(
      rules_in_use(rules, options.explore.numerics, [&](OpKind op) { return occurs(source, op); }),
      true));
  note_left_out(rules, options.explore.numerics, report);
  report.nodes_before = report.nodes_after = run_op_count(source);
  PriceCache prices(source.symbols(), costs);
  report.cost_before_us = price_graph(source, prices);
  if (!std::isfinite(report.cost_before_us) && options.time.end().asked())
    return error(Code::limit_no_answer, "the operators of `{0}` were not priced in time",
                 source.name());

  std::vector<Candidate> others;
  GroupPricer* groups = options.groups ? costs.groups() : nullptr;
  if (groups && !note_groups(source, *groups, report)) groups = nullptr;
  bool several = (finalists || groups) && options.finalists > 1;
  PricingContext pricing{
      costs,  prices,   finalists ? second_opinion : nullptr, several ? &others : nullptr,
      groups, finalists};
  Result<Candidate> found = find_settled(source, rules, pricing, options, report);
  if (!found) return with_notes(std::move(found.error()), costs);
  Finalist chosen{std::move(*found)};
  if (groups) refine_candidate(source, rules, pricing, options, chosen.candidate, report);
  auto complete = [&](Candidate& one) { add_kernels(one, rules, prices, options); };
  if (several && finalists)
    chosen = choose_finalist(source, std::move(chosen.candidate), std::move(others), *finalists,
                             {options.finalists, costs.groups(), complete}, report);
  Candidate& extracted = chosen.candidate;
  note_result(options, report);
  if (auto sound = note_found(extracted.graph, report); !sound) return std::move(sound.error());
  Preference preferred =
      compare_with_source(source, extracted, rules, prices, options, report, finalists || groups);
  bool changed = preferred != Preference::None, worse = preferred == Preference::Source;
  report.found_other = changed || report.comparison; // or an earlier search did, whose result lost
  // Where whole runs are possible, they decide.
  if (groups && worse_by_groups(extracted.graph, *groups, report)) worse |= changed && !finalists;
  Optimized result = !changed || worse
                         ? keep_source(source, std::move(report),
                                       worse ? "nothing found costs less than the source" : "")
                         : Optimized{std::move(extracted.graph), std::move(report)};
  if (finalists && changed && !worse && !result.report.comparison)
    result = judge_by_clock(source, std::move(result), std::move(chosen.fault), *finalists,
                            options.must_gain);
  result.report.judging_s =
      std::max(result.report.judging_s, result.report.placed_s + result.report.finalists_s);
  if (costs.guesses()) keep_lasting(source, rules, options, result, finalists);
  if (options.explain) explain(source, !result.report.changed(), extracted, rules, result);
  finish(costs, rules, watch, result.report);
  return result;
}

} // namespace tg
