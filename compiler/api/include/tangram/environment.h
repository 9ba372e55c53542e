// Optimisation as a game, for agents of your own (X-RLflow: He et al., MLSys 2023): a state is a
// graph, an action one rewrite of it or to stop, a reward what the time of the whole graph gained.
//
//   auto game = tangram::Environment::make(*model, {.by_prices = true, .horizon = 20});
//   if (auto error = game->reset()) ...
//   while (!done) {
//     size_t action = choose(game->candidates());             // of game->actions()
//     auto step = game->step(action);                          // a reward, and whether it ended
//   }
//   Model fast = game->best().model;
//
// Everything is deterministic but what a clock says: equal models, options and actions lead to
// equal states, with their candidates in one order.
#pragma once

#include "tangram/tangram.h"

namespace tangram {

/// What a reward may depend on. Times are microseconds.
struct RewriteStep {
  size_t step = 0;       // of the episode, from 1
  bool measured = false; // else `time_us` is `last_us`
  double source_us = 0, last_us = 0,
         time_us = 0; // the source's, that measured before, this graph's
  bool done = false;
};

struct EnvironmentOptions {
  /// Rules, numerics, prices, threads, memory, the seed of weights and inputs; the others are of
  /// searches.
  OptimizeOptions search = {};
  /// Graphs are asked for their prices (`search.cost`), not run beside the source.
  bool by_prices = false;
  size_t horizon = 100;     // steps of an episode
  size_t measure_every = 5; // steps; 0: at the end alone
  /// Of a step after which nothing is measured. Above 0 it pays an agent for stalling.
  double waiting_reward = 0;
  /// With the action to stop; those that come later are left out.
  size_t most_candidates = 500;
  /// Candidates with more operators are left out; 0: those with twice as many as their graph.
  size_t most_operators = 0;
  /// A clock of the caller's, in the place of runs and prices: microseconds of a graph, which it is
  /// asked for once. Less than 0, or NaN: it failed, and the step with it.
  std::function<double(const Model& model)> time_us = {};
  /// In the place of the usual one, the gain in hundredths of the source's time.
  std::function<double(const RewriteStep& step)> reward = {};
};

/// An action: one rule at one place.
struct Rewrite {
  std::string rule;
  std::string place; // in words, for people
};

/// What a step came to.
struct StepResult {
  double reward = 0;
  bool terminated = false; // by the action to stop, or because nothing is left to do
  bool truncated = false;  // by the horizon
  RewriteStep step;
};

/// A graph as numbers, for networks. Nodes are the operators that the outputs need, inputs and
/// weights are none.
struct GraphNumbers {
  std::vector<int32_t> operators; // by node, in Environment::operator_names()
  /// [nodes, Environment::kTraits], row-major: dimensions of the result and of two operands as
  /// logarithms, what is computed from weights alone, numbers of attributes.
  std::vector<float> traits;
  std::vector<int32_t> edges; // [edges, 2]: a node, and one that takes its result
};

/// One thread at a time.
class Environment {
public:
  struct Impl;
  /// Selects and verifies rules, and makes the prices. Errors: those of optimize().
  static Expected<Environment> make(const Model& model, const EnvironmentOptions& options = {});
  explicit Environment(std::unique_ptr<Impl> impl);
  Environment(Environment&&) noexcept;
  Environment& operator=(Environment&&) noexcept;
  ~Environment();

  /// Back to the source, which is measured the first time. Errors: those of the clock.
  std::optional<Error> reset();
  /// Errors: no such action, or no episode that goes on (usage); those of the clock; the interrupt
  /// of the options (E0602).
  Expected<StepResult> step(size_t action);

  /// Rule by rule, each place of it in the order of the graph: action i is candidate i. None before
  /// reset().
  const std::vector<Rewrite>& candidates() const;
  /// candidates().size() + 1 of them, the last of which is to stop.
  size_t actions() const { return candidates().size() + 1; }
  /// The graph as it stands: the source before reset().
  Model model() const;
  /// What an action leads to. Errors: no such action, or no state yet (usage).
  Expected<Model> after(size_t action) const;
  Expected<GraphNumbers> numbers(size_t action) const;

  /// The graph that took least of those measured, in all episodes, and how it came about. It is
  /// the source at first.
  struct Best {
    Model model;
    double time_us = 0;
    std::vector<Rewrite> path = {};
  };
  Best best() const;
  /// What was done since reset().
  std::vector<Rewrite> path() const;
  double source_us() const;
  size_t measurements() const; // distinct graphs

  static constexpr size_t kTraits = 26;
  static std::vector<std::string> operator_names();

private:
  std::unique_ptr<Impl> impl_;
};

} // namespace tangram
