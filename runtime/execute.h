// Shared by every backend's compile() and bind_inputs(): contents of weights and constants,
// checks of inputs, the memory estimate, and step times.
#pragma once

#include "lang/core/shape_rules.h"
#include "runtime/backend.h"

#include <chrono>

namespace tg {

/// Errors: `limit_no_answer` if loading or running must stop.
Result<void> check_stop(const StopToken& stop);

/// Returns the name of the contents of a weight, for `options.shared`. Errors:
/// those of the weight source.
Result<std::string> name_of_weight(const PlanValue& value, const CompileOptions& options);

/// Returns the contents of a weight or constant, from the options' source or at random,
/// for copying: at any address. `spare` is memory that may be reused for them.
/// Errors: those of the source; `bad_data_file` if it gives another type; those of check_stop().
Result<Tensor> contents_of(const PlanValue& value, const CompileOptions& options,
                           Tensor spare = {});
/// The same for computing: aligned.
Result<Tensor> materialise(const PlanValue& value, const CompileOptions& options,
                           Tensor spare = {});

/// Returns the elements of a read-only (perhaps lent) tensor as the non-const address
/// that kernels take.
std::byte* read_only(const Tensor& tensor);

std::vector<TensorView> views_of(llvm::ArrayRef<Tensor> tensors);

/// Errors: `bad_input_value`, naming the input, if the number or types of inputs differ
/// from the plan's.
Result<void> check_inputs(const Plan& plan, llvm::ArrayRef<TensorView> inputs);
Result<void> check_inputs(const Plan& plan, llvm::ArrayRef<Tensor> inputs);
/// The same for one input, given the type of its value.
Result<void> check_input(const PlanValue& input, const TensorType& got);

/// Checks the arguments of bind_next(). Errors: those of check_inputs(),
/// including the types of reused outputs.
Result<void> check_next(const Plan& plan, llvm::ArrayRef<TensorView> inputs,
                        llvm::ArrayRef<std::optional<size_t>> outputs);

/// Errors: `no_kernel` if an operator that the program declares has no kernel.
Result<void> check_externs(const Plan& plan, const CompileOptions& options);

/// Returns the bytes of all weights and constants, as read at load, and of inputs and outputs.
/// A sum that overflows saturates at INT64_MAX.
MemoryUse resident_bytes(const Plan& plan);

/// Allocates zeroed memory. Errors: `memory_limit` if the system refuses it.
Result<AlignedBuffer> allocate(int64_t bytes);

/// Returns the op_work of a step.
OpWork step_work(const Plan& plan, const PlanStep& step);

/// Errors: `memory_limit`, listing the bytes of each part, if `use` exceeds the limit (0:
/// no limit).
Result<void> check_memory(const Plan& plan, const MemoryUse& use, int64_t limit_bytes);

/// Times of the steps of an executable, for Executable::profile. Costs one branch when off.
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
  /// Records the time of the step that has just ended. The next step starts here.
  void stop(size_t step) {
    if (!on_) return;
    Clock::time_point now = Clock::now();
    samples_[step].push_back(std::chrono::duration<double, std::micro>(now - last_).count());
    last_ = Clock::now();
  }
  /// Returns the median in microseconds; 0 if there is no sample.
  double median_us(size_t step) const;

private:
  using Clock = std::chrono::steady_clock;
  bool on_ = false;
  Clock::time_point last_;
  std::vector<std::vector<double>> samples_;
};

} // namespace tg
