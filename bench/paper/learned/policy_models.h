// Policies as models: the network, its loss and its update are written in `.tg` (xrlflow.tg) and
// run on a backend. This file converts a batch of states to tensors of a few padded sizes, each
// with its own program, and reads and writes policies as files.
#pragma once

#include "bench/paper/learned/ppo.h"
#include "compiler/api/backends/prepare.h"
#include "runtime/files/safetensors.h"

#include <map>

namespace tg::paper {

/// A network: "xrlflow" as published, with 500 slots for candidates; "xrlflow-scored", with the
/// same body and heads that score each candidate with shared weights.
struct PolicyForm {
  llvm::StringRef name;
  int slots = 0; // 0: any number of candidates
  /// True if optimising makes it faster (bench/policy_bench.cpp): maps over 8.3 M weights gain from
  /// fewer passes; smaller ones stay in the caches and lose by the duplicate work of fused maps.
  bool optimised = false;
};
/// Returns the network of that name, or null.
const PolicyForm* find_policy_form(llvm::StringRef name);

/// Returns the names of the operators that a node can be, in the order of their features.
std::string operator_names();

/// Compile-time parameters of a network, by name.
using NetworkSettings = std::vector<std::pair<std::string, std::string>>;
/// The options of running a network.
struct NetworkRun : PrepareOptions {
  /// Optimise before running, by prices that do not depend on the machine: a network must compute
  /// the same bits wherever and whenever its training resumes.
  bool optimised = true;
};
/// Loads a model of a `.tg` file of this folder, ready to run. Errors: those of the text, of
/// optimising, and of loading.
Result<Prepared> load_network(llvm::StringRef file, llvm::StringRef model, NetworkSettings settings,
                              const NetworkRun& run, uint64_t seed);

/// Reads the tensor `name`. Errors: `bad_data_file` if its type differs from `type` or a number is
/// not finite.
Result<Tensor> read_tensor(const Safetensors& file, llvm::StringRef path, llvm::StringRef name,
                           const TensorType& type);

/// Returns true if all elements of an f32 tensor are finite.
bool all_finite(const Tensor& tensor);
/// The error `not_finite`, for which weights are not saved.
Diagnostic not_finite_error();

/// The metadata of a policy's file.
using PolicyNotes = std::map<std::string, std::string>;

struct PolicyOptions {
  PrepareOptions run = {};            // backend, threads, memory
  std::optional<bool> optimised = {}; // optimise before running; none: the form's default
  uint64_t seed = 1;                  // seed of the initial weights
  int layers = kMostLayers;           // graph attention layers
  double rate = 0.0005;               // learning rate
  double spreading = 0.01;            // entropy coefficient
  /// Minimum padded sizes, for tests.
  StateBatch::Sizes least = {};
};

class PolicyModels final : public PolicyRunner {
public:
  /// Returns an untrained policy. Errors: those of loading the models.
  static Result<std::unique_ptr<PolicyModels>> fresh(const PolicyForm& form, PolicyOptions options);
  /// Reads a policy that save() wrote. Errors: those of the file; `bad_data_file` if it does not
  /// hold a policy or its operators differ from this program's.
  static Result<std::unique_ptr<PolicyModels>> open(llvm::StringRef path, PolicyOptions options);

  Result<Decision> decide(const EncodedState& state) override;
  Result<LearnReport> learn(llvm::ArrayRef<Sample> minibatch) override;
  void keep() override { best_ = theta_; }
  /// Restores the weights of the last keep().
  void take_best() { theta_ = best_; }

  /// Writes the weights, Adam's state, the policy's form and the notes as safetensors.
  Result<void> save(llvm::StringRef path, const PolicyNotes& notes) const;
  /// Returns the notes of the file that it was opened from.
  const PolicyNotes& notes() const { return notes_; }
  const PolicyForm& form() const { return form_; }
  llvm::ArrayRef<float> weights() const { return std::as_const(*theta_).floats(); }
  /// Returns the maximum number of candidates, the unchanged graph included.
  size_t most_candidates() const;

private:
  PolicyModels(const PolicyForm& form, PolicyOptions options)
      : form_(form), options_(std::move(options)) {}

  /// Makes a batch, padded to at least `least` states.
  StateBatch batch_of(llvm::ArrayRef<const EncodedState*> states, size_t least) const;
  NetworkSettings with_form(NetworkSettings settings) const;
  NetworkSettings of_fresh() const;
  Result<Prepared> load(llvm::StringRef model, NetworkSettings settings) const;
  Result<Prepared*> program(llvm::StringRef model, const StateBatch::Sizes& sizes);

  const PolicyForm& form_;
  PolicyOptions options_;
  PolicyNotes notes_;
  // Immutable, because runs and the best weights share them.
  std::shared_ptr<Tensor> theta_, mean_, variance_, best_;
  std::vector<Tensor> spare_; // memory of replaced weights, for reuse
  int64_t steps_ = 0;         // Adam's
  std::map<std::pair<std::string, StateBatch::Sizes>, Prepared> programs_;
};

} // namespace tg::paper
