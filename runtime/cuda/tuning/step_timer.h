// Times operators on the GPU under the conditions of a network:
// several operators in a captured graph, with many consecutive copies of each (time_plans).
// Hot: all copies use the same operands, which are in the second-level cache if they fit. Cold:
// copies have their own operands, after a flush. A network that fits in that cache
// has hot operands, a larger one cold operands.
#pragma once

#include "runtime/cuda/prepared_plan.h"
#include "runtime/measure/measure.h"

namespace tg::cuda {

// Prices of whole plans by their launches: each distinct unit of all plans is timed once,
// under run conditions, several in one captured graph (graph_time.h).
// Units are timed on scratch memory, with separate copies if operands must come from a cold cache,
// so a plan is neither loaded nor given its weights; its memory is still checked.
// A single operator is a plan of one step, and its launches are timed in the same way.

/// The sum over the launches of a plan. Its interval is the sum of their intervals;
/// its runs are the fewest of any.
struct PlanTime {
  StepTime sum;
  size_t groups = 0;
  size_t timed = 0; // distinct units without an earlier price, also of this call
};

/// Returns the price of each plan, in order. `known`: prices of earlier units,
/// to which new ones are added; null: all are timed, and none is stored. Errors, for each:
/// as PreparedPlan::make(), and those of its own units.
std::vector<Result<PlanTime>> time_plans(llvm::ArrayRef<const Plan*> plans,
                                         const CompileOptions& options,
                                         std::shared_ptr<GpuDevice> device, CubinCache& cache,
                                         const ExecutableLibraries& libraries, PlanDb* known,
                                         const GraphTiming& how);

/// Returns the microseconds of each launch of a loaded plan, timed like prices, on scratch memory:
/// the plan's own memory stays unchanged. Errors: the device's; `memory_limit`.
Result<std::vector<double>> time_launches(PreparedPlan& plan, std::shared_ptr<GpuDevice> device,
                                          const GraphTiming& how);

/// The use of prices of units from earlier plans: groups keep their prices;
/// single operators are measured again.
enum class KnownUnits : uint8_t { Use, Ignore };

class GraphStepTimer final : public StepTimer {
public:
  /// time_plans() on its own device.
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

/// Returns a plan of the step alone: its operands are inputs or weights,
/// and its result is the output.
Plan plan_of_step(const StepSpec& step);

} // namespace tg::cuda
