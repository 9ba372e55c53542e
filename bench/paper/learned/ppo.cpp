#include "bench/paper/learned/ppo.h"

#include "lang/core/support/random.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace tg::paper {

namespace {

/// Returns the first action at which the cumulative probability exceeds the draw.
size_t drawn(llvm::ArrayRef<double> log_probs, double draw) {
  double sum = 0;
  for (size_t i = 0; i < log_probs.size(); ++i) {
    sum += std::exp(log_probs[i]);
    if (draw < sum) return i;
  }
  return log_probs.size() - 1;
}

size_t likeliest(llvm::ArrayRef<double> log_probs) {
  return static_cast<size_t>(std::max_element(log_probs.begin(), log_probs.end()) -
                             log_probs.begin());
}

} // namespace

double Episode::reward() const {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const Transition& step) { return sum + step.reward; });
}

Result<Episode> play(RewriteEnvironment& environment, PolicyRunner& policy, uint64_t seed,
                     size_t number, bool most_likely) {
  RandomStream draws(seed, "episode " + std::to_string(number));
  Episode episode;
  TG_CHECK(environment.reset());
  for (bool done = false; !done;) {
    std::shared_ptr<const RewriteState> state = environment.state();
    TG_TRY(Decision decision, policy.decide(encoded(*state)));
    size_t action = most_likely ? likeliest(decision.log_probs)
                                : drawn(decision.log_probs, draws.uniform(episode.steps.size()));
    TG_TRY(RewriteEnvironment::Step step, environment.step(action));
    done = step.done;
    episode.cut = step.cut;
    episode.steps.push_back(
        {std::move(state), action, decision.log_probs[action], decision.value, step.reward});
  }
  if (episode.cut) {
    TG_TRY(Decision after, policy.decide(encoded(*environment.state())));
    episode.value_after = after.value;
  }
  episode.path = environment.path();
  episode.time = environment.time();
  return episode;
}

std::vector<Sample> samples_of(llvm::ArrayRef<Episode> episodes, const PpoOptions& options) {
  std::vector<Sample> samples;
  double value_after = 0, advantage = 0; // of the following step
  bool last = true;
  for (const Episode& episode : llvm::reverse(episodes)) {
    bool runs_on = episode.cut && options.slips.cut_runs_into_next;
    if (!runs_on) {
      value_after = episode.value_after;
      advantage = 0;
    }
    for (const Episode::Transition& step : llvm::reverse(episode.steps)) {
      double error = step.reward + options.discount * value_after - step.value;
      if (last && options.slips.last_without_value) error = step.reward;
      last = false;
      advantage = error + options.discount * options.smoothing * advantage;
      value_after = step.value;
      samples.push_back(
          {&encoded(*step.state), step.action, step.log_prob, advantage, advantage + step.value});
    }
  }
  std::reverse(samples.begin(), samples.end());
  return samples;
}

namespace {

/// Trains for some epochs over the samples, each in a new random order. Returns nothing if it was
/// interrupted.
Result<std::optional<LearnReport>> learn(PolicyRunner& policy, std::vector<Sample> samples,
                                         const PpoOptions& options, size_t update) {
  LearnReport last;
  for (size_t epoch = 0; epoch < options.epochs; ++epoch) {
    RandomStream draws(options.seed, "epoch " + std::to_string(update * options.epochs + epoch));
    for (size_t i = samples.size(); i > 1; --i)
      std::swap(samples[i - 1], samples[draws.bits(i) % i]);
    LearnReport sum;
    size_t minibatches = 0;
    for (llvm::ArrayRef<Sample> left = samples; !left.empty(); ++minibatches) {
      if (options.stop.asked()) return std::optional<LearnReport>();
      size_t size = std::min(options.minibatch, left.size());
      TG_TRY(LearnReport report, policy.learn(left.take_front(size)));
      left = left.drop_front(size);
      sum.loss += report.loss, sum.kl += report.kl, sum.entropy += report.entropy;
    }
    auto count = static_cast<double>(minibatches);
    last = {sum.loss / count, sum.kl / count, sum.entropy / count};
    if (update >= options.updates_before_kl && last.kl > options.target_kl) break;
  }
  return std::optional(last);
}

} // namespace

Result<void> train(RewriteEnvironment& environment, PolicyRunner& policy, const PpoOptions& options,
                   TrainingState state,
                   llvm::function_ref<Result<void>(const TrainingProgress&)> done) {
  while (state.episodes < options.episodes && !options.stop.asked()) {
    Stopwatch watch;
    std::vector<Episode> episodes;
    double reward = 0; // mean
    size_t update = state.episodes / options.episodes_per_update;
    size_t count = std::min(options.episodes_per_update, options.episodes - state.episodes);
    for (size_t i = 0; i < count; ++i) {
      Result<Episode> episode = play(environment, policy, options.seed, state.episodes++, false);
      if (options.stop.asked()) return {}; // an incomplete batch is not learned from
      if (!episode) return std::move(episode.error());
      reward += episode->reward() / static_cast<double>(count);
      episodes.push_back(std::move(*episode));
    }
    if (reward > state.best_reward) {
      state.best_reward = reward;
      policy.keep();
    }
    TG_TRY(std::optional<LearnReport> learned,
           learn(policy, samples_of(episodes, options), options, update));
    if (!learned) return {}; // a partial update is discarded; a resumed training repeats it
    TG_CHECK(done({state, reward, environment.best().time, environment.source_time(),
                   environment.best().path, environment.measurements(), watch.seconds(), *learned,
                   episodes}));
  }
  return {};
}

} // namespace tg::paper
