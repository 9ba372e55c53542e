// Implements the device: its operators, trials and comparisons.
#include "runtime/cpu/tuning/tune_device.h"

#include "runtime/cpu/lowering/tile_matmul.h"
#include "runtime/cpu/tuning/capsule_programs.h"
#include "runtime/cpu/tuning/convolution_programs.h"
#include "runtime/cpu/tuning/near_tuner.h"
#include "runtime/cpu/tuning/norm_programs.h"
#include "runtime/cpu/tuning/product_programs.h"
#include "runtime/cpu/tuning/tuned_programs.h"
#include "runtime/cpu/tuning/winograd_programs.h"
#include "runtime/measure/machine_watch.h"
#include "runtime/tune/near.h"
#include "runtime/tune/race.h"
#include "runtime/tune/ranges.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

namespace tg::cpu {

namespace {

/// Records operators while a plan is lowered, without affecting anything but the choice of kernels.
class OperatorRecorder : public PlanObserver {
public:
  explicit OperatorRecorder(std::shared_ptr<TileSchedules> kept) : kept_(std::move(kept)) {}
  struct Seen {
    std::unique_ptr<OperatorPrograms> programs;
    std::vector<size_t> calls; // its indices among all queries
  };
  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override {
    add(std::make_unique<ProductPrograms>(shape, isa, threads, tile::caches()));
    if (shape.w_is_packed) weight_bytes += 4 * tile::packed_cells(shape.depth, shape.columns, isa);
    return std::nullopt;
  }
  std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& convolution,
                                                int threads) override {
    add(programs_of_convolution(convolution, threads, tile::caches()));
    const tile::GroupedShape& s = convolution.shape;
    weight_bytes += 4 * s.groups * s.outputs * s.inputs * s.taps();
    return std::nullopt;
  }
  std::optional<NormSchedule> find_norm(const NormShape& shape, int threads) override {
    add(std::make_unique<NormPrograms>(shape, threads));
    return std::nullopt;
  }
  std::optional<WinogradCut> find_winograd(const WinogradShape& shape, int threads) override {
    add(std::make_unique<WinogradPrograms>(shape, threads));
    weight_bytes += 4 * shape.positions() * shape.inputs * shape.outputs;
    return std::nullopt;
  }
  bool uses_own_kernel(llvm::StringRef op, bool by_rule) override {
    return kept_->uses_own_kernel(op, by_rule);
  }
  void seen() override {}
  llvm::MapVector<std::string, Seen, std::map<std::string, unsigned>>
      operators;            // in the order of the plan
  int64_t weight_bytes = 0; // that a run of the plan reads
  size_t calls = 0;

private:
  void add(std::unique_ptr<OperatorPrograms> programs) {
    Seen& seen = operators[programs->key()];
    if (seen.calls.empty()) seen.programs = std::move(programs);
    seen.calls.push_back(calls++);
  }
  std::shared_ptr<TileSchedules> kept_;
};

CompileOptions compile_options(const TuneDeviceOptions& options) {
  CompileOptions compile;
  compile.threads = options.threads;
  compile.memory_limit_bytes = options.memory_limit_bytes;
  return compile;
}

/// Times are the least of several runs; a program far from the best gets few runs.
constexpr double kTrialUs = 3000;
constexpr int kFewestRuns = 3, kMostRuns = 12;
constexpr double kHopeless = 1.5;   // times the best of the operator
constexpr double kSlower = 1.1;     // in the second run
constexpr double kJustShort = 1.06; // times the sufficient time: then a first trial is repeated
constexpr int kTakenAgain = 2;      // if other programs computed
/// The cold start of slower code does not affect a comparison.
constexpr double kColdUs = 200;

/// A program that reaches this share of the peak has nothing more to gain.
constexpr double kAtPeak = 0.98;
/// The number of runs of the plan with the library.
constexpr int kLibraryRuns = 7;
constexpr double kLibrarySeconds = 0.3; // after this, no further run

class TuneDevice final : public tune::PlanDevice {
public:
  TuneDevice(const Plan& plan, const TuneDeviceOptions& options,
             std::shared_ptr<TunedPrograms> kept, std::unique_ptr<Runs> runs,
             std::unique_ptr<MachineWatch> watch)
      : plan_(plan), options_(options), kept_(std::move(kept)), runs_(std::move(runs)),
        watch_(std::move(watch)) {}

