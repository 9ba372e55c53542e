#include "bench/paper/learned/train_model.h"

#include "bench/paper/learned/policy_models.h"
#include "bench/paper/learned/training_notes.h"
#include "compiler/api/graph_clock.h"
#include "compiler/api/public_types.h"
#include "compiler/pricing/cost_model.h"
#include "lang/core/support/data_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::paper {

namespace {

std::string text_of_rewards(const TrainOptions& training, const tangram::OptimizeOptions& options) {
  if (training.by_prices) return options.cost.text();
  llvm::StringRef backend = tangram::word(backend_of_costs(options.cost));
  return llvm::formatv("whole runs on {0}, {1} threads", backend, options.threads);
}

/// Returns the settings that must not change when a training resumes.
PolicyNotes settings_of(const Graph& source, const TrainOptions& training,
                        const tangram::OptimizeOptions& options, llvm::ArrayRef<Rule> rules) {
  auto number = [](auto n) { return std::to_string(n); };
  return {{"model", source.name()},
          {"digest", digest(source)},
          {"seed", number(options.seed)},
          {"horizon", number(training.horizon)},
          {"measure_every", number(training.measure_every)},
          {"rules", text_of_rules(rules, options.numerics)},
          {"rewards", text_of_rewards(training, options)},
          {"learning_rate", exact_text(training.learning_rate)},
          {"published_slips", training.published_slips ? "yes" : "no"}};
}

class Training {
public:
  Training(const Graph& source, const TrainOptions& training,
           const tangram::OptimizeOptions& options, const OptimizeHost& host,
           llvm::ArrayRef<Rule> rules, const StopToken& stop)
      : source_(source), training_(training), o_(options), host_(host), rules_(rules), stop_(stop),
        settings_(settings_of(source, training, options, rules)) {}

  Result<TrainedPolicy> run(llvm::function_ref<void(const TrainingProgress&)> done);

private:
  Result<void> open_policy();
  /// Replays the path to the best graph of earlier runs. Errors: `bad_data_file` if the path in the
  /// file does not lead to it.
  Result<void> follow_best(RewriteEnvironment& environment) const;
  Diagnostic lost_path() const;
  EnvironmentOptions environment_options() const;
  PpoOptions ppo_options() const;
  Result<void> note(const TrainingProgress& progress);

