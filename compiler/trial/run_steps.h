// Training: runs a program step by step, each on the results of the previous step. An output
// becomes an input of the next step if it has the input's name and type, or if its name is the path
// of a weight that the model updates.
#pragma once

#include "compiler/trial/run_model.h"
#include "lang/core/const_math.h"
#include "runtime/files/numpy.h"

#include <optional>

namespace tg {

/// Returns, for each input of the plan, the output that replaces it in the next step, if any.
/// Errors: `usage` if no output is an input; `bad_input_value` if an output has the name of an
/// input and another type.
Result<std::vector<std::optional<size_t>>> carried_inputs(const Plan& plan);

/// Returns the first element of a tensor of any dtype; integers are exact.
ConstNumber first_element(const Tensor& tensor);

/// Returns the initial value of a weight that runs update: from the options' source, else random.
Result<Tensor> beginning_of(const PlanValue& weight, const PrepareOptions& options);
/// Sets all inputs that are such weights to their initial values.
Result<void> give_updated_weights(const Plan& plan, const PrepareOptions& options,
                                  std::vector<Tensor>& inputs);

/// Batches of training examples: tensors of which an input takes as many slices along the first
/// axis as it has. Each epoch is in another order, drawn from the seed. Examples left at its end
/// that do not fill a batch are used in a later one.
class Batches {
public:
  /// Errors: `bad_input_value` for names and types that match no input, and for numbers of examples
  /// that differ or are smaller than a batch.
  static Result<Batches> make(const Plan& plan, std::vector<NamedTensor> data, uint64_t seed);

  /// Writes the next batch to the inputs.
  void next(std::vector<Tensor>& inputs);
  size_t examples() const { return order_.size(); }

private:
  void shuffle();

  struct Stream {
    size_t input;
    Tensor examples;
  };
  std::vector<Stream> streams_;
  std::vector<size_t> order_; // of the examples in this epoch
  size_t batch_ = 1, at_ = 0, round_ = 0;
  uint64_t seed_ = 1;
};

struct StepsOptions {
  size_t steps = 1;
  Batches* batches = nullptr; // null: each step uses the same inputs
  /// Called periodically with the outputs of a step.
  std::function<void(size_t step, llvm::ArrayRef<Tensor> outputs)> progress = {};
};

/// Returns the outputs of the last step; `report.times.timing` has the times of steps. Errors:
/// those of carried_inputs() and of runs; `not_finite` as soon as an inspected output of one
/// element is not finite.
Result<RunReport> run_steps(LoadedProgram& program, std::vector<Tensor> inputs,
                            const StepsOptions& options);

} // namespace tg
