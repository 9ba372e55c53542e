// Times operators on the GPU as they run inside a network: several in a captured graph, many copies
// of each after one another (time_plans). Hot: every copy on the same operands, which then lie in
// the second-level cache where they fit. Cold: copies with operands of their own, after a flush. A
// network whose bytes fit in that cache finds its operands hot, a larger one cold.
#pragma once

#include "runtime/cuda/prepared_plan.h"
#include "runtime/measure/measure.h"

namespace tg::cuda {

// What whole plans cost by what they launch: each distinct unit of all of them timed once, as it
// runs, several in one captured graph (graph_time.h). Units are timed on scratch memory, with
// copies of their own where operands are to come from a cold cache, so that a plan is neither
// loaded nor given its weights; it still has to fit. A single operator is a plan of one step: what
// it launches is timed in the same way.

/// The sum over what a plan launches. Its interval is as wide as theirs together; its runs are the
/// fewest of any.
struct PlanTime {
  StepTime sum;
  size_t groups = 0;
  size_t timed = 0; // distinct ones that were known neither before nor from a plan timed with it
};

/// Of each plan, in their order; `known`: prices of earlier units, where new ones go, too; null:
/// all are timed, and none is kept. Errors, for each: as PreparedPlan::make(), and those of its
/// own units.
std::vector<Result<PlanTime>> time_plans(llvm::ArrayRef<const Plan*> plans,
                                         const CompileOptions& options,
                                         std::shared_ptr<GpuDevice> device, CubinCache& cache,
                                         const ExecutableLibraries& libraries, PlanDb* known,
                                         const GraphTiming& how);

/// Microseconds of each launch of a plan that is loaded, timed as prices are, on scratch
/// memory: what it holds stays as it is. Errors: the device's; `memory_limit`.
Result<std::vector<double>> time_launches(PreparedPlan& plan, std::shared_ptr<GpuDevice> device,
                                          const GraphTiming& how);

/// Units that earlier plans have launched: groups keep their prices, operators are asked once, and
/// what is asked then is measured.
enum class KnownUnits : uint8_t { Use, Ignore };

class GraphStepTimer final : public StepTimer {
public:
  /// time_plans() on a device of its own.
  using Time = std::function<std::vector<Result<PlanTime>>(
      llvm::ArrayRef<const Plan*> plans, const CompileOptions&, const GraphTiming&, KnownUnits)>;
  GraphStepTimer(Time time, int64_t l2_bytes) : time_(std::move(time)), l2_bytes_(l2_bytes) {}

  std::vector<Result<StepTime>> time(llvm::ArrayRef<StepSpec> steps,
                                     const MeasureOptions& options) const override;
  std::vector<Result<PlanPrice>> price(llvm::ArrayRef<const Plan*> plans,
                                       const MeasureOptions& options) const override;
  /// "captured graph, hot"
  std::string conditions(const MeasureOptions& options) const override;

private:
  bool cold(const MeasureOptions& options) const;
  std::vector<Result<PlanTime>> time_plans(llvm::ArrayRef<const Plan*> plans,
                                           const MeasureOptions& options, KnownUnits known) const;

  Time time_;
  int64_t l2_bytes_;
};

/// The step alone: its operands are inputs, or weights, and its result is the output.
Plan plan_of_step(const StepSpec& step);

} // namespace tg::cuda
