#include "runtime/cuda/step_timer.h"

#include "runtime/measure_plan.h"

#include <algorithm>

namespace tg::cuda {

namespace {

/// Copies of a cold step together touch about so much, and are at most so many.
constexpr int64_t kColdBytes = int64_t{256} << 20;
constexpr int64_t kMostColdCopies = 32;

int64_t bytes_of(const StepSpec& step) {
  int64_t bytes = step.result.bytes();
  for (const TensorType& type : step.operands)
    if (!type.is_none()) bytes = add_bytes(bytes, type.bytes());
  return std::max<int64_t>(bytes, 1);
}

} // namespace

Plan copies_of_step(const StepSpec& step, int copies) {
  StepSpec apart = step;
  apart.in_place = -1; // on a device nothing is overwritten
  Plan plan;
  MeasurePlanBuilder build(plan);
  for (int i = 0; i < copies; ++i)
    build.output("result" + std::to_string(i),
                 build.copy(apart, [&](const TensorType& type, std::string name) {
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

Result<StepTime> GraphStepTimer::time_one(const StepSpec& step,
                                          const MeasureOptions& options) const {
  GraphTiming how;
  how.cold = cold(options);
  int64_t copies =
      how.cold ? std::clamp(kColdBytes / bytes_of(step), int64_t{1}, kMostColdCopies) : 1;
  CompileOptions compile;
  compile.memory_limit_bytes = options.memory_limit_bytes;
  compile.io_layout = IoLayout::Native;
  compile.allow_tf32 = options.allow_tf32;
  compile.weights = [](const PlanValue& value) { return plain_numbers(value.type); };
  Plan plan = copies_of_step(step, static_cast<int>(copies));
  TG_TRY(std::unique_ptr<CudaExecutable> executable, compile_(plan, compile));
  std::vector<Tensor> inputs;
  for (PlanValueId input : plan.inputs) {
    TG_TRY(Tensor numbers, plain_numbers(plan.values[input].type));
    inputs.push_back(std::move(numbers));
  }
  TG_CHECK(executable->bind_inputs(inputs));
  TG_TRY(GraphTime time, executable->time_graph(how));
  auto each = static_cast<double>(copies);
  StepTime found;
  found.microseconds = time.microseconds / each;
  found.low_us = time.low / each;
  found.high_us = time.high / each;
  found.runs = time.runs;
  found.implementation = executable->steps().back().implementation;
  return found;
}

std::vector<Result<PlanPrice>> GraphStepTimer::price(llvm::ArrayRef<const Plan*> plans,
                                                     const MeasureOptions& options) const {
  CompileOptions compile;
  compile.memory_limit_bytes = options.memory_limit_bytes;
  compile.allow_tf32 = options.allow_tf32;
  GraphTiming how;
  how.cold = cold(options);
  return price_(plans, compile, how);
}

std::vector<Result<StepTime>> GraphStepTimer::time(llvm::ArrayRef<StepSpec> steps,
                                                   const MeasureOptions& options) const {
  std::vector<Result<StepTime>> times;
  for (const StepSpec& step : steps) times.push_back(time_one(step, options));
  return times;
}

} // namespace tg::cuda
