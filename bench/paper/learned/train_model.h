// Training of a policy on a model: what `tg-paper train` does. Rewards are whole runs beside the
// source, or prices. The policy's file is written after each update; a later run goes on from it.
#pragma once

#include "bench/paper/learned/ppo.h"
#include "compiler/api/optimize_model.h"

namespace tg::paper {

struct TrainOptions {
  std::string policy = "xrlflow"; // a network's name (policy_models.h)
  std::string path;               // of the file
  bool again = false;             // what the file has is not gone on from
  size_t episodes = 1'000;        // with those of earlier runs
  size_t horizon = 100;           // steps of an episode
  size_t measure_every = 5;       // steps; 0: at the end alone
  bool by_prices = false;         // else by whole runs
  double learning_rate = 0.0005;
  bool published_slips = false;
};

struct TrainedPolicy {
  size_t episodes = 0, earlier_episodes = 0; // in all; of them those of earlier runs
  double best_reward = 0;                    // the best mean of the episodes between two updates
  double source_us = 0, best_us = 0;    // of all graphs that were measured, in earlier runs, too
  std::optional<Graph> best;            // the graph
  size_t measurements = 0, refused = 0; // graphs timed; those that could not be
  double seconds = 0;
  std::string stopped_by = {};  // before all episodes were played: "time limit", "interrupted"
  std::vector<RuleCount> rules; // applied, most often first
};

/// Errors: `usage` for a network that there is not, and for a file that was trained otherwise;
/// `limit_no_answer` where it was stopped before the first update; those of rules, prices, files
/// and runs, in the sink. nullopt then.
std::optional<TrainedPolicy> train_model(const Graph& source, const TrainOptions& training,
                                         const tangram::OptimizeOptions& options,
                                         const OptimizeHost& host, SourceManager& sources,
                                         DiagnosticSink& sink,
                                         llvm::function_ref<void(const TrainingProgress&)> done);

} // namespace tg::paper
