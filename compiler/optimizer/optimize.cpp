// The six steps of an optimisation: price the source, search, choose a finalist, search again from
// the form in which it is used, judge it against the source, conclude the report.
#include "compiler/optimizer/optimize.h"

#include "compiler/optimizer/candidate.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/form_comparison.h"
#include "compiler/optimizer/group_refinement.h"
#include "compiler/optimizer/judgement.h"
#include "compiler/optimizer/refined_search.h"
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

/// Returns the peak memory of this process.
double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

constexpr size_t kTreeNodes = 2'000; // per e-graph of a tree search, as published

/// Returns the number of operators that the outputs need and that are computed in each run.
size_t run_op_count(const Graph& graph) {
  std::vector<bool> needed = graph.reachable();
  size_t count = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    if (needed[i] && !node.weight_only && !op_info(node.op).has(Trait::Leaf)) ++count;
  }
  return count;
}

/// Returns true if the result is worth keeping for later searches: it was run beside its source
/// while other programs took little of the machine, or nothing was found.
bool lasting(const RunsSection& report) {
  bool met = report.comparison || !report.found_other;
  return met && !report.recalled && report.disturbance != Disturbance::Heavy;
}

void keep_lasting(const Graph& source, llvm::ArrayRef<Rule> rules, const OptimizeOptions& options,
                  const Optimized& result, FinalistRunner* finalists) {
  if (finalists && lasting(result.report)) finalists->keep(source, rules, options, result);
}

/// Notifies the listener of the search of the final result, which may include kernels added at the
/// end.
void notify_result(const OptimizeOptions& options, const OptimizeReport& report) {
  if (!options.portfolio.progress) return;
  SearchProgress end{report.explore_s + report.extract_s, options.explore.time_limit_s,
                     report.cost_before_us, report.cost_after_us};
  end.nodes = report.egraph_nodes;
  end.simulations = report.simulations;
  end.where = "result";
  options.portfolio.progress(end);
}

/// Records the result for the listener and the trace. A search in one e-graph is a single step from
/// source to result.
void note_result(const OptimizeOptions& options, const OptimizeReport& report) {
  notify_result(options, report);
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

/// Notes rules of the result that assume finite tensors.
void note_assumptions(llvm::ArrayRef<Rule> rules, ResultSection& report) {
  std::string names;
  for (const RuleCount& used : report.rules_applied)
    for (const Rule& rule : rules)
      if (rule.name == used.rule && !rule.finite.empty())
        names += (names.empty() ? "" : ", ") + rule.name;
  if (!names.empty())
    report.notes.push_back("assumes that no input or weight contains an infinity or NaN: " + names);
}

/// Notes the user's own rules that `--numerics` leaves out.
void note_left_out(llvm::ArrayRef<Rule> rules, Numerics numerics, ResultSection& report) {
  std::string names;
  Numerics least = Numerics::Reassociates; // admits rules that are exact for finite inputs
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
      llvm::formatv("rules not used without `--numerics {0}`: {1}", option, names));
}

/// Notes the size of the found graph. Errors: `internal`, in builds that verify.
Result<void> note_found(const Graph& found, ResultSection& report) {
#ifdef TG_VERIFY
  if (std::string fault = verify(found); !fault.empty())
    return error(Code::internal, "the optimised graph of `{0}` is not well formed: {1}",
                 report.model, fault);
#endif
  report.nodes_after = run_op_count(found);
  report.load_nodes_after = found.op_count() - report.nodes_after;
  return {};
}

/// Sets the chain of rewrites from the source to the result, which may be the source.
void explain(const Graph& source, bool is_source, Candidate& found, llvm::ArrayRef<Rule> rules,
             Optimized& result) {
  result.chain = is_source ? derivation_of(source) : std::move(found.chain);
  result.unexplained = is_source ? "" : found.unexplained;
  if (result.chain) result.report.chain_steps = count_rules(*result.chain, rules);
}

/// Completes the report at the end.
void finish(const CostModel& costs, llvm::ArrayRef<Rule> rules, const Stopwatch& watch,
            ResultSection& report) {
  llvm::sort(report.rules_applied);
  llvm::append_range(report.notes, costs.notes());
  note_assumptions(rules, report);
  report.total_s = watch.seconds();
  report.peak_memory_mb = peak_memory_mb();
}

bool occurs(const Graph& graph, OpKind op) {
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph.node({i}).op == op) return true;
  return false;
}

/// Adds the notes of the cost model to a failure: for example, a lost GPU is why prices are
/// missing.
Diagnostic with_notes(Diagnostic failure, const CostModel& costs) {
  for (std::string& note : costs.notes()) failure.note(std::move(note));
  return failure;
}

