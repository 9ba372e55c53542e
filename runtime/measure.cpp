#include "runtime/measure_plan.h"

#include "runtime/convert.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <bit>
#include <chrono>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One step, compiled and warm, with its times so far.
class Probe {
public:
  static Result<Probe> make(const Backend& backend, const StepSpec& spec,
                            const MeasureOptions& options) {
    Probe probe;
    probe.plan_ = make_measure_plan(spec, options.wash_bytes);
    CompileOptions compile;
    compile.threads = options.threads;
    compile.memory_limit_bytes = options.memory_limit_bytes;
    compile.io_layout = IoLayout::Native;
    compile.weights = [](const PlanValue& value) { return plain_numbers(value.type); };
    TG_TRY(probe.executable_, backend.compile(probe.plan_.plan, compile));
    TG_CHECK(probe.bind());
    TG_CHECK(probe.executable_->run_once());
    Clock::time_point start = Clock::now();
    TG_CHECK(probe.executable_->run_once());
    double runs = options.seconds / options.rounds / std::max(seconds_since(start), 1e-9);
    probe.runs_ = std::clamp(runs, 1.0, static_cast<double>(std::max(1, options.runs)));
    return probe;
  }

  /// One round: its figure joins the least so far. Nothing happens once the time is spent.
  Result<void> round(double seconds) {
    constexpr int kLeastRounds = 2;
    if (spent_ > seconds && time_.runs >= kLeastRounds * static_cast<int>(runs_)) return {};
    Clock::time_point start = Clock::now();
    executable_->profile(true);
    for (int i = 0; i < static_cast<int>(runs_); ++i) TG_CHECK(executable_->run_once());
    double figure = figure_of(executable_->steps());
    time_.microseconds = time_.runs == 0 ? figure : std::min(time_.microseconds, figure);
    time_.runs += static_cast<int>(runs_);
    spent_ += seconds_since(start);
    return {};
  }

  const StepTime& time() const { return time_; }

private:
  /// Median over the copies that count, with a copy's share of what the backend put in.
  double figure_of(llvm::ArrayRef<StepInfo> steps) {
    double reorders = 0;
    std::vector<double> medians;
    for (const StepInfo& info : steps) {
      if (info.step == kNever) reorders += info.measured_us;
      if (!llvm::is_contained(plan_.copies, info.step)) continue;
      time_.implementation = info.implementation;
      bool warms = plan_.copies.size() > 1 && info.step == plan_.copies.front();
      if (!warms) medians.push_back(info.measured_us);
    }
    if (medians.empty()) return 0;
    auto middle = medians.begin() + static_cast<ptrdiff_t>(medians.size() / 2);
    std::nth_element(medians.begin(), middle, medians.end());
    return *middle + reorders / static_cast<double>(plan_.copies.size());
  }

  Result<void> bind() {
    std::vector<Tensor> inputs;
    for (PlanValueId input : plan_.plan.inputs) {
      TG_TRY(Tensor tensor, plain_numbers(plan_.plan.values[input].type));
      inputs.push_back(std::move(tensor));
    }
    return executable_->bind_inputs(inputs);
  }

  MeasurePlan plan_;
  std::unique_ptr<Executable> executable_;
  double runs_ = 1;  // in a round
  double spent_ = 0; // seconds of rounds
  StepTime time_;
};

/// Probes that are alive together: neighbours in time, so that a slow spell of the machine meets
/// several instances in one round rather than one in all its rounds.
constexpr size_t kTogether = 4;

void measure_together(const Backend& backend, llvm::ArrayRef<StepSpec> steps,
                      const MeasureOptions& options, std::vector<Result<StepTime>>& times) {
  std::vector<Result<Probe>> probes;
  for (const StepSpec& spec : steps) probes.push_back(Probe::make(backend, spec, options));
  for (int round = 0; round < options.rounds; ++round) {
    for (Result<Probe>& probe : probes) {
      if (!probe) continue;
      if (Result<void> done = probe->round(options.seconds); !done) probe = std::move(done.error());
    }
  }
  for (Result<Probe>& probe : probes)
    times.push_back(probe ? Result<StepTime>(probe->time())
                          : Result<StepTime>(std::move(probe.error())));
}

} // namespace

namespace {

size_t copies_of(const StepSpec& spec) {
  int64_t bytes = spec.result.bytes();
  for (const TensorType& type : spec.operands)
    if (!type.is_none()) bytes += type.bytes();
  return bytes <= 256 << 10 ? 8 : bytes <= 16 << 20 ? 3 : 1;
}

/// A value as a neighbour leaves it: the result of an elementwise step over an input.
PlanValueId made(MeasurePlanBuilder& build, const TensorType& type, std::string name) {
  PlanValueId input = build.value(PlanValue::Kind::Input, type, std::move(name));
  return build.step(OpKind::Relu, {}, {input}, type);
}

} // namespace

MeasurePlan make_measure_plan(const StepSpec& spec, int64_t wash_bytes) {
  MeasurePlan out;
  MeasurePlanBuilder build(out.plan);
  auto operand = [&](const TensorType& type, std::string name) {
    return made(build, type, std::move(name));
  };
  // Read once and written once.
  int64_t elements = wash_bytes / 2 / dtype_size(DType::F32);
  if (elements > 0) operand(f32({elements}), "wash");
  PlanValueId result = kNoValue;
  for (size_t i = copies_of(spec); i > 0; --i) {
    result = build.copy(spec, operand);
    out.copies.push_back(out.plan.values[result].defined_by);
  }
  build.output("result", result);
  return out;
}

Result<Tensor> plain_numbers(const TensorType& type) {
  TG_TRY(Tensor tensor, Tensor::zeros(type));
  if (!is_float(type.dtype)) return tensor;
  std::vector<double> numbers(static_cast<size_t>(type.elements()));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 0.25 + static_cast<double>(i % 61) * 0.0078125;
  narrow(type.dtype, numbers.data(), tensor.data(), type.elements());
  return tensor;
}

std::vector<Result<StepTime>> measure_steps(const Backend& backend, llvm::ArrayRef<StepSpec> steps,
                                            const MeasureOptions& options) {
  if (const StepTimer* timer = backend.step_timer()) return timer->time(steps, options);
  std::vector<Result<StepTime>> times;
  while (!steps.empty()) {
    llvm::ArrayRef<StepSpec> now = steps.take_front(kTogether);
    measure_together(backend, now, options, times);
    steps = steps.drop_front(now.size());
  }
  return times;
}

int64_t wash_bytes_for(int64_t network_bytes) {
  // Enough to empty the private caches, not the shared one: that adapts, and of weights that stream
  // through in a circle keeps a part. With 64 MiB nasrnn's products come out dearer by half than
  // they are in the network, with 16 MiB they agree (bench/measure_bench). What the system says of
  // the last level's size is no guide: on one virtual machine 32 MiB by one way, 256 by another.
  constexpr int64_t kLeast = 1 << 20, kMost = 16 << 20;
  int64_t bytes = std::clamp(network_bytes, kLeast, kMost);
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)));
}

std::string measure_conditions(const Backend& backend, const MeasureOptions& options) {
  if (const StepTimer* timer = backend.step_timer()) return timer->conditions(options);
  return llvm::formatv("native, washed {0} MiB", options.wash_bytes >> 20);
}

} // namespace tg
