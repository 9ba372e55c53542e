// What whole plans cost by what they launch: each distinct unit of all of them timed once, as it
// runs, several in one captured graph (graph_time.h). Units are timed on scratch memory, with
// copies of their own where operands are to come from a cold cache, so that a plan is neither
// loaded nor given its weights; it still has to fit. A single operator is a plan of one step: what
// it launches is timed in the same way.
#pragma once

#include "runtime/cuda/prepared_plan.h"
#include "runtime/measure/measure.h"

namespace tg::cuda {

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

} // namespace tg::cuda
