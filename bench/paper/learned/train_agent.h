// Training of policies that guide the tree search, on several networks at once: the guide from
// searches of the networks' segments (guide.h), the tables of gains and motifs from statistics of
// such searches. Implements `tg-paper train --policy guide`, `gains` and `motifs`.
#pragma once

#include "bench/paper/learned/guide.h"
#include "bench/paper/learned/guide_models.h"
#include "compiler/api/optimize_model.h"

namespace tg::paper {

struct TrainAgentOptions {
  std::string agent;  // "guide", "gains" or "motifs"
  std::string path;   // the file to write
  bool again = false; // start anew instead of resuming from the guide in the file
  size_t rounds = 4;  // rounds of searches, including earlier runs; a guide is trained after each
  double learning_rate = kGuideRate;
  double visits = GuideOptions().visits;
};

struct TrainedAgent {
  size_t networks = 0;                   // number of segments that were searched
  size_t rounds = 0, earlier_rounds = 0; // in total; of these, rounds of earlier runs
  size_t samples = 0;                    // samples of this run
  double gain = 0;                       // mean gain of the searches of the last round
  double seconds = 0;
  std::string stopped_by = {}; // if stopped before the last round: "time limit", "interrupted"
};

/// Returns true if a policy of `tg-paper train` is one of these.
bool is_agent(llvm::StringRef policy);

/// Trains on segments of the networks, cut as by searches, without duplicates. A guide in a file
/// resumes from the next round; the samples of earlier rounds are not studied again. On an error it
/// reports to the sink and returns nullopt. Errors: `usage` for a guide with other training
/// settings, and for models without a segment that costs anything; `limit_no_answer` if it was
/// stopped before the first round was complete; those of rules, prices and files.
std::optional<TrainedAgent> train_agent(llvm::ArrayRef<const Graph*> networks,
                                        const TrainAgentOptions& training,
                                        const tangram::OptimizeOptions& options,
                                        const OptimizeHost& host, SourceManager& sources,
                                        DiagnosticSink& sink,
                                        llvm::function_ref<void(const GuideProgress&)> done);

} // namespace tg::paper
