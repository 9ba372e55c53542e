// Optimisation as an environment for reinforcement learning (X-RLflow: He et al., MLSys 2023). A
// state is a graph, an action is one rewrite of it or to stop, and a reward is the reduction of the
// whole graph's time.
//
//   auto game = tangram::Environment::make(*model, {.by_prices = true, .horizon = 20});
//   if (auto error = game->reset()) ...
//   while (!done) {
//     size_t action = choose(game->candidates());             // of game->actions()
//     auto step = game->step(action);                          // a reward, and whether it ended
//   }
//   Model fast = game->best().model;
//
// Everything except measured times is deterministic: equal models, options and actions lead to
// equal states, with their candidates in the same order.
#pragma once

#include "tangram/tangram.h"

namespace tangram {

/// The inputs of a reward function. Times are microseconds.
struct RewriteStep {
  size_t step = 0;       // within the episode, from 1
  bool measured = false; // otherwise `time_us` equals `last_us`
  double source_us = 0, last_us = 0,
         time_us = 0; // of the source, of the graph measured before, of this graph
  bool done = false;
};

/// Options of Environment::make().
struct EnvironmentOptions {
  /// Rules, numerics, prices, threads, memory, and the seed of weights and inputs. Other options
  /// only affect searches.
  OptimizeOptions search = {};
  /// Use the graphs' prices (`search.cost`) instead of runs beside the source.
  bool by_prices = false;
  size_t horizon = 100;     // maximum steps of an episode
  size_t measure_every = 5; // in steps; 0: only at the end
  /// Reward of a step without a measurement. A positive value rewards steps without effect.
  double waiting_reward = 0;
  /// Includes the action to stop; further candidates are dropped.
  size_t most_candidates = 500;
  /// Candidates with more operators are dropped; 0: those with more than twice as many as their
  /// graph.
  size_t most_operators = 0;
  /// A clock of the caller that replaces runs and prices: the microseconds of a graph, requested
  /// once for each. A negative value or NaN is a failure, and the step fails.
  std::function<double(const Model& model)> time_us = {};
  /// Replaces the default reward, the gain in percent of the source's time.
  std::function<double(const RewriteStep& step)> reward = {};
};

/// An action: one rule at one place.
struct Rewrite {
  std::string rule;
  std::string place; // description of the place
};

/// The result of a step.
struct StepResult {
  double reward = 0;
  bool terminated = false; // by the action to stop, or because no action is left
  bool truncated = false;  // by the horizon
  RewriteStep step;
};

/// A graph as numbers, for networks. Nodes are the operators that the outputs need, without inputs
/// and weights.
struct GraphNumbers {
  std::vector<int32_t> operators; // by node: index in Environment::operator_names()
  /// [nodes, Environment::kTraits], row-major: dimensions of the result and of two operands as
  /// logarithms, flags for values computed from weights alone, numbers of attributes.
  std::vector<float> traits;
  std::vector<int32_t> edges; // [edges, 2]: a node, and a reader of its result
};

/// Episodes of rewriting one model. May be used by one thread at a time.
class Environment {
public:
  struct Impl;
  /// Selects and verifies rules, and makes the prices. Errors: those of optimize().
  static Expected<Environment> make(const Model& model, const EnvironmentOptions& options = {});
  explicit Environment(std::unique_ptr<Impl> impl);
  Environment(Environment&&) noexcept;
  Environment& operator=(Environment&&) noexcept;
  ~Environment();

  /// Returns to the source, which is measured the first time. Errors: those of the clock.
  std::optional<Error> reset();
  /// Errors: an invalid action, or no episode in progress (usage); those of the clock; the
  /// interrupt of the options (E0602).
  Expected<StepResult> step(size_t action);

  /// The rewrites of the state, ordered by rule, then by place in the graph's order. Action i is
  /// candidate i. Empty before reset().
  const std::vector<Rewrite>& candidates() const;
  /// The number of actions: candidates().size() + 1, where the last one is to stop.
  size_t actions() const { return candidates().size() + 1; }
  /// The current graph; the source before reset().
  Model model() const;
  /// Returns the graph after an action. Errors: an invalid action, or no state yet (usage).
  Expected<Model> after(size_t action) const;
  /// Returns the same graph as numbers. Errors: those of after().
  Expected<GraphNumbers> numbers(size_t action) const;

  /// The graph with the lowest measured time over all episodes, and the rewrites to it. Initially
  /// the source.
  struct Best {
    Model model;
    double time_us = 0;
    std::vector<Rewrite> path = {};
  };
  /// Returns the best graph so far.
  Best best() const;
  /// Rewrites since reset().
  std::vector<Rewrite> path() const;
  /// The time of the source, in microseconds.
  double source_us() const;
  /// The number of distinct graphs that were timed.
  size_t measurements() const;

  static constexpr size_t kTraits = 26; // numbers of a node in GraphNumbers::traits
  /// The operators by their index in GraphNumbers::operators.
  static std::vector<std::string> operator_names();

private:
  std::unique_ptr<Impl> impl_;
};

} // namespace tangram