/// Share of the search's time for another search, from the form in which the result is used.
constexpr double kSecondStart = 0.1;
constexpr int kMostSecondStarts = 3;

/// Returns the options with the limits of search and extraction from the time plan.
OptimizeOptions with_shared_time(const OptimizeOptions& given) {
  OptimizeOptions out = given;
  SearchTime time =
      given.time.search({.extracts_after_exploring = strategy_of(given).extracts_after_exploring(),
                         .greedy = is_greedy(given.extract.extractor),
                         .explains = given.explain});
  out.explore.trace = given.trace;
  out.explore.stop = time.explore; // includes timing of operators
  out.explore.time_limit_s = std::min(given.explore.time_limit_s, time.explore_s);
  out.refine_time_s = std::min(given.refine_time_s, time.refine_s);
  out.extract.stop = time.extract;
  if (given.used_as && !given.explain) {
    out.explore.time_limit_s *= 1 - kSecondStart;
    out.explore.stop = out.explore.stop.within(out.explore.time_limit_s);
  }
  return out;
}

/// Returns the options of a short search without a listener: one pass over the network, in which
/// each segment is saturated and extracted.
OptimizeOptions brief(const OptimizeOptions& given, double seconds) {
  OptimizeOptions out = with_shared_time(given);
  out.explore.time_limit_s = out.extract.ilp.time_limit_s = seconds;
  out.explore.stop = out.explore.stop.within(seconds);
  out.explore.node_limit = std::min(out.explore.node_limit, kFirstStageNodes);
  out.explore.progress = {};
  out.portfolio.progress = {};
  out.portfolio.sweeps = 1;
  out.portfolio.use_tree = out.portfolio.use_whole = out.portfolio.use_focus = false;
  out.explore.trace = nullptr, out.trace = nullptr;
  return out;
}

/// The steps of optimize(), in their order.
class Optimization {
public:
  Optimization(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
               const OptimizeOptions& given, FinalistRunner* runner, CostModel* alternative_costs)
      : source_(source), rules_(rules), given_(given), options_(with_shared_time(given)),
        prices_(source.symbols(), costs), pricing_{.costs = costs,
                                                   .prices = prices_,
                                                   .alternative_costs =
                                                       runner ? alternative_costs : nullptr,
                                                   .runner = runner} {}

  /// Errors: `limit_no_answer` if the operators were not priced in time.
  Result<void> price_source() {
    describe();
    report_.cost_before_us = price_graph(source_, prices_);
    if (!std::isfinite(report_.cost_before_us) && options_.time.end().asked())
      return error(Code::limit_no_answer, "the operators of `{0}` were not priced in time",
                   source_.name());
    GroupPricer* groups = options_.groups ? pricing_.costs.groups() : nullptr;
    if (groups && note_groups(source_, *groups, report_)) pricing_.groups = groups;
    bool several = (pricing_.runner || pricing_.groups) && options_.finalists > 1;
    if (several) pricing_.others = &others_;
    return {};
  }

  /// Searches until prices no longer change. Errors: those of the strategy.
  Result<Candidate> search() {
    Result<Candidate> found =
        find_with_refined_prices(source_, rules_, pricing_, options_, report_);
    if (!found) return with_notes(std::move(found.error()), pricing_.costs);
    return found;
  }

  /// Refines the finding by group prices, and chooses the fastest of several.
  Finalist choose(Candidate found) {
    Finalist chosen{std::move(found)};
    if (pricing_.groups)
      refine_candidate(source_, rules_, pricing_, options_, chosen.candidate, report_);
    auto complete = [&](Candidate& one) { add_kernels(one, rules_, prices_, options_); };
    if (pricing_.others && pricing_.runner)
      chosen = choose_finalist(
          source_, std::move(chosen.candidate), std::move(others_), *pricing_.runner,
          {options_.finalists, report_.cost_before_us, pricing_.costs.groups(), complete}, report_,
          report_.notes);
    if (!chosen.is_cheapest)
      report_.replace_result(chosen.candidate.cost_us, chosen.candidate.rules);
    note_result(options_, report_);
    return chosen;
  }

  /// Searches again from the form in which the result is used, where a later optimisation of the
  /// written file starts. It has other operators than the result: kernels are written as several,
  /// and sequences as matrices. If the result is not better than the source in that form, the
  /// search starts from the form of the source. With `explain` there is no such search, because no
  /// chain of rules leads to that form.
  void search_used_form(Finalist& chosen) {
    if (!options_.used_as || options_.explain || report_.recalled) return;
    Stopwatch watch;
    const double limit_s = kSecondStart * given_.explore.time_limit_s;
    auto improve = [&](Candidate& start) {
      int count = 0;
      while (count < kMostSecondStarts && watch.seconds() < limit_s &&
             improve_used_form(start, limit_s - watch.seconds()))
        ++count;
      if (count > 0) report_.replace_result(start.cost_us, start.rules);
      return count > 0;
    };
    if (!is_better_in_use(chosen.candidate.graph))
      if (Candidate start{source_, report_.cost_before_us}; improve(start)) {
        chosen = Finalist{std::move(start)};
        return;
      }
    chosen.candidate.rules = report_.rules_applied;
    improve(chosen.candidate);
  }

