// Times single operators under the conditions of a network, so that the sum over a network's
// operators is close to the time of the whole network.
// A step alone in a loop is not representative: its weights would be in the first-level cache,
// its threads asleep or already spinning, and its operands in the user's layout.
// So each step is timed within a small plan:
//
//   wash      an elementwise step over as many bytes as the rest of the network would touch, so
//             that weights come from the same memory level as in the network, and the threads are
//             awake;
//   copies    of the step, each with its own weights and with operands that an elementwise step has
//             just written, in the backend's layout, as a neighbour would leave them. The first
//             copy warms code and result buffers, as the rest of a network does, and is not
//             counted; a step on so much data that code does not matter has only one copy.
//
// Several steps share a plan and its wash, because reading and writing 64 MiB takes as long
// as a thousand small steps. The state of the caches is the same for a step alone and among others.
//
// Noise on a shared machine can only add time: all steps are timed in several rounds,
// and the least of the rounds' medians counts.
// A time is steady if it was repeated in rounds without other computing programs
// (machine_watch.h). Steps that are not steady get as many rounds again.
#pragma once

#include "runtime/backend.h"
#include "runtime/measure/machine_watch.h"

#include <functional>

namespace tg {

/// The unit of timing: one operator with its types.
struct StepSpec {
  OpKind op{};
  std::vector<Value> attrs;         // normalized
  std::vector<TensorType> operands; // none type if absent
  TensorType result;
  /// Bit i: operand i is known at load.
  uint32_t weight_operands = 0;
  /// The index of the operand whose buffer the result reuses (PlanStep::in_place); -1: none.
  int in_place = -1;
};

/// Which of a step's operands are in a cache that outlives a run of the step (a GPU's L2).
enum class CacheState : uint8_t {
  AsNetwork, // as in a network that touches `network_bytes`
  Hot,       // everything, if it fits
  Cold,      // nothing
};

struct MeasureOptions {
  int threads = 1;
  /// Bytes that the network touches between two runs of a step. 0: no wash.
  int64_t wash_bytes = 0;
  int rounds = 5;
  int runs = 3; // per round
  /// Time limit for each instance. When it is exceeded, no further round is begun,
  /// except the second. Slow steps get fewer runs.
  double seconds = 0.06;
  /// A time is repeated if it is larger than the least figure by at most this share,
  /// plus a little for the clock.
  double repeat_within = 0.1;
  /// Null: every round counts as undisturbed.
  MachineWatch* watch = nullptr;
  int64_t memory_limit_bytes = 0; // 0: none
  // For backends with a StepTimer.
  CacheState cache = CacheState::AsNetwork;
  int64_t network_bytes = 0;
  bool allow_tf32 = false;
};

struct StepTime {
  double microseconds = 0;
  /// The 95% confidence interval of the median; both 0 if unknown.
  double low_us = 0, high_us = 0;
  std::string implementation; // of the step itself
  int runs = 0;
  /// False: other programs may have added to the time. It is an upper bound
  /// and should be measured again.
  bool steady = true;
};

/// The price of a whole run, as the sum over groups: steps that a backend fuses
/// when it loads a plan are one group with one price.
struct PlanPrice {
  double microseconds = 0; // the sum
  size_t groups = 0;
  size_t timed = 0; // distinct groups without an earlier price, also of this call
};

/// A backend's own implementation of step timing.
class StepTimer {
public:
  virtual ~StepTimer() = default;
  /// As measure_steps.
  virtual std::vector<Result<StepTime>> time(llvm::ArrayRef<StepSpec> steps,
                                             const MeasureOptions& options) const = 0;
  /// Returns the price of each plan, in order, as it would be loaded, without weights.
  /// Distinct groups of all plans are timed together, like steps, and stored. Errors, for each:
  /// those of compile.
  virtual std::vector<Result<PlanPrice>> price(llvm::ArrayRef<const Plan*> plans,
                                               const MeasureOptions& options) const = 0;
  /// As measure_conditions.
  virtual std::string conditions(const MeasureOptions& options) const = 0;
};

/// Returns contents on which every kernel runs at full speed: not denormal, not all equal,
/// positive (a variance is). Integers are zeros, which are valid indices of anything.
Result<Tensor> plain_numbers(const TensorType& type);

/// Returns the times of the steps, in order. Errors, for each: those of compile and run_once;
/// `memory_limit` if a step is too large.
std::vector<Result<StepTime>> measure_steps(const Backend& backend, llvm::ArrayRef<StepSpec> steps,
                                            const MeasureOptions& options);

/// A plan that times some steps, and the copies of each step in it.
struct MeasurePlan {
  Plan plan;
  std::vector<std::vector<PlanStepId>> copies;
};
MeasurePlan make_measure_plan(llvm::ArrayRef<StepSpec> specs, int64_t wash_bytes);

/// Returns the bytes to wash for a network that touches `network_bytes` in one run:
/// rounded to a power of two, so that measurements apply to networks of about the same size,
/// and at most 64 MiB.
int64_t wash_bytes_for(int64_t network_bytes);

/// Returns the part of a cost key that describes how a step was timed: "native, washed 64 MiB".
std::string measure_conditions(const Backend& backend, const MeasureOptions& options);

/// Builds plans that time steps: appends values and steps one by one and maintains Plan's
/// invariants. The caller appends the surrounding steps (a backend's StepTimer).
class MeasurePlanBuilder {
public:
  explicit MeasurePlanBuilder(Plan& plan) : plan_(plan) { plan_.model = "measure"; }

  PlanValueId value(PlanValue::Kind kind, const TensorType& type, std::string name);
  /// Returns the result of the appended step.
  PlanValueId step(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                   const TensorType& type);
  void output(std::string name, PlanValueId value);

  /// Creates an operand that a run computes or that is an input;
  /// operands known at load are weights.
  using Operand = std::function<PlanValueId(const TensorType& type, std::string name)>;
  /// Appends one copy of the step, with its own operands, and returns its result.
  PlanValueId copy(const StepSpec& spec, const Operand& operand);

private:
  Plan& plan_;
};

} // namespace tg
