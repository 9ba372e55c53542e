// Rewrites chosen by a trained policy (search/learned): episodes from the source, the first of what
// is most likely at each step, the others drawn. The best graph of all of them by price is the
// result.
#include "compiler/optimizer/strategy/notes.h"
#include "compiler/search/learned/ppo.h"

namespace tg {

namespace {

class PolicySearch {
public:
  PolicySearch(const SearchTask& task, OptimizeReport& report)
      : task_(task), report_(report), limits_(task.options.explore),
        environment_(
            task.source, task.rules,
            [this](const Graph& graph) -> Result<double> {
              return price_graph(graph, task_.pricing.prices);
            },
            environment_options(task.options)),
        reporter_(task.options, report) {}

  Result<Candidate> run() {
    const RlOptions& options = task_.options.rl;
    report_.stopped_by = "budget";
    for (size_t number = 0; number < options.episodes; ++number) {
      Result<Episode> episode =
          play(environment_, *options.policy, limits_.seed, number, number == 0);
      if (auto reason = limits_.reached(watch_.seconds(), 0)) {
        report_.stopped_by = stop_reason_text(*reason).str();
        break;
      }
      if (!episode) return std::move(episode.error());
      note(*episode);
    }
    if (environment_.best().time == 0) return Candidate{task_.source, report_.cost_before_us};
    return best();
  }

private:
  /// Prices cost little: each graph on the way may be the best.
  static EnvironmentOptions environment_options(const OptimizeOptions& options) {
    EnvironmentOptions out;
    out.explore.numerics = options.explore.numerics;
    out.explore.node_limit = options.explore.node_limit;
    out.horizon = options.rl.horizon;
    out.most_candidates = options.rl.most_candidates;
    out.measure_every = 1;
    out.stop = options.explore.stop.within(options.explore.time_limit_s);
    return out;
  }

  void note(const Episode& episode) {
    ++report_.decisions;
    report_.simulations += episode.path.size();
    double best_us = environment_.best().time;
    reporter_.found(best_us);
    reporter_.grown(report_.simulations);
    if (!limits_.trace) return;
    std::vector<SearchTrace::Point>& points = limits_.trace->points;
    if (points.empty() || best_us < points.back().cost_us)
      points.push_back({watch_.seconds(), best_us, report_.simulations, 0, "graph after graph"});
  }

  Result<Candidate> best() {
    const RewriteEnvironment::Best& best = environment_.best();
    report_.extract = "none";
    report_.egraphs = environment_.measurements();
    report_.explore_s = watch_.seconds();
    report_.cost_after_us = best.time;
    std::vector<size_t> counts(task_.rules.size());
    for (const RewriteTaken& step : best.path) ++counts[step.rule];
    std::vector<RuleUse> used;
    for (RuleId rule = 0; rule < counts.size(); ++rule)
      if (counts[rule] > 0) used.push_back({rule, counts[rule]});
    report_.rules_applied = named_counts(used, task_.rules);
    Candidate out{best.graph, best.time};
    if (task_.options.explain)
      out.set_explanation(explain_moves(task_.source, replayed(best.path).get(), task_.rules,
                                        end_of_explaining(task_.options)));
    return out;
  }

  /// The path again, with the history of each step.
  std::shared_ptr<MoveMade> replayed(llvm::ArrayRef<RewriteTaken> path) const {
    std::shared_ptr<MoveMade> last;
    Graph graph = task_.source;
    for (const RewriteTaken& step : path) {
      Rewrites rewrites(graph, task_.rules, environment_.options().explore, /*record=*/true);
      Graph after = *rewrites.make(step.rewrite);
      last =
          std::make_shared<MoveMade>(MoveMade{graph, after, rewrites.history(), std::move(last)});
      graph = std::move(after);
    }
    return last;
  }

  const SearchTask& task_;
  OptimizeReport& report_;
  const SearchLimits& limits_;
  RewriteEnvironment environment_;
  ProgressReporter reporter_;
  Stopwatch watch_;
};

class ByPolicy final : public SearchStrategy {
  Result<Candidate> find(const SearchTask& task, OptimizeReport& report) const override {
    if (!task.options.rl.policy)
      return error(Code::usage, "`--search rl` follows a trained policy, and none is given")
          .suggest("`tg train MODEL -o FILE` trains one, `--policy FILE` names it");
    return PolicySearch(task, report).run();
  }
};

} // namespace

const SearchStrategy& choices_of_a_policy() {
  static const ByPolicy strategy;
  return strategy;
}

} // namespace tg