  /// Moves the graph out of `chosen`. Errors: `internal`, in builds that verify.
  Result<Optimized> judge(Finalist& chosen) {
    TG_CHECK(note_found(chosen.candidate.graph, report_));
    return tg::judge(source_, chosen, rules_, pricing_, options_, std::move(report_));
  }

  /// Explains the result, keeps it for later searches, and completes its report.
  void conclude(Candidate& found, Optimized& result) {
    OptimizeReport& report = result.report;
    report.judging_s = std::max(report.judging_s, report.placed_s + report.finalists_s);
    if (pricing_.costs.guesses()) keep_lasting(source_, rules_, options_, result, pricing_.runner);
    if (options_.explain) explain(source_, !report.changed(), found, rules_, result);
    finish(pricing_.costs, rules_, watch_, report);
  }

private:
  /// Returns true if the form of the graph is better than that of the source, or if one of them
  /// has no form.
  bool is_better_in_use(const Graph& graph) {
    std::optional<UsedForm> source = options_.used_as(source_), found = options_.used_as(graph);
    if (!source || !found) return true;
    FormComparison forms(rules_, prices_, options_);
    return forms.prefer(*source, *found) == Preference::Found;
  }

  /// Returns true if a search of these seconds improved the form, at no higher price by groups.
  bool improve_used_form(Candidate& found, double seconds) {
    std::optional<UsedForm> form = options_.used_as(found.graph);
    if (!form || !form->is_source || options_.time.end().asked()) return false;
    if (difference(form->graph, source_).empty()) return false; // the first search started there
    OptimizeOptions options = brief(given_, seconds);
    PricingContext pricing{.costs = pricing_.costs, .prices = prices_};
    OptimizeReport report;
    report.cost_before_us = price_graph(form->graph, prices_);
    Result<Candidate> next =
        strategy_of(options).find({form->graph, rules_, pricing, options}, report);
    report_.explore_s += report.explore_s;
    report_.extract_s += report.extract_s;
    if (!next) return false;
    std::optional<UsedForm> other = options_.used_as(next->graph);
    FormComparison forms(rules_, prices_, options_);
    if (!other || forms.prefer(*form, *other) != Preference::Found) return false;
    if (costs_more_by_groups(next->graph, found.graph)) return false;
    add_counts(found.rules, report.rules_applied);
    found.graph = std::move(next->graph);
    found.cost_us = next->cost_us;
    return true;
  }

  bool costs_more_by_groups(const Graph& graph, const Graph& than) const {
    if (!pricing_.groups) return false;
    std::vector<GroupPrice> prices = pricing_.groups->price({&graph, &than});
    return costs_more(prices[0].microseconds, prices[1].microseconds);
  }

  void describe() {
    Numerics numerics = options_.explore.numerics;
    report_.model = source_.name();
    report_.search = search_name(options_).str();
    report_.extract = extractor_name(options_.extract.extractor).str();
    report_.cost_model = pricing_.costs.name();
    report_.seed = options_.explore.seed;
    report_.rules = static_cast<size_t>(llvm::count(
        rules_in_use(rules_, numerics, [&](OpKind op) { return occurs(source_, op); }), true));
    note_left_out(rules_, numerics, report_);
    report_.nodes_before = report_.nodes_after = run_op_count(source_);
  }

  const Graph& source_;
  llvm::ArrayRef<Rule> rules_;
  const OptimizeOptions& given_;
  const OptimizeOptions options_;
  PriceCache prices_;
  std::vector<Candidate> others_;
  PricingContext pricing_;
  OptimizeReport report_;
  Stopwatch watch_;
};

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
                           const OptimizeOptions& options, FinalistRunner* finalists,
                           CostModel* alternative_costs) {
  Optimization steps(source, rules, costs, options, finalists, alternative_costs);
  TG_CHECK(steps.price_source());
  TG_TRY(Candidate found, steps.search());
  Finalist chosen = steps.choose(std::move(found));
  steps.search_used_form(chosen);
  TG_TRY(Optimized result, steps.judge(chosen));
  steps.conclude(chosen.candidate, result);
  return result;
}

} // namespace tg
