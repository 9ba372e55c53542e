// The agent that guides tree searches, as models (guide.tg) that run on a backend as all models do,
// and as a file.
#pragma once

#include "bench/paper/learned/guide.h"
#include "bench/paper/learned/policy_models.h"

#include <map>

namespace tg::paper {

/// Of its steps of gradient descent, unless another is asked for.
inline constexpr double kGuideRate = 0.001;

struct GuideModelOptions {
  NetworkRun run = {};
  uint64_t seed = 1;        // of the weights before any training
  double rate = kGuideRate; // of learning
  /// Graphs are padded to no fewer nodes than these, minibatches to no fewer samples, for tests.
  size_t least_nodes = 1, least_samples = 16;
};

class GuideModels final : public GuideRunner {
public:
  /// Untrained. Errors: those of loading the models.
  static Result<std::unique_ptr<GuideModels>> fresh(GuideModelOptions options);
  /// As save() wrote it. Errors: those of the file; `bad_data_file` of one that is no such agent or
  /// names other operators than this program has.
  static Result<std::unique_ptr<GuideModels>> open(llvm::StringRef path, GuideModelOptions options);

  Result<Answer> look(const GraphFeatures& graph, llvm::ArrayRef<Rule> rules) override;
  Result<double> study(llvm::ArrayRef<const GuideSample*> minibatch,
                       llvm::ArrayRef<Rule> rules) override;

  /// Weights and what Adam remembers, as safetensors, with these notes.
  Result<void> save(llvm::StringRef path, const PolicyNotes& notes) const;
  const PolicyNotes& notes() const { return notes_; }

private:
  explicit GuideModels(GuideModelOptions options) : options_(std::move(options)) {}

  Result<Prepared> load(llvm::StringRef model, NetworkSettings settings) const;
  /// Of a batch; 0 graphs: of a model that takes none.
  struct Sizes {
    size_t graphs = 0, nodes = 0, edges = 0; // nodes of each graph, edges of all
    auto operator<=>(const Sizes&) const = default;
  };
  Result<Prepared*> program(llvm::StringRef model, size_t rules, const Sizes& sizes);
  /// Traits of these rules, which take longer than the network: kept while it is asked of the same
  /// list, by its place and names. True: they are made anew.
  bool note_traits(llvm::ArrayRef<Rule> rules);
  /// What the network reads of these rules, made anew where they or its weights are others.
  Result<void> read(llvm::ArrayRef<Rule> rules);

  GuideModelOptions options_;
  PolicyNotes notes_;
  Tensor theta_, mean_, variance_;
  int64_t steps_ = 0; // Adam's
  std::map<std::tuple<std::string, size_t, Sizes>, Prepared> programs_;
  // Of the rules that were asked of last.
  const Rule* rules_ = nullptr;
  std::vector<std::string> names_;
  std::vector<float> traits_;
  std::vector<Tensor> read_; // what the network reads of them, as look() takes it; none yet: empty
  std::map<uint64_t, Answer> answers_; // by graphs: a search comes to many again
};

} // namespace tg::paper
