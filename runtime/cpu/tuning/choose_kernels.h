// Chooses, for each operator of a plan that both oneDNN and our kernels can run,
// the faster one on this machine. The default rules are based on measurements on our machines,
// and another processor may behave differently.
// So the plan is loaded twice, with the default and the opposite choices, and both run interleaved:
// the time of an operator is measured in place, including the copies that it needs.
// A choice that is faster beyond the noise, and does not slow down the whole plan,
// is stored (kernel_choices.h), and all plans on this machine use it.
// The choice of a kernel affects the last bits of sums.
#pragma once

#include "runtime/cpu/tuning/tune_device.h"
#include "runtime/tune/kernel_report.h"

namespace tg::cpu {

/// Runs for about `seconds` seconds in addition to loading the plan.
/// Operators with a stored result are not measured again. Errors:
/// those of compile() and run_once().
Result<tune::KernelReport> choose_kernels(const Plan& plan, const TuneDeviceOptions& options,
                                          double seconds);

} // namespace tg::cpu
