// The cpu backend as a device of the tuner (runtime/tune): the operators of a plan,
// programs of those that our kernels run, and their stored results.
#pragma once

#include "lang/core/support/stop.h"
#include "runtime/plan.h"
#include "runtime/tune/plan_device.h"

#include <memory>

namespace tg::cpu {

struct TuneDeviceOptions {
  int threads = 1;
  std::string database = {}; // "": the user's cache folder
  int64_t memory_limit_bytes = 0;
  StopToken stop = {};
};

/// Loads the plan with random weights, to determine how each part of it runs. Errors:
/// those of compile().
Result<std::unique_ptr<tune::PlanDevice>> make_tune_device(const Plan& plan,
                                                           const TuneDeviceOptions& options);

} // namespace tg::cpu