  /// `steps`: steps of the plan, one for each index among all queries; empty: unknown.
  void add(OperatorRecorder::Seen& seen, llvm::ArrayRef<PlanStepId> steps) {
    const OperatorPrograms& programs = *seen.programs;
    tune::PlanOperator op{programs.key(), programs.name(), programs.op()};
    op.occurrences = static_cast<int64_t>(seen.calls.size());
    op.flops = programs.flops();
    operators_.push_back(std::move(op));
    programs_.push_back(std::move(seen.programs));
    // A library runs neither: it uses our Winograd kernel too, and a norm is three operators.
    bool alone = programs_.back()->op().type == tune::OpType::WIN ||
                 programs_.back()->op().type == tune::OpType::FRB;
    for (size_t call : seen.calls)
      if (call < steps.size() && !alone) steps_of_[programs_.back().get()].push_back(steps[call]);
  }
  void add_other(const StepInfo& step) {
    tune::PlanOperator op{step.name + " " + step.result + " " + step.implementation,
                          step.name + " " + step.result};
    auto same = llvm::find_if(operators_, [&](const auto& one) { return one.key == op.key; });
    if (same != operators_.end()) {
      ++same->occurrences;
      return;
    }
    op.why_not = llvm::formatv("{0} has no tunable program", step.implementation);
    op.flops = step.flops;
    operators_.push_back(std::move(op));
    programs_.push_back(nullptr);
  }

  // --- tune::Device --------------------------------------------------------------------------
  std::string name() const override { return "cpu"; }
  tune::DeviceLimits limits() const override {
    // Blocks and threads are loops here: OperatorPrograms::why_not checks legality.
    constexpr int64_t kNone = int64_t{1} << 40;
    return {1 << 20, kNone, kNone, kNone};
  }
  std::string why_not(const tune::Program& program, const tune::Nest&) const override {
    const OperatorPrograms* of = programs_of(program.op);
    return of ? of->why_not(program) : "there is no tunable program";
  }
  tune::Program adapted(tune::Program program) const override {
    const OperatorPrograms* of = programs_of(program.op);
    return of ? of->adapted(std::move(program)) : program;
  }
  tune::Extents choose_block(const tune::Operator& op, const tune::Nest& nest, int64_t points,
                             tune::BlockCost& cost) const override {
    const OperatorPrograms* of = programs_of(op);
    return of ? of->choose_block(nest, points, cost) : tune::Extents();
  }
  std::optional<tune::ThreadShape> choose_threads(const tune::Operator& op, const tune::Nest&,
                                                  const tune::Extents& block, const tune::Extents&,
                                                  int64_t threads) const override {
    const OperatorPrograms* of = programs_of(op);
    return of ? of->choose_threads(block, threads) : std::nullopt;
  }
  std::optional<tune::Program> guess(const tune::Operator& op) const override {
    const OperatorPrograms* of = programs_of(op);
    return of ? of->guess() : std::nullopt;
  }
  double enough_us(const tune::Operator& op) const override { return enough_us(op, peak_flops_); }
  bool stopped() const override { return options_.stop.asked(); }

  std::optional<double> measure(const tune::Program& program) override {
    const OperatorPrograms* of = programs_of(program.op);
    bool is_first = best_op_ != of;
    if (is_first) {
      best_op_ = of;
      best_us_ = HUGE_VAL;
    }
    Result<std::unique_ptr<Implementation>> implementation = of->implementation(&program, *runs_);
    if (!implementation) return std::nullopt;
    ++measured_;
    double least = HUGE_VAL;
    for (int again = 0; again <= kTakenAgain; ++again) {
      std::optional<double> us = time(**implementation);
      if (!us) return std::nullopt;
      least = std::min(least, *us);
      bool quiet = watch_->disturbance() != Disturbance::Heavy;
      if (quiet || stopped() || least > kHopeless * best_us_) break;
      if (again == kTakenAgain) ++disturbed_;
    }
    double enough = enough_us(program.op);
    if (is_first && least > enough && least <= kJustShort * enough)
      if (std::optional<double> us = time(**implementation)) least = std::min(least, *us);
    best_us_ = std::min(best_us_, least);
    return least;
  }

