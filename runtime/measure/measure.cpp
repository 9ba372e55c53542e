#include "runtime/measure/measure.h"

#include "runtime/convert.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A plan of several steps, compiled and warmed up, with their times so far.
class Probe {
public:
  static Result<Probe> make(const Backend& backend, llvm::ArrayRef<StepSpec> specs,
                            const MeasureOptions& options) {
    Probe probe;
    probe.plan_ = make_measure_plan(specs, options.wash_bytes);
    probe.times_.resize(specs.size());
    probe.quiet_.resize(specs.size());
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
    probe.seconds_ = options.seconds * static_cast<double>(specs.size());
    double runs = probe.seconds_ / options.rounds / std::max(seconds_since(start), 1e-9);
    probe.runs_ = static_cast<int>(std::clamp(runs, 1.0, std::max(1.0, 1.0 * options.runs)));
    return probe;
  }

  /// Runs all rounds and keeps the least figure of each step.
  Result<void> run(const MeasureOptions& options) {
    Clock::time_point start = Clock::now();
    if (options.watch) (void)options.watch->quiet(); // discards earlier disturbances
    for (int round = 0; should_continue(round, seconds_since(start), options.rounds); ++round) {
      executable_->profile(true);
      for (int i = 0; i < runs_; ++i) TG_CHECK(executable_->run_once());
      bool quiet = !options.watch || options.watch->quiet();
      note(executable_->steps(), quiet);
      for (auto [time, quiet_figures] : llvm::zip(times_, quiet_))
        time.steady = repeated(time.microseconds, quiet_figures, options.repeat_within);
    }
    return {};
  }

  llvm::ArrayRef<StepTime> times() const { return times_; }

private:
  /// Returns true if another round is needed: the usual number,
  /// and as many again for steps that are not steady.
  bool should_continue(int round, double spent, int rounds) const {
    constexpr int kLeastRounds = 2;
    if (round < rounds && (round < kLeastRounds || spent <= seconds_)) return true;
    bool steady = llvm::all_of(times_, [](const StepTime& time) { return time.steady; });
    return !steady && round < 2 * rounds && (round <= kLeastRounds || spent <= 2 * seconds_);
  }

  /// Returns true if a second undisturbed round came close to the least of all.
  static bool repeated(double least, llvm::ArrayRef<double> quiet_figures, double within) {
    constexpr double kClockUs = 0.3;
    return llvm::count_if(quiet_figures, [&](double figure) {
             return figure <= least * (1 + within) + kClockUs;
           }) >= 2;
  }

  /// Records the figures of a round. Copies of one step are adjacent,
  /// and inserted reorders precede the step that needs them.
  void note(llvm::ArrayRef<StepInfo> steps, bool quiet) {
    for (auto [copies, time, quiet_figures] : llvm::zip(plan_.copies, times_, quiet_)) {
      size_t own = 0;
      for (size_t i = 0; i < steps.size(); ++i)
        if (steps[i].step <= copies.back()) own = i + 1; // kNever exceeds all steps
      double figure = figure_of(steps.take_front(own), copies, time);
      steps = steps.drop_front(own);
      if (quiet) quiet_figures.push_back(figure);
      time.microseconds = time.runs == 0 ? figure : std::min(time.microseconds, figure);
      time.runs += runs_;
    }
  }

  /// Returns the median over the counted copies, including a copy's share of the inserted reorders.
  static double figure_of(llvm::ArrayRef<StepInfo> steps, llvm::ArrayRef<PlanStepId> copies,
                          StepTime& time) {
    double reorders = 0;
    std::vector<double> medians;
    for (const StepInfo& info : steps) {
      if (info.step == kNever) reorders += info.measured_us;
      if (!llvm::is_contained(copies, info.step)) continue;
      time.implementation = info.implementation;
      bool warms = copies.size() > 1 && info.step == copies.front();
      if (!warms) medians.push_back(info.measured_us);
    }
    if (medians.empty()) return 0;
    auto middle = medians.begin() + static_cast<ptrdiff_t>(medians.size() / 2);
    std::nth_element(medians.begin(), middle, medians.end());
    return *middle + reorders / static_cast<double>(copies.size());
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
  int runs_ = 1;       // per round
  double seconds_ = 0; // for all rounds
  std::vector<StepTime> times_;
  std::vector<std::vector<double>> quiet_; // figures of each step in undisturbed rounds
};

int64_t bytes_of(const StepSpec& spec) {
  int64_t bytes = spec.result.bytes();
  for (const TensorType& type : spec.operands)
    if (!type.is_none()) bytes += type.bytes();
  return bytes;
}

size_t copies_of(const StepSpec& spec) {
  int64_t bytes = bytes_of(spec);
  return bytes <= 256 << 10 ? 8 : bytes <= 16 << 20 ? 3 : 1;
}

/// Returns the bytes that all copies of a step touch.
int64_t plan_bytes(const StepSpec& spec) {
  return bytes_of(spec) * static_cast<int64_t>(copies_of(spec));
}

/// Returns the number of next steps that share a plan: enough to make the cost of its wash small,
/// but few enough to touch no more bytes than the wash would.
size_t together(llvm::ArrayRef<StepSpec> steps, int64_t wash_bytes) {
  constexpr size_t kMost = 16;
  int64_t bytes = 0;
  size_t count = 0;
  while (count < std::min(kMost, steps.size())) {
    bytes += plan_bytes(steps[count]);
    if (count > 0 && bytes > wash_bytes) break;
    ++count;
  }
  return count;
}

Result<std::vector<StepTime>> time_together(const Backend& backend, llvm::ArrayRef<StepSpec> steps,
                                            const MeasureOptions& options) {
  TG_TRY(Probe probe, Probe::make(backend, steps, options));
  TG_CHECK(probe.run(options));
  return probe.times().vec();
}

/// Times each step alone if they cannot be timed in one plan, so that one failing step does not
/// affect the others.
void measure_together(const Backend& backend, llvm::ArrayRef<StepSpec> steps,
                      const MeasureOptions& options, std::vector<Result<StepTime>>& times) {
  Result<std::vector<StepTime>> done = time_together(backend, steps, options);
  if (done)
    times.insert(times.end(), done->begin(), done->end());
  else if (steps.size() == 1)
    times.push_back(std::move(done.error()));
  else
    for (const StepSpec& spec : steps) measure_together(backend, spec, options, times);
}

/// Returns a value in the state in which a neighbour leaves it:
/// the result of an elementwise step over an input.
PlanValueId made(MeasurePlanBuilder& build, const TensorType& type, std::string name) {
  PlanValueId input = build.value(PlanValue::Kind::Input, type, std::move(name));
  return build.step(OpKind::Relu, {}, {input}, type);
}

} // namespace

