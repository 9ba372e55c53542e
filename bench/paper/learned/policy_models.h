// Policies as models: the network, its loss and its update are written in `.tg` (xrlflow.tg), and
// run on a backend as all models do. Here a batch of states becomes tensors of a few padded sizes,
// each with a program of its own, and a policy a file.
#pragma once

#include "bench/paper/learned/ppo.h"
#include "compiler/api/backends/prepare.h"
#include "runtime/files/safetensors.h"

#include <map>

namespace tg::paper {

/// A network by name: "xrlflow" as published, with 500 places for candidates; "xrlflow-scored", the
/// same below its heads, which score each candidate alike. Null: there is none.
struct PolicyForm {
  llvm::StringRef name;
  int slots = 0; // 0: any number of candidates
  /// Whether that makes it faster (bench/policy_bench.cpp): maps over 8.3 M weights gain by fewer
  /// passes, others, which stay in the caches, lose by what fused ones compute twice.
  bool optimised = false;
};
const PolicyForm* find_policy_form(llvm::StringRef name);

/// The operators that a node can be, in the order of their features.
std::string operator_names();

/// Compile-time parameters of a network, by name.
using NetworkSettings = std::vector<std::pair<std::string, std::string>>;
/// How a network runs.
struct NetworkRun : PrepareOptions {
  /// First, by prices that are the same everywhere: a network has to compute the same bits whenever
  /// and wherever its training goes on.
  bool optimised = true;
};
/// Loads a model of a `.tg` file of this folder, ready to run. Errors: those of the text, of
/// optimising, and of loading.
Result<Prepared> load_network(llvm::StringRef file, llvm::StringRef model, NetworkSettings settings,
                              const NetworkRun& run, uint64_t seed);

/// Of this name and type, of finite numbers. Errors: `bad_data_file`.
Result<Tensor> read_tensor(const Safetensors& file, llvm::StringRef path, llvm::StringRef name,
                           const TensorType& type);

/// Of f32.
bool all_finite(const Tensor& tensor);
/// Why weights are not saved: `not_finite`.
Diagnostic learned_nothing_finite();

/// What a file of a policy says beside its tensors.
using PolicyNotes = std::map<std::string, std::string>;

struct PolicyOptions {
  PrepareOptions run = {};            // backend, threads, memory
  std::optional<bool> optimised = {}; // before it runs; none: as suits the form
  uint64_t seed = 1;                  // of the weights before any training
  int layers = kMostLayers;           // of graph attention
  double rate = 0.0005;               // of learning
  double spreading = 0.01;            // the value of a unit of entropy
  /// Sizes are padded to no less than these, for tests.
  StateBatch::Sizes least = {};
};

class PolicyModels final : public PolicyRunner {
public:
  /// Untrained. Errors: those of loading the models.
  static Result<std::unique_ptr<PolicyModels>> fresh(const PolicyForm& form, PolicyOptions options);
  /// As save() wrote it. Errors: those of the file; `bad_data_file` of one that is no policy or
  /// names other operators than this program has.
  static Result<std::unique_ptr<PolicyModels>> open(llvm::StringRef path, PolicyOptions options);

  Result<Decision> decide(const EncodedState& state) override;
  Result<LearnReport> learn(llvm::ArrayRef<Sample> minibatch) override;
  void keep() override { best_ = theta_; }
  /// Plays as it did when keep() was called last.
  void take_best() { theta_ = best_; }

  /// Weights and what Adam remembers, as safetensors, with what the policy is and these notes.
  Result<void> save(llvm::StringRef path, const PolicyNotes& notes) const;
  /// Those of the file that it was opened from.
  const PolicyNotes& notes() const { return notes_; }
  const PolicyForm& form() const { return form_; }
  llvm::ArrayRef<float> weights() const { return std::as_const(*theta_).floats(); }
  /// The most candidates that it takes, with the graph as it stands.
  size_t most_candidates() const;

private:
  PolicyModels(const PolicyForm& form, PolicyOptions options)
      : form_(form), options_(std::move(options)) {}

  /// Of no fewer states than `least`.
  StateBatch batch_of(llvm::ArrayRef<const EncodedState*> states, size_t least) const;
  NetworkSettings with_form(NetworkSettings settings) const;
  NetworkSettings of_fresh() const;
  Result<Prepared> load(llvm::StringRef model, NetworkSettings settings) const;
  Result<Prepared*> program(llvm::StringRef model, const StateBatch::Sizes& sizes);

  const PolicyForm& form_;
  PolicyOptions options_;
  PolicyNotes notes_;
  // Shared with what is kept as the best and with runs, and not changed.
  std::shared_ptr<Tensor> theta_, mean_, variance_, best_;
  std::vector<Tensor> spare_; // memory of weights that have been replaced
  int64_t steps_ = 0;         // Adam's
  std::map<std::pair<std::string, StateBatch::Sizes>, Prepared> programs_;
};

} // namespace tg::paper