  // --- tune::PlanDevice ----------------------------------------------------------------------
  llvm::ArrayRef<tune::PlanOperator> operators() const override { return operators_; }
  void begin(size_t op) override { current_ = programs_[op].get(); }
  double enough_now_us(const tune::Operator& op) override {
    constexpr int kBursts = 4;
    return enough_us(op,
                     tile_peak_flops(runs_->tiles(), runs_->threads(options_.threads), kBursts));
  }
  double peak_flops() override {
    peak_flops_ =
        std::max(peak_flops_, tile_peak_flops(runs_->tiles(), runs_->threads(options_.threads)));
    return peak_flops_;
  }
  double library_us(size_t op) override {
    if (!library_asked_ && stopped()) return 0; // loading it takes a while
    if (!library_asked_) time_library();
    library_asked_ = true;
    std::vector<double> times;
    for (PlanStepId step : steps_of_[programs_[op].get()])
      if (double us = library_us_.lookup(step); us > 0) times.push_back(us);
    if (times.empty()) return 0;
    auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
  std::optional<tune::KeptProgram> kept(size_t op) override { return kept_->kept(*programs_[op]); }
  void keep(size_t op, const tune::KeptProgram& found) override {
    kept_->keep(*programs_[op], found);
  }
  std::vector<tune::Program> kept_programs() override { return kept_->programs(options_.threads); }
  std::vector<std::string> notes() const override {
    std::vector<std::string> all = kept_->notes();
    if (disturbed_ > 0)
      all.push_back(llvm::formatv("{0} of {1} trials ran while other programs used the machine",
                                  disturbed_, measured_));
    return all;
  }

  std::optional<tune::KeptProgram> compare(size_t op, llvm::ArrayRef<tune::Program> programs,
                                           const tune::CompareLimit& limit) override {
    auto start = std::chrono::steady_clock::now();
    auto left_us = [&] {
      std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
      return limit.strict ? limit.most_us - spent.count() : limit.most_us;
    };
    std::vector<std::unique_ptr<Implementation>> ways;
    auto add = [&](const tune::Program* program) {
      Result<std::unique_ptr<Implementation>> implementation =
          programs_[op]->implementation(program, *runs_);
      if (implementation) ways.push_back(std::move(*implementation));
      return implementation.ok();
    };
    bool all = add(nullptr);
    for (const tune::Program& program : programs) all = all && left_us() > 0 && add(&program);
    if (!all) return std::nullopt;
    std::vector<double> last_us(ways.size());
    auto run = [&](size_t i) -> std::optional<double> {
      if (last_us[i] < kColdUs) (void)ways[i]->run(); // warms its code and operands
      Result<double> us = ways[i]->run();
      if (!us) return std::nullopt;
      return last_us[i] = *us;
    };
    std::optional<tune::Race> race =
        tune::race(ways.size(), run, {.most_us = left_us(), .strict = limit.strict});
    if (!race) return std::nullopt;
    tune::KeptProgram best{{programs[race->best - 1], race->times.second_us}, race->times.first_us};
    best.faster = race->worth;
    best.decided = race->decided;
    return best;
  }
  bool is_untuned(size_t op, const tune::Program& program) override {
    return programs_[op]->why_not(program).empty() && programs_[op]->is_untuned(program);
  }

private:
  double enough_us(const tune::Operator& op, double peak_flops) const {
    const OperatorPrograms* of = programs_of(op);
    return of && peak_flops > 0 ? of->flops() / (kAtPeak * peak_flops) * 1e6 : 0;
  }

  /// Returns the programs of the current operator, or of one that is not in the plan;
  /// null if there are none.
  const OperatorPrograms* programs_of(const tune::Operator& op) const {
    if (current_ && current_->op() == op) return current_;
    auto [at, is_new] = bridges_.try_emplace(tune::text(op));
    std::unique_ptr<OperatorPrograms>& other = at->second;
    if (!is_new) return other.get();
    switch (op.type) {
    case tune::OpType::BMM:
      other = std::make_unique<ProductPrograms>(op, runs_->tiles().isa(), options_.threads,
                                                tile::caches());
      break;
    case tune::OpType::CAP:
      other = CapsulePrograms::of(op, options_.threads, tile::caches());
      break;
    case tune::OpType::FRB: other = std::make_unique<NormPrograms>(op, options_.threads); break;
    case tune::OpType::WIN: other = WinogradPrograms::of(op, options_.threads); break;
    default: other = ConvolutionPrograms::of(op, options_.threads, tile::caches());
    }
    return other.get();
  }

  /// Times the plan's steps with the library: its weights and operands have the layouts
  /// of a network. Its copies between layouts are not steps of the plan and are not counted.
  void time_library() {
    std::unique_ptr<Backend> backend = make_cpu_backend(Products::Library);
    Result<std::unique_ptr<Executable>> loaded = backend->compile(plan_, compile_options(options_));
    if (!loaded) return;
    (*loaded)->profile(true);
    auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < kLibraryRuns; ++run) {
      if (!(*loaded)->run_once()) return;
      std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (spent.count() > kLibrarySeconds || stopped()) break;
    }
    for (const StepInfo& step : (*loaded)->steps())
      if (step.step != kNever) library_us_[step.step] += step.measured_us;
  }

