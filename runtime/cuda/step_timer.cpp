#include "runtime/cuda/step_timer.h"

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

PlanValueId add_value(Plan& plan, PlanValue::Kind kind, const TensorType& type, std::string name) {
  PlanValue value;
  value.kind = kind;
  value.type = type;
  value.name = std::move(name);
  plan.values.push_back(std::move(value));
  auto id = static_cast<PlanValueId>(plan.values.size() - 1);
  if (kind == PlanValue::Kind::Input) plan.inputs.push_back(id);
  return id;
}

void add_copy(Plan& plan, const StepSpec& spec) {
  auto s = static_cast<PlanStepId>(plan.steps.size());
  PlanStep step;
  step.op = spec.op;
  step.attrs = spec.attrs;
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    const TensorType& type = spec.operands[i];
    bool weight = i < 32 && (spec.weight_operands >> i & 1);
    std::string name = "operand" + std::to_string(i) + "." + std::to_string(s);
    auto kind = weight ? PlanValue::Kind::Weight : PlanValue::Kind::Input;
    step.operands.push_back(type.is_none() ? kNoValue
                                           : add_value(plan, kind, type, std::move(name)));
    if (!type.is_none()) plan.values[step.operands.back()].last_use = s;
  }
  step.result = add_value(plan, PlanValue::Kind::Temporary, spec.result, "");
  PlanValue& result = plan.values[step.result];
  result.defined_by = s;
  result.is_output = result.pinned = true;
  plan.outputs.push_back({"result" + std::to_string(s), step.result});
  plan.steps.push_back(std::move(step));
}

} // namespace

Plan copies_of_step(const StepSpec& step, int copies) {
  Plan plan;
  plan.model = "measure";
  for (int i = 0; i < copies; ++i) add_copy(plan, step);
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

std::vector<Result<StepTime>> GraphStepTimer::time(llvm::ArrayRef<StepSpec> steps,
                                                   const MeasureOptions& options) const {
  std::vector<Result<StepTime>> times;
  for (const StepSpec& step : steps) times.push_back(time_one(step, options));
  return times;
}

} // namespace tg::cuda
