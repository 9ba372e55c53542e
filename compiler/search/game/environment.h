// Optimisation as a game (He et al., MLSys 2023, section 3). A state is a graph; an action is one
// rewrite of it, or to stop; a reward is the reduction of the whole graph's time, in percent of the
// source's time. The caller supplies the time of a graph, measured or as a sum of prices. It is
// requested every few steps and at the end of an episode, and once for each graph.
#pragma once

#include "compiler/search/game/features.h"
#include "compiler/search/rewrites.h"
#include "lang/core/result.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/DenseMap.h>

namespace tg {

/// Returns the time of one graph, in any unit. Errors end the episode.
using GraphTime = std::function<Result<double>(const Graph& graph)>;

/// The inputs of a reward function.
struct RewardInputs {
  size_t step = 0;                     // within the episode, from 1
  bool measured = false;               // otherwise `now` equals `last`
  double first = 0, last = 0, now = 0; // times of the source, the last measured and this graph
  bool done = false;
};
using RewardOf = std::function<double(const RewardInputs& step)>;

/// Encodes a state for an agent: receives the graphs of its candidates in order, then its own.
class StateEncoder {
public:
  virtual ~StateEncoder() = default;
  virtual void add(const Graph& graph) = 0;
  virtual void finish() = 0;
};

struct EnvironmentOptions {
  ExplorerOptions explore = {};
  size_t horizon = 100;         // maximum steps of an episode
  size_t measure_every = 5;     // 0: only at the end
  double waiting_reward = 0;    // reward of a step that is not measured (published: 0.1)
  size_t most_candidates = 500; // includes the current graph; later candidates are dropped
  size_t most_operators = 0;    // of a candidate; 0: twice those of its graph, as published
  bool features = false;        // fill RewriteState::features
  RewardOf reward = {};         // replaces the default reward
  StopToken stop = {};          // once requested, steps return errors
  /// Makes the encoder of a new state.
  std::function<std::unique_ptr<StateEncoder>()> encoder = {};
};

/// A graph and the results of each action on it.
struct RewriteState {
  struct Candidate {
    RuleId rule{};
    size_t rewrite = 0; // index in the Rewrites of the graph
    std::string place;
  };
  Graph graph;
  std::vector<Candidate> candidates; // ordered by rule, then by place; action i is candidate i
  /// The features of the candidates, then of the graph, which is the action to stop; filled with
  /// EnvironmentOptions::features.
  std::vector<GraphFeatures> features = {};
  /// The encoding of the same graphs; null without EnvironmentOptions::encoder.
  std::unique_ptr<StateEncoder> encoder = {};
  size_t actions() const { return candidates.size() + 1; }
  size_t stop() const { return candidates.size(); }
};

/// A step on the path to a graph: the index of the rewrite in the previous graph, and its rule.
struct PathStep {
  RuleId rule{};
  size_t rewrite = 0;
  std::string place = {};
};

class RewriteEnvironment {
public:
  /// Rules and graph must outlive the environment.
  RewriteEnvironment(const Graph& source, llvm::ArrayRef<Rule> rules, GraphTime time,
                     EnvironmentOptions options);

  struct Step {
    double reward = 0;
    bool done = false;
    bool cut = false; // done because of the horizon alone, so the state still has value
  };
  /// Returns to the source. Errors: those of `time`; `usage` if the source's time is zero, because
  /// rewards are relative to it.
  Result<void> reset();
  /// Takes an action. Requires an unfinished episode and an action of the state. Errors: those of
  /// `time`; `limit_no_answer` if the episode was stopped.
  Result<Step> step(size_t action);
  /// Replays these rewrites (PathStep::rewrite) from the source as far as they exist, then
  /// times the resulting graph. If no graph but the source was known, this graph becomes the best
  /// one regardless of its time. Errors: those of `time`.
  Result<void> follow(llvm::ArrayRef<size_t> rewrites);
  /// Returns the graph after an action. Requires an action of the state.
  Graph after(size_t action) const;
  /// Returns the reward inputs of the last step.
  const RewardInputs& taken() const { return taken_; }

  const std::shared_ptr<const RewriteState>& state() const { return state_; }
  /// Rewrites taken since reset().
  llvm::ArrayRef<PathStep> path() const { return path_; }
  /// Time of the graph measured last, and of the source.
  double time() const { return last_; }
  double source_time() const { return first_; }

  /// The best measured graph of all episodes; initially the source.
  struct Best {
    Graph graph;
    double time = 0;
    std::vector<PathStep> path = {};
  };
  const Best& best() const { return best_; }
  /// Number of graphs that were timed.
  size_t measurements() const { return times_.size(); }
  const EnvironmentOptions& options() const { return options_; }
  llvm::ArrayRef<Rule> rules() const { return rules_; }

private:
  std::shared_ptr<const RewriteState> state_of(Graph graph);
  Result<double> time_of(const Graph& graph);
  double reward(const RewardInputs& step) const;

  const Graph& source_;
  llvm::ArrayRef<Rule> rules_;
  GraphTime time_of_graph_;
  EnvironmentOptions options_;
  llvm::DenseMap<uint64_t, double> times_; // by structural_hash
  /// Cached states by structural_hash, since episodes revisit most states. Cleared when there are
  /// too many.
  llvm::DenseMap<uint64_t, std::shared_ptr<const RewriteState>> known_;
  std::shared_ptr<const RewriteState> state_;
  std::vector<PathStep> path_;
  RewardInputs taken_;
  double first_ = 0, last_ = 0;
  Best best_;
};

} // namespace tg
