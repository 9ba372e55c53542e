// Examines a plan before it is loaded: tries the programs of tuned neighbours
// of its operators (runtime/tune/near.h) for a few milliseconds, and stores the results.
#pragma once

#include "runtime/cpu/tuning/tuned_programs.h"

namespace tg::cpu {

/// `kept`: source of neighbours and destination of results; `choices`: the choices of kernels.
/// Both must outlive the result. Returns null if nothing was tuned for this number of threads.
std::unique_ptr<PlanObserver> make_near_tuner(std::shared_ptr<TunedPrograms> kept,
                                              TileSchedules& choices, int threads,
                                              double milliseconds);

} // namespace tg::cpu
