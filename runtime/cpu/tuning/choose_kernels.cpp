// Runs two executables of one plan, compares their steps by operator, and decides.
#include "runtime/cpu/tuning/choose_kernels.h"

#include "runtime/cpu/lowering/kernel_choice.h"
#include "runtime/cpu/tuning/kernel_choices.h"
#include "runtime/cpu/tuning/tuned_programs.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/time_runs.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/StringSet.h>

#include <chrono>
#include <map>

namespace tg::cpu {

namespace {

using ChoiceClock = std::chrono::steady_clock;

double seconds_from(ChoiceClock::time_point start) {
  return std::chrono::duration<double>(ChoiceClock::now() - start).count();
}

/// Forwards all queries about schedules; subclasses decide which kernels run.
class ForwardingSchedules : public TileSchedules {
public:
  explicit ForwardingSchedules(std::shared_ptr<TileSchedules> kept) : kept_(std::move(kept)) {}
  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override {
    return kept_->find(shape, isa, threads);
  }
  std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& convolution,
                                                int threads) override {
    return kept_->find(convolution, threads);
  }
  std::optional<NormSchedule> find_norm(const NormShape& shape, int threads) override {
    return kept_->find_norm(shape, threads);
  }
  std::optional<WinogradCut> find_winograd(const WinogradShape& shape, int threads) override {
    return kept_->find_winograd(shape, threads);
  }

protected:
  std::shared_ptr<TileSchedules> kept_;
};

/// Uses the default choices; records the operators for which there is a choice,
/// and the default for each.
class ByRule final : public ForwardingSchedules {
public:
  using ForwardingSchedules::ForwardingSchedules;
  bool uses_own_kernel(llvm::StringRef op, bool by_rule) override {
    rules.try_emplace(op, by_rule);
    return kept_->uses_own_kernel(op, by_rule);
  }
  llvm::StringMap<bool> rules;
};

/// Reverses the choice for some operators.
class Otherwise final : public ForwardingSchedules {
public:
  Otherwise(std::shared_ptr<TileSchedules> kept, llvm::StringSet<> which)
      : ForwardingSchedules(std::move(kept)), which_(std::move(which)) {}
  bool uses_own_kernel(llvm::StringRef op, bool by_rule) override {
    return which_.contains(op) ? !by_rule : kept_->uses_own_kernel(op, by_rule);
  }

private:
  llvm::StringSet<> which_;
};

/// Six pairs are the minimum for a 95% interval of the median.
constexpr size_t kFewestRounds = 6, kMostRounds = 25;
/// A smaller gain in place is not worth different rounding.
constexpr double kWorthAnotherSum = 1.02;

class Chooser {
public:
  Chooser(const Plan& plan, const TuneDeviceOptions& options, double seconds)
      : plan_(plan), options_(options), seconds_(seconds),
        choices_(KernelChoices::open(options.database, processor_name())),
        kept_(TunedPrograms::on_demand(options.database, processor_name())) {}

  Result<tune::KernelReport> run() {
    ChoiceClock::time_point start = ChoiceClock::now();
    Result<void> chosen = choose();
    if (!chosen && !options_.stop.asked()) return std::move(chosen.error());
    report_.notes = choices_->notes();
    report_.seconds = seconds_from(start);
    return std::move(report_);
  }

private:
  using Times = std::map<std::string, double>; // by operator
  struct Operator {
    size_t line; // of the report
    std::vector<double> rule_us, other_us;
  };

  Result<void> choose() {
    auto by_rule = std::make_shared<ByRule>(kept_);
    TG_TRY(std::unique_ptr<Executable> rule, load(by_rule));
    find_operators(by_rule->rules);
    if (unknown_.empty() || options_.stop.asked()) return {};
    TG_TRY(std::unique_ptr<Executable> other, load(std::make_shared<Otherwise>(kept_, unknown_)));
    TG_CHECK(take_times(*rule, *other));
    other.reset();
    decide();
    TG_CHECK(try_whole(*rule));
    keep();
    return {};
  }

  Result<std::unique_ptr<Executable>> load(std::shared_ptr<TileSchedules> schedules) {
    CompileOptions compile;
    compile.threads = options_.threads;
    compile.memory_limit_bytes = options_.memory_limit_bytes;
    compile.shared = shared_;
    compile.stop = options_.stop;
    std::unique_ptr<Backend> backend = make_cpu_backend(Products::Chosen, std::move(schedules));
    TG_TRY(std::unique_ptr<Executable> loaded, backend->compile(plan_, compile));
    std::vector<Tensor> inputs;
    for (PlanValueId input : plan_.inputs) {
      TG_TRY(Tensor tensor, plain_numbers(plan_.values[input].type));
      inputs.push_back(std::move(tensor));
    }
    TG_CHECK(loaded->bind_inputs(inputs));
    TG_CHECK(loaded->run_once()); // warm-up
    return loaded;
  }

