#include "runtime/cuda/tuning/step_timer.h"

#include "runtime/measure/measure.h"

namespace tg::cuda {

Plan plan_of_step(const StepSpec& step) {
  StepSpec apart = step;
  apart.in_place = -1; // nothing is overwritten on a device
  Plan plan;
  MeasurePlanBuilder build(plan);
  build.output("result", build.copy(apart, [&](const TensorType& type, std::string name) {
    return build.value(PlanValue::Kind::Input, type, std::move(name));
  }));
  return plan;
}

bool GraphStepTimer::cold(const MeasureOptions& options) const {
  if (options.cache != CacheState::AsNetwork) return options.cache == CacheState::Cold;
  return options.network_bytes > l2_bytes_;
}

std::string GraphStepTimer::conditions(const MeasureOptions& options) const {
  std::string text = cold(options) ? "captured graph, cold" : "captured graph, hot";
  return options.allow_tf32 ? text + ", tf32" : text;
}

std::vector<Result<PlanTime>> GraphStepTimer::time_plans(llvm::ArrayRef<const Plan*> plans,
                                                         const MeasureOptions& options,
                                                         KnownUnits known) const {
  CompileOptions compile;
  compile.memory_limit_bytes = options.memory_limit_bytes;
  compile.allow_tf32 = options.allow_tf32;
  GraphTiming how;
  how.cold = cold(options);
  return time_(plans, compile, how, known);
}

std::vector<Result<PlanPrice>> GraphStepTimer::price(llvm::ArrayRef<const Plan*> plans,
                                                     const MeasureOptions& options) const {
  std::vector<Result<PlanPrice>> prices;
  for (const Result<PlanTime>& time : time_plans(plans, options, KnownUnits::Use)) {
    if (time)
      prices.push_back(PlanPrice{time->sum.microseconds, time->groups, time->timed});
    else
      prices.push_back(time.error());
  }
  return prices;
}

std::vector<Result<StepTime>> GraphStepTimer::time(llvm::ArrayRef<StepSpec> steps,
                                                   const MeasureOptions& options) const {
  std::vector<Plan> alone;
  for (const StepSpec& step : steps) alone.push_back(plan_of_step(step));
  std::vector<const Plan*> plans;
  plans.reserve(alone.size());
  for (const Plan& plan : alone) plans.push_back(&plan);
  std::vector<Result<StepTime>> times;
  for (Result<PlanTime>& time : time_plans(plans, options, KnownUnits::Ignore)) {
    if (time)
      times.push_back(std::move(time->sum));
    else
      times.push_back(std::move(time.error()));
  }
  return times;
}

} // namespace tg::cuda
