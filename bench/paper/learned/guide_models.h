// The guide's neural network as models (guide.tg) that run on a backend, and its file.
#pragma once

#include "bench/paper/learned/guide.h"
#include "bench/paper/learned/policy_models.h"

#include <map>

namespace tg::paper {

/// The default learning rate.
inline constexpr double kGuideRate = 0.001;

struct GuideModelOptions {
  NetworkRun run = {};
  uint64_t seed = 1;        // seed of the initial weights
  double rate = kGuideRate; // learning rate
  /// Minimum padded sizes, for tests: nodes of a graph, samples of a minibatch.
  size_t least_nodes = 1, least_samples = 16;
};

class GuideModels final : public GuideRunner {
public:
  /// Returns an untrained guide. Errors: those of loading the models.
  static Result<std::unique_ptr<GuideModels>> fresh(GuideModelOptions options);
  /// Reads a guide that save() wrote. Errors: those of the file; `bad_data_file` if it does not
  /// hold a guide or its operators differ from this program's.
  static Result<std::unique_ptr<GuideModels>> open(llvm::StringRef path, GuideModelOptions options);

  Result<Answer> assess(const GraphFeatures& graph, llvm::ArrayRef<Rule> rules) override;
  Result<double> train_step(llvm::ArrayRef<const GuideSample*> minibatch,
                            llvm::ArrayRef<Rule> rules) override;

  /// Writes the weights, Adam's state and the notes as safetensors.
  Result<void> save(llvm::StringRef path, const PolicyNotes& notes) const;
  const PolicyNotes& notes() const { return notes_; }

private:
  explicit GuideModels(GuideModelOptions options) : options_(std::move(options)) {}

  Result<Prepared> load(llvm::StringRef model, NetworkSettings settings) const;
  /// The sizes of a batch; 0 graphs for a model that takes none.
  struct Sizes {
    size_t graphs = 0, nodes = 0, edges = 0; // nodes per graph, edges in total
    auto operator<=>(const Sizes&) const = default;
  };
  Result<Prepared*> program(llvm::StringRef model, size_t rules, const Sizes& sizes);
  /// Computes the traits of these rules, which takes longer than the network, unless they are those
  /// of the last call (same list address and names). Returns true if they were computed.
  bool note_traits(llvm::ArrayRef<Rule> rules);
  /// Computes the network's encoding of these rules, unless neither they nor its weights changed.
  Result<void> read(llvm::ArrayRef<Rule> rules);

  GuideModelOptions options_;
  PolicyNotes notes_;
  Tensor theta_, mean_, variance_;
  int64_t steps_ = 0; // Adam's
  std::map<std::tuple<std::string, size_t, Sizes>, Prepared> programs_;
  // The rules of the last call.
  const Rule* rules_ = nullptr;
  std::vector<std::string> names_;
  std::vector<float> traits_;
  std::vector<Tensor>
      read_; // the network's encoding of them, the input of assess(); empty at first
  std::map<uint64_t, Answer> answers_; // by digest of the graph: searches revisit many graphs
};

} // namespace tg::paper