  void find_operators(const llvm::StringMap<bool>& rules) {
    for (PlanStepId id = 0; id < plan_.steps.size(); ++id) {
      const PlanStep& step = plan_.steps[id];
      if (step.phase != Phase::Run) continue;
      std::string text = operator_text(plan_, step, options_.threads);
      auto asked = rules.find(text);
      if (asked == rules.end()) continue;
      if (choices_->find(text)) {
        report_.known += known_.insert(text).second;
        continue;
      }
      auto [at, is_new] = operators_.insert({text, Operator{report_.lines.size(), {}, {}}});
      if (is_new) {
        report_.lines.push_back({text, 0, asked->second, {}});
        unknown_.insert(text);
      }
      ++report_.lines[at->second.line].occurrences;
      operator_of_[id] = text;
    }
  }

  /// Returns the times of one run: each operator together with the reorders before it.
  Result<Times> times_of(Executable& loaded) {
    loaded.profile(true);
    Result<void> run = loaded.run_once();
    std::vector<StepInfo> steps = loaded.steps();
    loaded.profile(false);
    TG_CHECK(std::move(run));
    Times times;
    double before = 0;
    for (const StepInfo& step : steps) {
      before += step.measured_us;
      if (step.step == kNever) continue;
      auto op = operator_of_.find(step.step);
      if (op != operator_of_.end()) times[op->second] += before;
      before = 0;
    }
    return times;
  }

  Result<void> take_times(Executable& rule, Executable& other) {
    ChoiceClock::time_point start = ChoiceClock::now();
    for (size_t round = 0; round < kMostRounds; ++round) {
      if (round >= kFewestRounds && seconds_from(start) > seconds_) break;
      if (options_.stop.asked()) break;
      bool first = round % 2 == 0;
      TG_TRY(Times one, times_of(first ? rule : other));
      TG_TRY(Times two, times_of(first ? other : rule));
      Times &by_rule = first ? one : two, &otherwise = first ? two : one;
      for (auto& [text, op] : operators_) {
        op.rule_us.push_back(by_rule[text]);
        op.other_us.push_back(otherwise[text]);
      }
    }
    return {};
  }

  void decide() {
    for (auto& [text, op] : operators_) {
      if (op.rule_us.size() < kFewestRounds) continue;
      tune::KernelLine& line = report_.lines[op.line];
      line.times = compare_times(op.rule_us, op.other_us);
      line.otherwise = line.times.second_faster() && line.times.ratio > kWorthAnotherSum;
    }
  }

  /// Neighbours share caches, so a change that pays in place must also pay for the whole plan.
  Result<void> try_whole(Executable& rule) {
    llvm::StringSet<> changed;
    for (const tune::KernelLine& line : report_.lines)
      if (line.otherwise) changed.insert(line.name);
    if (changed.empty()) return {};
    TG_TRY(std::unique_ptr<Executable> best, load(std::make_shared<Otherwise>(kept_, changed)));
    TG_TRY(report_.whole,
           time_interleaved(rule, *best, {.min_runs = 2 * kRunsPerPair, .seconds = seconds_}));
    if (report_.whole->ratio >= 1) return {};
    for (tune::KernelLine& line : report_.lines) line.otherwise = false;
    return {};
  }

  void keep() {
    for (auto& [text, op] : operators_) {
      const tune::KernelLine& line = report_.lines[op.line];
      if (op.rule_us.size() < kFewestRounds) continue; // it was stopped
      KernelOwner whose = !line.otherwise     ? KernelOwner::Rule
                          : line.ours_by_rule ? KernelOwner::Library
                                              : KernelOwner::Ours;
      choices_->keep(text, whose, line.otherwise ? line.times.second_us : line.times.first_us);
    }
  }

  const Plan& plan_;
  const TuneDeviceOptions& options_;
  double seconds_;
  std::unique_ptr<KernelChoices> choices_;
  std::shared_ptr<TileSchedules> kept_;
  std::shared_ptr<SharedWeights> shared_ = std::make_shared<SharedWeights>();
  llvm::MapVector<std::string, Operator, std::map<std::string, unsigned>> operators_;
  llvm::StringSet<> unknown_, known_;
  std::map<PlanStepId, std::string> operator_of_;
  tune::KernelReport report_;
};

} // namespace

Result<tune::KernelReport> choose_kernels(const Plan& plan, const TuneDeviceOptions& options,
                                          double seconds) {
  return Chooser(plan, options, seconds).run();
}

} // namespace tg::cpu
