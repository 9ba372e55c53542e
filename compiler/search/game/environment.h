// Optimisation as a game (He et al., MLSys 2023, section 3): a state is a graph, an action one
// rewrite of it or to stop, a reward what the time of the whole graph gained, in hundredths of the
// source's. What a graph takes is asked from outside: measured, or a sum of prices. It is asked
// every few steps and at the end, and once for each graph.
#pragma once

#include "compiler/search/game/encoding.h"
#include "compiler/search/game/features.h"
#include "compiler/search/rewrites.h"
#include "lang/core/result.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/DenseMap.h>

namespace tg {

/// What one graph takes, in any unit. Errors end the episode.
using GraphTime = std::function<Result<double>(const Graph& graph)>;

/// What a reward may depend on.
struct StepTaken {
  size_t step = 0;                     // of the episode, from 1
  bool measured = false;               // else `now` is `last`
  double first = 0, last = 0, now = 0; // times: the source's, the one measured before, this
  bool done = false;
};
using RewardOf = std::function<double(const StepTaken& step)>;

struct EnvironmentOptions {
  ExplorerOptions explore = {};
  size_t horizon = 100;         // steps of an episode
  size_t measure_every = 5;     // 0: at the end alone
  double waiting_reward = 0;    // of a step that is not measured (published: 0.1)
  size_t most_candidates = 500; // with the graph as it stands; what comes later is left out
  size_t most_operators = 0;    // of a candidate; 0: twice those of its graph, as published
  bool features = false;        // with RewriteState::features
  RewardOf reward = {};         // in the place of the usual one
  StopToken stop = {};          // then steps are errors
};

/// A graph, and what one action makes of it.
struct RewriteState {
  struct Candidate {
    RuleId rule{};
    size_t rewrite = 0; // in Rewrites of the graph
    std::string place;
  };
  Graph graph;
  std::vector<Candidate> candidates; // rule by rule, each place of it; action i is candidate i
  EncodedState encoded;              // of these, then of the graph: the action to stop
  std::vector<GraphFeatures> features = {}; // of the same, where the options ask for them
  size_t actions() const { return candidates.size() + 1; }
  size_t stop() const { return candidates.size(); }
};

/// A step on the way to a graph: which of the rewrites of the graph before, and its rule.
struct RewriteTaken {
  RuleId rule{};
  size_t rewrite = 0;
  std::string place = {};
};

class RewriteEnvironment {
public:
  /// Rules and graph have to outlive this.
  RewriteEnvironment(const Graph& source, llvm::ArrayRef<Rule> rules, GraphTime time,
                     EnvironmentOptions options);

  struct Step {
    double reward = 0;
    bool done = false;
    bool cut = false; // done because of the horizon alone: the state was worth something yet
  };
  /// Back to the source. Errors: those of `time`; `usage` where the source takes none, since
  /// rewards are shares of it.
  Result<void> reset();
  /// Requires that the episode goes on, and an action of the state. Errors: those of `time`;
  /// `limit_no_answer` where it was stopped.
  Result<Step> step(size_t action);
  /// From the source by these rewrites (RewriteTaken::rewrite), as far as there are such; then asks
  /// for the time of the graph, which is the best if there is none but the source, whatever it
  /// takes. Errors: those of `time`.
  Result<void> follow(llvm::ArrayRef<size_t> rewrites);
  /// What an action leads to. Requires an action of the state.
  Graph after(size_t action) const;
  /// What the last step was rewarded for.
  const StepTaken& taken() const { return taken_; }

  const std::shared_ptr<const RewriteState>& state() const { return state_; }
  /// What was done since reset().
  llvm::ArrayRef<RewriteTaken> path() const { return path_; }
  /// That of the graph measured last, and the source's.
  double time() const { return last_; }
  double source_time() const { return first_; }

  /// The best graph of all episodes that was measured; at first the source.
  struct Best {
    Graph graph;
    double time = 0;
    std::vector<RewriteTaken> path = {};
  };
  const Best& best() const { return best_; }
  /// Graphs whose time was asked for.
  size_t measurements() const { return times_.size(); }
  const EnvironmentOptions& options() const { return options_; }
  llvm::ArrayRef<Rule> rules() const { return rules_; }

private:
  std::shared_ptr<const RewriteState> state_of(Graph graph);
  Result<double> time_of(const Graph& graph);
  double reward(const StepTaken& step) const;

  const Graph& source_;
  llvm::ArrayRef<Rule> rules_;
  GraphTime time_of_graph_;
  EnvironmentOptions options_;
  llvm::DenseMap<uint64_t, double> times_; // by structural_hash
  /// States that episodes came to, by structural_hash: they come back to most of them. All are let
  /// go of when there are too many.
  llvm::DenseMap<uint64_t, std::shared_ptr<const RewriteState>> known_;
  std::shared_ptr<const RewriteState> state_;
  std::vector<RewriteTaken> path_;
  StepTaken taken_;
  double first_ = 0, last_ = 0;
  Best best_;
};

} // namespace tg
