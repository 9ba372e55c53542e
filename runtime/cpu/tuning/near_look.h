// A look at a plan before it is loaded, which tries what tuned neighbours of its operators use
// (runtime/tune/near.h), for some milliseconds, and keeps what comes of it.
#pragma once

#include "runtime/cpu/tuning/tuned_programs.h"

namespace tg::cpu {

/// `kept`: where neighbours are, and what is found goes; `choices`: whose kernels run; both outlive
/// the look. Null where nothing was tuned on so many threads.
std::unique_ptr<PlanLook> look_near(std::shared_ptr<TunedPrograms> kept, TileSchedules& choices,
                                    int threads, double milliseconds);

} // namespace tg::cpu
