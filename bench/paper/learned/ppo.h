// Learning to choose rewrites: proximal policy optimisation (Schulman et al. 2017) with generalised
// advantages (Schulman et al. 2016), as published for X-RLflow. A policy plays the episodes;
// PolicyRunner runs its network.
#pragma once

#include "bench/paper/learned/encoding.h"
#include "lang/core/support/stop.h"

#include <limits>

namespace tg::paper {

/// A policy's answer for a state: the log probability of each action, and the value of the state.
struct Decision {
  std::vector<double> log_probs;
  double value = 0;
};

/// An action that was taken, and its outcome.
struct Sample {
  const EncodedState* state = nullptr;
  size_t action = 0;
  double log_prob = 0;  // of the policy that took the action
  double advantage = 0; // generalised advantage of the action
  double target = 0;    // target of the state's value
};

struct LearnReport {
  double loss = 0, kl = 0, entropy = 0; // kl: divergence from the policy that took the actions
};

class PolicyRunner {
public:
  virtual ~PolicyRunner() = default;
  virtual Result<Decision> decide(const EncodedState& state) = 0;
  /// Does one step of gradient descent on a minibatch.
  virtual Result<LearnReport> learn(llvm::ArrayRef<Sample> minibatch) = 0;
  /// Called when the current policy has played better than ever before, to keep its weights.
  virtual void keep() {}
};

/// Bugs of the authors' program that change a result. Two further differences: their reward of 0.1
/// for steps that are not measured is EnvironmentOptions::waiting_reward, and they return the last
/// graph where we return the best.
struct PublishedSlips {
  bool last_without_value = false; // the last advantage of a batch does not subtract the value
  bool cut_runs_into_next = false; // an episode cut by the horizon continues in the next one
};

struct PpoOptions {
  size_t episodes = 1'000;
  size_t episodes_per_update = 10;
  size_t epochs = 4, minibatch = 16;
  double discount = 0.99, smoothing = 0.95; // gamma, lambda
  /// An update ends early once the divergence exceeds this; not checked in the first
  /// `updates_before_kl` updates.
  double target_kl = 0.05;
  size_t updates_before_kl = 10;
  uint64_t seed = 1;
  PublishedSlips slips = {};
  StopToken stop = {};
};

/// A played episode.
struct Episode {
  struct Transition {
    std::shared_ptr<const RewriteState> state;
    size_t action = 0;
    double log_prob = 0, value = 0, reward = 0;
  };
  std::vector<Transition> steps;
  std::vector<PathStep> path;
  bool cut = false;       // ended by the horizon
  double value_after = 0; // value of the last state if cut
  double time = 0;        // time of the graph at the end
  double reward() const;
};

/// Plays one episode from the source. Each action is sampled by its probability, or is the most
/// likely one. Equal seeds and numbers give equal draws. Errors: those of environment and policy.
Result<Episode> play(RewriteEnvironment& environment, PolicyRunner& policy, uint64_t seed,
                     size_t number, bool most_likely);

/// Returns the steps of all episodes in order, with advantages and targets.
std::vector<Sample> samples_of(llvm::ArrayRef<Episode> episodes, const PpoOptions& options);

/// The state of a training between updates.
struct TrainingState {
  size_t episodes = 0; // a multiple of episodes_per_update until the last update
  /// The best mean of the episodes between two updates; the policy that played them was kept.
  double best_reward = -std::numeric_limits<double>::infinity();
};

/// Progress after each update.
struct TrainingProgress {
  TrainingState state;
  double mean_reward = 0; // of the episodes since the last update
  double best_time = 0, source_time = 0;
  llvm::ArrayRef<PathStep> best_path; // to the best graph of all
  size_t measurements = 0;
  double seconds = 0; // of this update, including its episodes
  LearnReport learned;
  llvm::ArrayRef<Episode> played;
};

/// Plays and learns from this state on. Draws depend only on the seed and on the numbers of
/// episodes and epochs, so a training that resumes after a complete update gives the same result as
/// an uninterrupted one. If `episodes` ends with a partial update, later updates group the episodes
/// differently. Errors: those of environment, policy and `done`.
Result<void> train(RewriteEnvironment& environment, PolicyRunner& policy, const PpoOptions& options,
                   TrainingState state,
                   llvm::function_ref<Result<void>(const TrainingProgress&)> done);

} // namespace tg::paper