MeasurePlan make_measure_plan(llvm::ArrayRef<StepSpec> specs, int64_t wash_bytes) {
  MeasurePlan out;
  MeasurePlanBuilder build(out.plan);
  auto operand = [&](const TensorType& type, std::string name) {
    return made(build, type, std::move(name));
  };
  // The other steps wash each step too; the bytes of all but the largest count.
  int64_t all = 0, largest = 0;
  for (const StepSpec& spec : specs) {
    all += plan_bytes(spec);
    largest = std::max(largest, plan_bytes(spec));
  }
  // Each byte is read once and written once.
  int64_t elements = (wash_bytes - (all - largest)) / 2 / dtype_size(DType::F32);
  if (elements > 0) operand(f32({elements}), "wash");
  PlanValueId result = kNoValue;
  for (const StepSpec& spec : specs) {
    out.copies.emplace_back();
    for (size_t i = copies_of(spec); i > 0; --i) {
      result = build.copy(spec, operand);
      out.copies.back().push_back(out.plan.values[result].defined_by);
    }
  }
  build.output("result", result);
  return out;
}

Result<Tensor> plain_numbers(const TensorType& type) {
  TG_TRY(Tensor tensor, Tensor::zeros(type));
  if (!is_float(type.dtype)) return tensor;
  // Fills one full period, then copies it.
  constexpr int64_t kPeriod = 61;
  std::array<double, kPeriod> numbers;
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 0.25 + static_cast<double>(i) * 0.0078125;
  std::byte* data = tensor.data();
  int64_t size = dtype_size(type.dtype), end = type.elements() * size;
  int64_t filled = std::min(kPeriod * size, end);
  narrow(type.dtype, numbers.data(), data, filled / size);
  for (; filled < end; filled = std::min(2 * filled, end))
    std::memcpy(data + filled, data, static_cast<size_t>(std::min(filled, end - filled)));
  return tensor;
}

std::vector<Result<StepTime>> measure_steps(const Backend& backend, llvm::ArrayRef<StepSpec> steps,
                                            const MeasureOptions& options) {
  if (const StepTimer* timer = backend.step_timer()) return timer->time(steps, options);
  std::vector<Result<StepTime>> times;
  while (!steps.empty()) {
    llvm::ArrayRef<StepSpec> now = steps.take_front(together(steps, options.wash_bytes));
    measure_together(backend, now, options, times);
    steps = steps.drop_front(now.size());
  }
  return times;
}

int64_t wash_bytes_for(int64_t network_bytes) {
  // At least this much is needed to evict the operands of a step from the last-level cache.
  // Networks that consist of weights show it.
  // After a wash of 16 MiB, nasrnn's products come from a cache of 32 MiB and take a third
  // of their time in the network; after 64 MiB they take the same time as there
  // (bench/measure_bench). Other networks cost the same with either.
  // The system's report of the last-level size is unreliable: one virtual machine reports 32 MiB
  // in one place and 256 MiB in another.
  constexpr int64_t kLeast = 1 << 20, kMost = 64 << 20;
  int64_t bytes = std::clamp(network_bytes, kLeast, kMost);
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)));
}

std::string measure_conditions(const Backend& backend, const MeasureOptions& options) {
  if (const StepTimer* timer = backend.step_timer()) return timer->conditions(options);
  return llvm::formatv("native, washed {0} MiB", options.wash_bytes >> 20);
}

} // namespace tg