  const Graph& source_;
  const TrainOptions& training_;
  const tangram::OptimizeOptions& o_;
  const OptimizeHost& host_;
  llvm::ArrayRef<Rule> rules_;
  StopToken stop_;
  PolicyNotes settings_;
  std::unique_ptr<PolicyModels> policy_;
  TrainingState state_;
  std::map<RuleId, size_t> counts_;
};

/// Opens a new policy, or the policy of the file if training resumes.
Result<void> Training::open_policy() {
  PolicyOptions options;
  options.run.threads = static_cast<int>(o_.threads);
  options.seed = o_.seed;
  options.rate = training_.learning_rate;
  const PolicyForm* form = find_policy_form(training_.policy);
  if (!form) return error(Code::usage, "there is no policy `{0}`", training_.policy);
  TG_CHECK(check_writable(training_.path));
  if (training_.again || !llvm::sys::fs::exists(training_.path)) {
    TG_CHECK(check_replaced(training_.path, holds_network(training_.path)));
    TG_TRY(policy_, PolicyModels::fresh(*form, std::move(options)));
    return {};
  }
  TG_TRY(policy_, PolicyModels::open(training_.path, std::move(options)));
  const PolicyNotes& notes = policy_->notes();
  PolicyNotes wanted = settings_;
  wanted["policy"] = training_.policy;
  TG_CHECK(check_notes(notes, wanted, "policy", training_.path));
  TG_TRY(state_.episodes, count_of(notes, "episodes", "policy", training_.path));
  if (llvm::StringRef(note_of(notes, "best_reward")).getAsDouble(state_.best_reward))
    return error(Code::bad_data_file, "`{0}` does not contain the best reward of its training",
                 training_.path);
  return {};
}

Diagnostic Training::lost_path() const {
  return error(Code::bad_data_file, "the best graph recorded in `{0}` is not a rewrite of `{1}`",
               training_.path, source_.name())
      .suggest("train from the beginning with `--again`");
}

Result<void> Training::follow_best(RewriteEnvironment& environment) const {
  auto known = policy_->notes().find("best_path");
  if (state_.episodes == 0 || known == policy_->notes().end()) return {};
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(known->second).split(words, ' ', -1, /*KeepEmpty=*/false);
  std::vector<size_t> rewrites(words.size());
  for (auto [word, rewrite] : llvm::zip(words, rewrites))
    if (word.getAsInteger(10, rewrite)) return lost_path();
  TG_CHECK(environment.follow(rewrites));
  if (environment.path().size() < rewrites.size()) return lost_path();
  return {};
}

EnvironmentOptions Training::environment_options() const {
  EnvironmentOptions out;
  out.encoder = make_state_encoding;
  out.explore.numerics = to_internal(o_.numerics);
  out.explore.node_limit = 50'000; // for one graph and a rewrite, more than any graph that is run
  out.horizon = training_.horizon;
  out.measure_every = training_.measure_every;
  out.most_candidates = policy_->most_candidates();
  out.stop = stop_;
  if (training_.published_slips) out.waiting_reward = 0.1;
  return out;
}

PpoOptions Training::ppo_options() const {
  PpoOptions out;
  out.episodes = training_.episodes;
  out.seed = o_.seed;
  out.stop = stop_;
  if (training_.published_slips)
    out.slips = {.last_without_value = true, .cut_runs_into_next = true};
  return out;
}

Result<void> Training::note(const TrainingProgress& progress) {
  state_ = progress.state;
  for (const Episode& episode : progress.played)
    for (const PathStep& step : episode.path) ++counts_[step.rule];
  PolicyNotes notes = settings_;
  notes["episodes"] = std::to_string(state_.episodes);
  notes["best_reward"] = exact_text(state_.best_reward);
  std::vector<std::string> rewrites;
  for (const PathStep& step : progress.best_path) rewrites.push_back(std::to_string(step.rewrite));
  notes["best_path"] = llvm::join(rewrites, " ");
  return policy_->save(training_.path, notes);
}

Result<TrainedPolicy> Training::run(llvm::function_ref<void(const TrainingProgress&)> done) {
  Stopwatch watch;
  TG_CHECK(open_policy());
  TrainedPolicy out;
  out.earlier_episodes = state_.episodes;
  TG_TRY(std::unique_ptr<GraphClock> clock,
         GraphClock::make(source_, training_.by_prices, o_, host_, stop_));
  RewriteEnvironment environment(
      source_, rules_, [&](const Graph& graph) { return clock->time_us(graph); },
      environment_options());
  TG_CHECK(follow_best(environment));
  bool noted = true;
  Result<void> trained = train(environment, *policy_, ppo_options(), state_,
                               [&](const TrainingProgress& progress) -> Result<void> {
                                 Result<void> kept = note(progress);
                                 noted = static_cast<bool>(kept);
                                 TG_CHECK(std::move(kept));
                                 done(progress);
                                 return {};
                               });
  // Ignores the error of a step that a stop interrupted, but not a failure to write the file.
  if (!trained && !(stop_.asked() && noted)) return std::move(trained.error());
  if (state_.episodes == 0)
    return nothing_learned(
        stop_, llvm::formatv("an update of {0} episodes", ppo_options().episodes_per_update).str(),
        training_.path);
  out.episodes = state_.episodes;
  out.best_reward = state_.best_reward;
  out.source_us = environment.source_time();
  out.best_us = environment.best().time;
  out.best = environment.best().graph;
  out.measurements = environment.measurements();
  out.refused = clock->refused();
  out.seconds = watch.seconds();
  if (out.episodes < training_.episodes) out.stopped_by = stopped_by(stop_);
  std::vector<RuleUse> used;
  for (auto [rule, count] : counts_) used.push_back({rule, count});
  out.rules = named_counts(used, rules_);
  return out;
}

} // namespace

std::optional<TrainedPolicy> train_model(const Graph& source, const TrainOptions& training,
                                         const tangram::OptimizeOptions& options,
                                         const OptimizeHost& host, SourceManager& sources,
                                         DiagnosticSink& sink,
                                         llvm::function_ref<void(const TrainingProgress&)> done) {
  StopToken stop =
      host.stop ? *host.stop
                : stop_within(options.time_limit_s, options.memory_limit_mb, options.interrupt);
  std::optional<std::vector<Rule>> rules = select_rules(options, host, stop, sources, sink);
  if (!rules) return std::nullopt;
  Result<TrainedPolicy> trained = Training(source, training, options, host, *rules, stop).run(done);
  if (!trained) {
    sink.report(std::move(trained.error()));
    return std::nullopt;
  }
  return std::move(*trained);
}

} // namespace tg::paper
