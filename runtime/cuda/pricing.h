// What whole plans cost by what they launch: each distinct unit of all of them timed once, as it
// runs, several in one captured graph (graph_time.h), and kept. Units are timed on scratch memory,
// with copies of their own where operands are to come from a cold cache, so that a plan is neither
// loaded nor given its weights; it still has to fit.
#pragma once

#include "runtime/cuda/executable.h"

namespace tg::cuda {

/// Of each plan, in their order; `known`: prices of earlier units, where new ones go. Errors, for
/// each: as CudaExecutable::make(), and those of its own units.
std::vector<Result<PlanPrice>> price_plans(llvm::ArrayRef<const Plan*> plans,
                                           const CompileOptions& options,
                                           std::shared_ptr<GpuDevice> device, CubinCache& cache,
                                           const ExecutableLibraries& libraries, PlanDb& known,
                                           const GraphTiming& how);

} // namespace tg::cuda
