// What every backend's compile() and bind_inputs() share: contents of weights and constants, checks
// of inputs, the memory estimate, and the times of steps.
#pragma once

#include "lang/core/shape_rules.h"
#include "runtime/backend.h"

#include <chrono>

namespace tg {

/// Errors: `limit_no_answer` once what loads or runs has to end.
Result<void> go_on(const StopToken& stop);

/// Names the contents of a weight, for `options.shared`. Errors: those of the weight source.
Result<std::string> name_of_weight(const PlanValue& value, const CompileOptions& options);

/// The contents of a weight or constant, from the options' source or at random, to be copied: at
/// any address. `spare`: memory that may be used for them. Errors: those of the source;
/// `bad_data_file` if it gives another type; those of go_on().
Result<Tensor> contents_of(const PlanValue& value, const CompileOptions& options,
                           Tensor spare = {});
/// The same to compute with: aligned.
Result<Tensor> materialise(const PlanValue& value, const CompileOptions& options,
                           Tensor spare = {});

/// Of a tensor that is read alone, which may be lent, as kernels take addresses.
std::byte* read_only(const Tensor& tensor);

std::vector<TensorView> views_of(llvm::ArrayRef<Tensor> tensors);

/// Errors: `bad_input_value` if number or types are not the plan's, naming the input.
Result<void> check_inputs(const Plan& plan, llvm::ArrayRef<TensorView> inputs);
Result<void> check_inputs(const Plan& plan, llvm::ArrayRef<Tensor> inputs);
/// The same of one input, by the type of what it is given.
Result<void> check_input(const PlanValue& input, const TensorType& got);

/// What bind_next() is given. Errors: those of check_inputs(), also of the types of outputs.
Result<void> check_next(const Plan& plan, llvm::ArrayRef<TensorView> inputs,
                        llvm::ArrayRef<std::optional<size_t>> outputs);

/// Errors: `no_kernel` if an operator that the program declares has none.
Result<void> check_externs(const Plan& plan, const CompileOptions& options);

/// Bytes of all weights and constants, as they are read at load, and of inputs and outputs.
/// A sum that does not fit saturates at INT64_MAX.
MemoryUse resident_bytes(const Plan& plan);

/// Zeroed memory. Errors: `memory_limit` where the system refuses it.
Result<AlignedBuffer> allocate(int64_t bytes);

/// op_work of a step.
OpWork step_work(const Plan& plan, const PlanStep& step);

/// Errors: `memory_limit`, with what is needed by which part, if `use` is over the limit (0: none).
Result<void> check_memory(const Plan& plan, const MemoryUse& use, int64_t limit_bytes);

/// Times of the steps of an executable, for Executable::profile. Off, it costs one branch.
class StepClock {
public:
  explicit StepClock(size_t steps = 0) : samples_(steps) {}
  void enable(bool on) {
    on_ = on;
    if (on)
      for (std::vector<double>& samples : samples_) samples.clear();
  }
  void start() {
    if (on_) last_ = Clock::now();
  }
  /// The step that has just ended; the next starts here.
  void stop(size_t step) {
    if (!on_) return;
    Clock::time_point now = Clock::now();
    samples_[step].push_back(std::chrono::duration<double, std::micro>(now - last_).count());
    last_ = Clock::now();
  }
  /// Median in microseconds; 0 if there is no sample.
  double median_us(size_t step) const;

private:
  using Clock = std::chrono::steady_clock;
  bool on_ = false;
  Clock::time_point last_;
  std::vector<std::vector<double>> samples_;
};

} // namespace tg
