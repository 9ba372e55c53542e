// Training of a policy on a model, as `tg-paper train` does. Rewards are the times of whole runs
// against the source, or prices. The policy's file is written after each update; a later run
// resumes from it.
#pragma once

#include "bench/paper/learned/ppo.h"
#include "compiler/api/optimize_model.h"

namespace tg::paper {

struct TrainOptions {
  std::string policy = "xrlflow"; // name of the network (policy_models.h)
  std::string path;               // the policy's file
  bool again = false;             // start anew instead of resuming from the file
  size_t episodes = 1'000;        // including those of earlier runs
  size_t horizon = 100;           // steps of an episode
  size_t measure_every = 5;       // steps between measurements; 0: only at the end
  bool by_prices = false;         // rewards from prices instead of whole runs
  double learning_rate = 0.0005;
  bool published_slips = false;
};

struct TrainedPolicy {
  size_t episodes = 0, earlier_episodes = 0; // in total; of these, episodes of earlier runs
  double best_reward = 0;                    // the best mean of the episodes between two updates
  double source_us = 0, best_us = 0;         // of all measured graphs, earlier runs included
  std::optional<Graph> best;                 // the graph of best_us
  size_t measurements = 0, refused = 0;      // graphs timed; graphs that could not be timed
  double seconds = 0;
  std::string stopped_by = {};  // if stopped before the last episode: "time limit", "interrupted"
  std::vector<RuleCount> rules; // applied rules, most frequent first
};

/// Trains a policy on `source`. On an error it reports to the sink and returns nullopt. Errors:
/// `usage` for an unknown network, and for a file with other training settings; `limit_no_answer`
/// if it was stopped before the first update; those of rules, prices, files and runs.
std::optional<TrainedPolicy> train_model(const Graph& source, const TrainOptions& training,
                                         const tangram::OptimizeOptions& options,
                                         const OptimizeHost& host, SourceManager& sources,
                                         DiagnosticSink& sink,
                                         llvm::function_ref<void(const TrainingProgress&)> done);

} // namespace tg::paper
