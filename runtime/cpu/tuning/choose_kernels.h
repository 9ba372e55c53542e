// Chooses, for each operator of a plan that both oneDNN and kernels of ours can run, the faster one
// on this machine. Rules choose by what was measured on the machines that we had; another processor
// may do otherwise. So the plan is loaded twice, by rule and the other way round, and both run
// interleaved: what an operator takes is measured in its place, with the copies that it needs. What
// is faster beyond the noise, and makes the whole plan no slower, is kept (kernel_choices.h), and
// all plans of this machine use it. Which kernel runs changes the last bits of sums.
#pragma once

#include "runtime/cpu/tuning/tune_device.h"
#include "runtime/tune/kernel_report.h"

namespace tg::cpu {

/// Runs for about so many seconds beside loading the plan. Operators whose answer is known are not
/// measured again. Errors: those of compile() and run_once().
Result<tune::KernelReport> choose_kernels(const Plan& plan, const TuneDeviceOptions& options,
                                          double seconds);

} // namespace tg::cpu
