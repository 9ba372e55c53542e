// Training of what takes the seat of the tree search, on several networks at once: the guide by
// searches of their parts (guide.h), its rivals by what such searches saw. What
// `tg-paper train --policy guide`, `gains` and `motifs` do.
#pragma once

#include "bench/paper/learned/guide.h"
#include "bench/paper/learned/guide_models.h"
#include "compiler/api/optimize_model.h"

namespace tg::paper {

struct TrainAgentOptions {
  std::string agent;  // "guide", "gains" or "motifs"
  std::string path;   // of the file that is written
  bool again = false; // a guide in it is not gone on from
  size_t rounds = 4;  // of searches, with those of earlier runs; a guide is studied after each
  double learning_rate = kGuideRate;
  double visits = GuideOptions().visits;
};

struct TrainedAgent {
  size_t networks = 0;                   // parts that were searched
  size_t rounds = 0, earlier_rounds = 0; // in all; of them those of earlier runs
  size_t samples = 0;                    // of this run
  double gain = 0;                       // the mean of what the searches of the last round gained
  double seconds = 0;
  std::string stopped_by = {}; // before all rounds: "time limit", "interrupted"
};

/// Returns true if a policy of `tg-paper train` is one of these.
bool is_agent(llvm::StringRef policy);

/// Networks are cut into parts as searches do, equal ones taken once. A guide of a file is trained
/// on from the round that is next; what earlier rounds searched is not studied again. Errors:
/// `usage` for a guide that was trained otherwise, and for models without a part that costs
/// anything; `limit_no_answer` where it was stopped before the first round was done; those of
/// rules, prices and files, in the sink. nullopt then.
std::optional<TrainedAgent> train_agent(llvm::ArrayRef<const Graph*> networks,
                                        const TrainAgentOptions& training,
                                        const tangram::OptimizeOptions& options,
                                        const OptimizeHost& host, SourceManager& sources,
                                        DiagnosticSink& sink,
                                        llvm::function_ref<void(const GuideProgress&)> done);

} // namespace tg::paper