  std::optional<double> time(Implementation& implementation) {
    double least = HUGE_VAL, spent = 0;
    if (!implementation.run()) return std::nullopt; // warm-up
    for (int run = 0; run < kMostRuns && (run < kFewestRuns || spent < kTrialUs); ++run) {
      Result<double> us = implementation.run();
      if (!us) return std::nullopt;
      least = std::min(least, *us);
      spent += *us;
      if (least > (run == 0 ? 2 * kHopeless : kSlower) * best_us_) break;
    }
    return least;
  }

  Plan plan_;
  TuneDeviceOptions options_;
  std::shared_ptr<TunedPrograms> kept_;
  std::unique_ptr<Runs> runs_;
  std::unique_ptr<MachineWatch> watch_;
  std::vector<tune::PlanOperator> operators_;
  std::vector<std::unique_ptr<OperatorPrograms>> programs_; // of operators; null: not ours
  mutable llvm::StringMap<std::unique_ptr<OperatorPrograms>> bridges_;
  const OperatorPrograms *current_ = nullptr, *best_op_ = nullptr;
  double best_us_ = HUGE_VAL;                                           // of best_op_
  double peak_flops_ = 0;                                               // the highest so far
  std::map<const OperatorPrograms*, std::vector<PlanStepId>> steps_of_; // only looked up
  llvm::DenseMap<PlanStepId, double> library_us_;
  bool library_asked_ = false;
  int64_t measured_ = 0, disturbed_ = 0;
};

class NearTuner final : public OperatorRecorder {
public:
  NearTuner(std::shared_ptr<TunedPrograms> kept, TileSchedules& choices,
            std::vector<tune::Program> known, int threads, double milliseconds)
      : OperatorRecorder(borrowed(choices)), tuned_(std::move(kept)), known_(std::move(known)),
        threads_(threads), milliseconds_(milliseconds) {}

