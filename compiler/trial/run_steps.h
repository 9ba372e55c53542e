// Training: a program that is run step by step, each on what the last one made. An output whose
// name and type are an input's, or whose name is the path of a weight that the model updates, takes
// its place in the next step.
#pragma once

#include "compiler/trial/run_model.h"
#include "lang/core/const_math.h"
#include "runtime/files/numpy.h"

#include <optional>

namespace tg {

/// For each input of the plan the output that it is in the next step, if there is one. Errors:
/// `usage` where no output is an input, `bad_input_value` where one has the name of an input and
/// another type.
Result<std::vector<std::optional<size_t>>> carried_inputs(const Plan& plan);

/// Returns the first element of a tensor of any dtype, integers with all digits.
ConstNumber first_element(const Tensor& tensor);

/// What a weight that runs update is at first: of the options' source, else random.
Result<Tensor> beginning_of(const PlanValue& weight, const PrepareOptions& options);
/// The same in the place of all inputs that are such weights.
Result<void> give_updated_weights(const Plan& plan, const PrepareOptions& options,
                                  std::vector<Tensor>& inputs);

/// Examples that steps take in turn: tensors of which an input takes as many along the first axis
/// as it has. Each round through all is in another order, drawn from the seed; what is left at its
/// end and does not fill a batch waits for a later one.
class Batches {
public:
  /// Errors: `bad_input_value` for names and types that are no input's, for numbers of examples
  /// that differ or are smaller than a batch.
  static Result<Batches> make(const Plan& plan, std::vector<NamedTensor> data, uint64_t seed);

  /// Writes the next batch into the inputs.
  void next(std::vector<Tensor>& inputs);
  size_t examples() const { return order_.size(); }

private:
  void shuffle();

  struct Stream {
    size_t input;
    Tensor examples;
  };
  std::vector<Stream> streams_;
  std::vector<size_t> order_; // of the examples in this round
  size_t batch_ = 1, at_ = 0, round_ = 0;
  uint64_t seed_ = 1;
};

struct StepsOptions {
  size_t steps = 1;
  Batches* batches = nullptr; // null: each step is on the same inputs
  /// Called now and then, with the outputs of a step.
  std::function<void(size_t step, llvm::ArrayRef<Tensor> outputs)> progress = {};
};

/// The outputs of the last step; what steps took is in `report.times.timing`. Errors: those of
/// carried_inputs() and of runs; `not_finite` as soon as an output of one element that was looked
/// at is none.
Result<RunReport> run_steps(LoadedProgram& program, std::vector<Tensor> inputs,
                            const StepsOptions& options);

} // namespace tg
