// Times single operators as they run inside a network, so that the sum over a network's operators
// is close to the time of the whole. A step alone in a loop is not that: its weights would lie in
// the first-level cache, its threads would be asleep or already spinning, its operands in the
// user's layout. So each step is timed within a small plan:
//
//   wash      an elementwise step over as many bytes as the rest of the network would touch, so
//             that weights come from where they would come from, and the threads are awake;
//   copies    of the step, each with weights of its own and with operands that an elementwise step
//             has just made, in the backend's layout, as a neighbour would leave them. The first
//             warms code and results' buffers, as the rest of a network does, and is not counted;
//             a step on so much data that code does not matter has no further copies.
//
// Several steps share a plan and its wash: to read and write 64 MiB takes as long as a thousand
// small steps. What a step finds in the caches is the same alone and among others.
//
// Noise on a shared machine only ever adds: all are timed in several rounds, and the least of the
// rounds' medians counts. It is settled where it was repeated, in rounds in which nobody else
// computed (machine_watch.h); what is not gets as many rounds again.
#pragma once

#include "runtime/backend.h"
#include "runtime/measure/machine_watch.h"

#include <functional>

namespace tg {

/// One operator with its types: what is timed.
struct StepSpec {
  OpKind op{};
  std::vector<Value> attrs;         // in normal form
  std::vector<TensorType> operands; // none type where absent
  TensorType result;
  /// Bit i: operand i is known at load.
  uint32_t weight_operands = 0;
  /// The operand, by position, whose buffer the result takes over (PlanStep::in_place); -1: none.
  int in_place = -1;
};

/// What of a step's operands lies in a cache that outlives a run of the step (a GPU's L2).
enum class CacheState : uint8_t {
  AsNetwork, // as in a network that touches `network_bytes`
  Hot,       // everything, if it fits
  Cold,      // nothing
};

struct MeasureOptions {
  int threads = 1;
  /// Bytes that the network touches between two runs of a step. 0: nothing is washed.
  int64_t wash_bytes = 0;
  int rounds = 5;
  int runs = 3; // in a round
  /// For each instance; when it is spent no round is begun but the second.
  /// Slow ones get fewer runs.
  double seconds = 0.06;
  /// What counts as repeated: up to so much more than the least figure, and a little for the clock.
  double repeat_within = 0.1;
  /// Null: a round is taken for undisturbed.
  MachineWatch* watch = nullptr;
  int64_t memory_limit_bytes = 0; // 0: none
  // Of backends with a StepTimer.
  CacheState cache = CacheState::AsNetwork;
  int64_t network_bytes = 0;
  bool allow_tf32 = false;
};

struct StepTime {
  double microseconds = 0;
  /// In which the median lies with 95% confidence; both 0 where that is not known.
  double low_us = 0, high_us = 0;
  std::string implementation; // of the step itself
  int runs = 0;
  /// False: others may have added to it; it is an upper bound, to be taken again.
  bool settled = true;
};

/// A whole run by what is launched at once: steps that a backend fuses when it loads a plan are one
/// group, with one price.
struct PlanPrice {
  double microseconds = 0; // the sum
  size_t groups = 0;
  size_t timed = 0; // distinct ones that were known neither before nor from a plan priced with it
};

/// A backend's own way of timing steps.
class StepTimer {
public:
  virtual ~StepTimer() = default;
  /// As measure_steps.
  virtual std::vector<Result<StepTime>> time(llvm::ArrayRef<StepSpec> steps,
                                             const MeasureOptions& options) const = 0;
  /// Of each, in their order: as it would be loaded, without weights. Distinct groups of all plans
  /// are timed together, as steps are, and kept. Errors, for each: those of compile.
  virtual std::vector<Result<PlanPrice>> price(llvm::ArrayRef<const Plan*> plans,
                                               const MeasureOptions& options) const = 0;
  /// As measure_conditions.
  virtual std::string conditions(const MeasureOptions& options) const = 0;
};

/// Contents that no kernel is slow on: not denormal, not all equal, positive (a variance is);
/// zeros of integers, which index anything.
Result<Tensor> plain_numbers(const TensorType& type);

/// Times of the steps, in their order. Errors, for each: what compile and run_once give;
/// `memory_limit` for one that is too large.
std::vector<Result<StepTime>> measure_steps(const Backend& backend, llvm::ArrayRef<StepSpec> steps,
                                            const MeasureOptions& options);

/// The plan that times some steps, and which of its steps are copies of each.
struct MeasurePlan {
  Plan plan;
  std::vector<std::vector<PlanStepId>> copies;
};
MeasurePlan make_measure_plan(llvm::ArrayRef<StepSpec> specs, int64_t wash_bytes);

/// Bytes to wash for a network that touches so many in one run: rounded to a power of two, so that
/// measurements serve networks of about one size, and at most 64 MiB.
int64_t wash_bytes_for(int64_t network_bytes);

/// The part of a cost key that says how a step was timed: "native, washed 64 MiB".
std::string measure_conditions(const Backend& backend, const MeasureOptions& options);

/// Plans that time steps: values and steps appended one by one, Plan's invariants kept. What a step
/// is timed among (a backend's StepTimer) is for the caller to append.
class MeasurePlanBuilder {
public:
  explicit MeasurePlanBuilder(Plan& plan) : plan_(plan) { plan_.model = "measure"; }

  PlanValueId value(PlanValue::Kind kind, const TensorType& type, std::string name);
  /// Its result.
  PlanValueId step(OpKind op, std::vector<Value> attrs, std::vector<PlanValueId> operands,
                   const TensorType& type);
  void output(std::string name, PlanValueId value);

  /// An operand that a run makes or is given; those known at load are weights.
  using Operand = std::function<PlanValueId(const TensorType& type, std::string name)>;
  /// One copy of the step, with operands of its own; its result.
  PlanValueId copy(const StepSpec& spec, const Operand& operand);

private:
  Plan& plan_;
};

} // namespace tg
