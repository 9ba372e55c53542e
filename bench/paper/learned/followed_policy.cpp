// Rewrites chosen by a trained policy. The policy plays episodes from the source: in the first it
// takes the most likely action at each step, in the others it samples. The result is the cheapest
// graph of all episodes by price.
#include "bench/paper/learned/followed_policy.h"

#include "bench/paper/learned/guide_models.h"
#include "bench/paper/learned/training_notes.h"
#include "compiler/api/policy_file.h"
#include "compiler/optimizer/strategy/notes.h"

namespace tg::paper {

namespace {

/// The options of a followed policy, in addition to those of every search.
struct FollowOptions {
  size_t episodes = 8;  // the first takes the most likely actions, the others sample
  size_t horizon = 100; // steps per episode
};

class PolicySearch {
public:
  PolicySearch(PolicyModels& policy, const FollowOptions& follow, const StrategyTask& task,
               FindingReport& report)
      : policy_(policy), follow_(follow), task_(task), report_(report),
        limits_(task.options.explore), environment_(
                                           task.source, task.rules,
                                           [this](const Graph& graph) -> Result<double> {
                                             return price_graph(graph, task_.pricing.prices);
                                           },
                                           environment_options()),
        reporter_(task.options, report) {}

  Result<Candidate> run() {
    report_.stopped_by = "budget";
    for (size_t number = 0; number < follow_.episodes; ++number) {
      Result<Episode> episode = play(environment_, policy_, limits_.seed, number, number == 0);
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
  /// Prices every graph on the way, which is cheap, so each may become the best.
  EnvironmentOptions environment_options() const {
    const OptimizeOptions& options = task_.options;
    EnvironmentOptions out;
    out.encoder = make_state_encoding;
    out.explore.numerics = options.explore.numerics;
    out.explore.node_limit = options.explore.node_limit;
    out.horizon = follow_.horizon;
    out.most_candidates = policy_.most_candidates();
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
    for (const PathStep& step : best.path) ++counts[step.rule];
    std::vector<RuleUse> used;
    for (RuleId rule = 0; rule < counts.size(); ++rule)
      if (counts[rule] > 0) used.push_back({rule, counts[rule]});
    report_.rules_applied = named_counts(used, task_.rules);
    Candidate out{best.graph, best.time};
    if (task_.options.explain)
      out.set_explanation(explain_moves(task_.source, replayed(best.path).get(), task_.rules,
                                        task_.options.time.explanation()));
    return out;
  }

  /// Replays the path and records the history of each step.
  std::shared_ptr<LocalMove> replayed(llvm::ArrayRef<PathStep> path) const {
    std::shared_ptr<LocalMove> last;
    Graph graph = task_.source;
    for (const PathStep& step : path) {
      Rewrites rewrites(graph, task_.rules, environment_.options().explore, /*record=*/true);
      Graph after = *rewrites.make(step.rewrite);
      last =
          std::make_shared<LocalMove>(LocalMove{graph, after, rewrites.history(), std::move(last)});
      graph = std::move(after);
    }
    return last;
  }

  PolicyModels& policy_;
  const FollowOptions& follow_;
  const StrategyTask& task_;
  FindingReport& report_;
  const SearchLimits& limits_;
  RewriteEnvironment environment_;
  ProgressReporter reporter_;
  Stopwatch watch_;
};

class ByPolicy final : public SearchStrategy {
public:
  ByPolicy(std::shared_ptr<PolicyModels> policy, FollowOptions follow)
      : policy_(std::move(policy)), follow_(follow) {}
  Result<Candidate> find(const StrategyTask& task, FindingReport& report) const override {
    return PolicySearch(*policy_, follow_, task, report).run();
  }

private:
  std::shared_ptr<PolicyModels> policy_;
  FollowOptions follow_;
};

} // namespace

Result<std::shared_ptr<const tangram::OwnSearch>>
followed_policy(const tangram::OptimizeOptions& options) {
  if (options.policy.empty())
    return error(Code::usage, "`--search rl` requires a trained policy")
        .suggest("train one with `tg-paper train MODEL -o FILE`, and pass it with `--policy FILE`");
  PolicyOptions opened;
  opened.run.threads = static_cast<int>(options.threads);
  TG_TRY(std::shared_ptr<PolicyModels> policy,
         PolicyModels::open(options.policy, std::move(opened)));
  policy->take_best();
  FollowOptions follow;
  if (options.budget > 0) follow.episodes = static_cast<size_t>(options.budget);
  if (options.depth > 0) follow.horizon = static_cast<size_t>(options.depth);
  auto own = std::make_shared<tangram::OwnSearch>();
  own->name = "rl";
  own->strategy = std::make_shared<ByPolicy>(policy, follow);
  own->note = [policy, numerics = options.numerics](const Graph& source,
                                                    llvm::ArrayRef<Rule> rules) {
    return trained_otherwise(policy->notes(), source, rules, numerics);
  };
  return std::shared_ptr<const tangram::OwnSearch>(std::move(own));
}

Result<std::unique_ptr<Policy>> open_policy(const std::string& path) {
  if (holds_text(path)) return open_policy_file(path);
  GuideModelOptions options;
  options.run.threads = 1; // the network is small and runs between the phases that use all threads
  TG_TRY(std::shared_ptr<GuideRunner> network, GuideModels::open(path, std::move(options)));
  return std::unique_ptr<Policy>(std::make_unique<GuidedPolicy>(std::move(network)));
}

Result<std::shared_ptr<const tangram::OwnSearch>> guided_search(const std::string& path) {
  TG_TRY(std::unique_ptr<Policy> policy, open_policy(path));
  auto own = std::make_shared<tangram::OwnSearch>();
  own->policy = std::move(policy);
  return std::shared_ptr<const tangram::OwnSearch>(std::move(own));
}

} // namespace tg::paper
