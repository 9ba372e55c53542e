// Learning to choose rewrites: proximal policy optimisation (Schulman et al. 2017), with
// generalised advantages (Schulman et al. 2016), as X-RLflow is published. Episodes are played by a
// policy, whose network runs elsewhere: it is a model like others, and who runs models fills the
// door PolicyRunner.
#pragma once

#include "compiler/search/game/environment.h"
#include "lang/core/support/stop.h"

#include <limits>

namespace tg::paper {

/// What a policy says of a state: of each action how likely it is, and the value of the state.
struct Decision {
  std::vector<double> log_probs;
  double value = 0;
};

/// An action that was taken, and what came of it.
struct Sample {
  const EncodedState* state = nullptr;
  size_t action = 0;
  double log_prob = 0;  // when it was taken
  double advantage = 0; // over what the state was worth
  double target = 0;    // what the state was worth by then
};

struct LearnReport {
  double loss = 0, kl = 0, entropy = 0; // kl: how far the policy went since the actions were taken
};

class PolicyRunner {
public:
  virtual ~PolicyRunner() = default;
  virtual Result<Decision> decide(const EncodedState& state) = 0;
  /// One step of gradient descent on a minibatch.
  virtual Result<LearnReport> learn(llvm::ArrayRef<Sample> minibatch) = 0;
  /// As it is now, the policy played better than ever before.
  virtual void keep() {}
};

/// What the authors' program does otherwise than it is meant to, where that changes a result. Their
/// rewards of 0.1 for steps that are not measured are EnvironmentOptions::waiting_reward, and they
/// return the last graph where we return the best.
struct PublishedSlips {
  bool last_without_value = false; // the last advantage of a batch does not subtract the value
  bool cut_runs_into_next = false; // an episode that the horizon cut goes on in the next one
};

struct PpoOptions {
  size_t episodes = 1'000;
  size_t episodes_per_update = 10;
  size_t epochs = 4, minibatch = 16;
  double discount = 0.99, smoothing = 0.95; // gamma, lambda
  /// No further epoch once the policy went so far; not asked in the first updates.
  double target_kl = 0.05;
  size_t updates_before_kl = 10;
  uint64_t seed = 1;
  PublishedSlips slips = {};
  StopToken stop = {};
};

/// An episode as it was played.
struct Episode {
  struct Transition {
    std::shared_ptr<const RewriteState> state;
    size_t action = 0;
    double log_prob = 0, value = 0, reward = 0;
  };
  std::vector<Transition> steps;
  std::vector<RewriteTaken> path;
  bool cut = false; // by the horizon; then the value of the last state:
  double value_after = 0;
  double time = 0; // of the graph at its end
  double reward() const;
};

/// Plays one episode from the source: each action drawn by its probability, or the most likely one.
/// Equal seeds and numbers, equal draws. Errors: those of environment and policy.
Result<Episode> play(RewriteEnvironment& environment, PolicyRunner& policy, uint64_t seed,
                     size_t number, bool most_likely);

/// Advantages and targets of the steps of some episodes, one behind the other.
std::vector<Sample> samples_of(llvm::ArrayRef<Episode> episodes, const PpoOptions& options);

/// How far training is.
struct TrainingState {
  size_t episodes = 0; // a multiple of episodes_per_update until the last update
  /// The best mean of the episodes between two updates; the policy that played them was kept.
  double best_reward = -std::numeric_limits<double>::infinity();
};

/// After each update.
struct TrainingProgress {
  TrainingState state;
  double mean_reward = 0; // of the episodes since the last
  double best_time = 0, source_time = 0;
  llvm::ArrayRef<RewriteTaken> best_path; // to the best graph of all
  size_t measurements = 0;
  double seconds = 0; // of this update, with its episodes
  LearnReport learned;
  llvm::ArrayRef<Episode> played;
};

/// Plays and learns, from this state on. What it draws depends on the seed and on numbers alone, so
/// that training that goes on after a whole update gives the same as one that was never
/// interrupted; after fewer episodes than an update's, which `episodes` may end with, later updates
/// are of others. Errors: those of
/// environment, policy and `done`.
Result<void> train(RewriteEnvironment& environment, PolicyRunner& policy, const PpoOptions& options,
                   TrainingState state,
                   llvm::function_ref<Result<void>(const TrainingProgress&)> done);

} // namespace tg::paper