  void seen() override {
    const tile::TileKernels* tiles = best_tiles();
    if (!tiles ||
        llvm::none_of(operators, [&](const auto& one) { return is_new(*one.second.programs); }))
      return;
    if (left_ms() <= 0) return;
    Result<std::unique_ptr<Runs>> runs = Runs::make(*tiles, weight_bytes);
    if (!runs) return; // no memory to try anything
    TuneDevice device({}, {.threads = threads_}, tuned_, std::move(*runs), nullptr);
    for (auto& [key, one] : operators) device.add(one, {});
    tune::try_near(device, {.milliseconds = left_ms()});
  }

private:
  double left_ms() const {
    std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start_;
    return milliseconds_ - spent.count();
  }
  static std::shared_ptr<TileSchedules> borrowed(TileSchedules& owned) {
    return {std::shared_ptr<void>(), &owned};
  }
  /// Returns true if nothing is stored for the operator and it has a neighbour.
  bool is_new(const OperatorPrograms& programs) const {
    return llvm::any_of(known_,
                        [&](const tune::Program& program) {
                          return tune::can_reuse(programs.op(), program.op);
                        }) &&
           !tuned_->kept(programs);
  }

  std::shared_ptr<TunedPrograms> tuned_;
  std::vector<tune::Program> known_;
  int threads_;
  double milliseconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(); // of lowering
};

bool is_product_or_convolution(llvm::StringRef name) {
  return name.startswith("matmul") || name.startswith("conv");
}

/// Products name their tile ("tile:avx2 6x16"); convolutions put their kind before it.
/// bf16 and grouped Winograd convolutions are not tuned.
bool has_schedule(llvm::StringRef implementation) {
  if (implementation.startswith("norm:")) return true;
  if (implementation.startswith("winograd")) return !implementation.contains(" grouped");
  auto [where, what] = implementation.split(' ');
  if (!where.startswith("tile:") || what.empty() || where.endswith("bf16")) return false;
  llvm::StringRef kind = what.split(' ').first.rtrim(',');
  return llvm::isDigit(kind.front()) || kind == "dense" || kind == "grouped" ||
         kind == "depthwise" || kind == "transposed";
}

} // namespace

std::unique_ptr<PlanObserver> make_near_tuner(std::shared_ptr<TunedPrograms> kept,
                                              TileSchedules& choices, int threads,
                                              double milliseconds) {
  std::vector<tune::Program> known = kept->programs(threads);
  if (known.empty()) return nullptr;
  return std::make_unique<NearTuner>(std::move(kept), choices, std::move(known), threads,
                                     milliseconds);
}

Result<std::unique_ptr<tune::PlanDevice>> make_tune_device(const Plan& plan,
                                                           const TuneDeviceOptions& options) {
  // Opened first, because it reports problems with the file.
  std::shared_ptr<TunedPrograms> kept = TunedPrograms::open(options.database, processor_name());
  auto seen = std::make_shared<OperatorRecorder>(
      TunedPrograms::on_demand(options.database, processor_name()));
  std::unique_ptr<Backend> backend = make_cpu_backend(Products::Chosen, seen);
  std::vector<StepInfo> steps;
  {
    TG_TRY(std::unique_ptr<Executable> loaded, backend->compile(plan, compile_options(options)));
    steps = loaded->steps();
  }
  const tile::TileKernels* tiles = best_tiles();
  if (!tiles)
    return error(Code::no_kernel, "there is nothing to tune on `cpu`: no register tile "
                                  "supports this processor");
  TG_TRY(std::unique_ptr<Runs> runs, Runs::make(*tiles, seen->weight_bytes));
  auto operators = std::move(seen->operators); // before the watch makes its own plans
  size_t calls = seen->calls;
  auto device = std::make_unique<TuneDevice>(plan, options, std::move(kept), std::move(runs),
                                             watch_machine(*backend, options.threads));
  std::vector<PlanStepId> asked; // each step queries once, in step order
  for (const StepInfo& step : steps)
    if (has_schedule(step.implementation)) asked.push_back(step.step);
  if (asked.size() != calls) asked.clear();
  for (auto& [key, one] : operators) device->add(one, asked);
  for (const StepInfo& step : steps)
    if (is_product_or_convolution(step.name) && !has_schedule(step.implementation))
      device->add_other(step);
  return std::unique_ptr<tune::PlanDevice>(std::move(device));
}

} // namespace tg::cpu
