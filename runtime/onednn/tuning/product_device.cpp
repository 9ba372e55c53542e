// The device: its operators, trials, comparisons.
#include "runtime/onednn/tuning/product_device.h"

#include "runtime/measure/machine_watch.h"
#include "runtime/onednn/lowering/tile_matmul.h"
#include "runtime/onednn/tuning/product_runs.h"
#include "runtime/onednn/tuning/tuned_products.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tg::cpu {

namespace {

/// Notes products while a plan is lowered, and has nothing to say of them.
class ProductRecorder final : public ProductSchedules {
public:
  struct Seen {
    tile::ProductShape shape;
    tile::Isa isa;
    int threads;
    int64_t times = 0;
  };
  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override {
    Seen& seen = products[product_key(shape, isa, threads)];
    if (seen.times++ == 0) seen = {shape, isa, threads, 1};
    return std::nullopt;
  }
  llvm::MapVector<std::string, Seen, std::map<std::string, unsigned>> products; // in their order
};

/// Times are the least of some runs; a program far from the best gets few.
constexpr double kTrialUs = 3000;
constexpr int kFewestRuns = 3, kMostRuns = 12;
constexpr double kHopeless = 1.5; // times the best of the operator
constexpr int kTakenAgain = 2;    // where others computed
/// Rounds of a comparison, each way once in each; what is faster by less is not worth a schedule.
constexpr int kRounds = 30;
constexpr double kCompareUs = 400'000;
constexpr double kWorthIt = 1.01;

class TuneDevice final : public tune::PlanDevice {
public:
  TuneDevice(const TuneDeviceOptions& options, std::shared_ptr<TunedProducts> kept,
             std::unique_ptr<ProductRuns> runs, std::unique_ptr<MachineWatch> watch)
      : options_(options), kept_(std::move(kept)), runs_(std::move(runs)),
        watch_(std::move(watch)) {}

  void add_product(const ProductRecorder::Seen& seen) {
    auto product =
        std::make_unique<ProductPrograms>(seen.shape, seen.isa, seen.threads, tile::caches());
    tune::PlanOperator op{product->key(), product_name(seen.shape), product->op()};
    op.occurrences = seen.times;
    op.flops = product_flops(seen.shape);
    operators_.push_back(std::move(op));
    products_.push_back(std::move(product));
  }
  void add_other(const StepInfo& step) {
    tune::PlanOperator op{step.name + " " + step.result + " " + step.implementation,
                          step.name + " " + step.result};
    auto same = llvm::find_if(operators_, [&](const auto& one) { return one.key == op.key; });
    if (same != operators_.end()) {
      ++same->occurrences;
      return;
    }
    op.why_not = llvm::formatv("no programs of ours for {0}", step.implementation);
    op.flops = step.flops;
    operators_.push_back(std::move(op));
    products_.push_back(nullptr);
  }

  // --- tune::Device --------------------------------------------------------------------------
  std::string name() const override { return "cpu"; }
  tune::DeviceLimits limits() const override {
    // Blocks and threads are loops here: legality is ProductPrograms::why_not.
    constexpr int64_t kNone = int64_t{1} << 40;
    return {1 << 20, kNone, kNone, kNone};
  }
  std::string why_not(const tune::Program& program, const tune::Nest&) const override {
    return programs_of(program.op).why_not(program);
  }
  tune::Program adapted(tune::Program program) const override {
    const ProductPrograms& of = programs_of(program.op);
    return of.adapted(std::move(program));
  }
  tune::Extents choose_block(const tune::Nest& nest, int64_t points,
                             tune::BlockCost& cost) const override {
    return nest_programs(nest).choose_block(nest, points, cost);
  }
  std::optional<tune::ThreadShape> choose_threads(const tune::Nest& nest,
                                                  const tune::Extents& block, const tune::Extents&,
                                                  int64_t threads) const override {
    return nest_programs(nest).choose_threads(block, threads);
  }
  bool stopped() const override { return options_.stop.asked(); }

  std::optional<double> measure(const tune::Program& program) override {
    const ProductPrograms& of = programs_of(program.op);
    if (best_op_ != &of) {
      best_op_ = &of;
      best_us_ = HUGE_VAL;
    }
    tile::Product product(of.shape(), of.schedule(program), runs_->tiles());
    ++measured_;
    double least = HUGE_VAL;
    for (int again = 0; again <= kTakenAgain; ++again) {
      std::optional<double> us = time(product, of.threads());
      if (!us) return std::nullopt;
      least = std::min(least, *us);
      bool quiet = watch_->disturbance() != Disturbance::Heavy;
      if (quiet || stopped() || least > kHopeless * best_us_) break;
      if (again == kTakenAgain) ++disturbed_;
    }
    best_us_ = std::min(best_us_, least);
    return least;
  }

  // --- tune::PlanDevice ----------------------------------------------------------------------
  llvm::ArrayRef<tune::PlanOperator> operators() const override { return operators_; }
  void begin(size_t op) override { current_ = products_[op].get(); }
  double peak_flops() override { return tile_peak_flops(runs_->tiles(), options_.threads); }
  std::optional<tune::KeptProgram> kept(size_t op) override { return kept_->kept(*products_[op]); }
  void keep(size_t op, const tune::KeptProgram& found) override {
    kept_->keep(*products_[op], found);
  }
  std::vector<tune::Program> kept_programs() override { return kept_->programs(); }
  std::vector<std::string> notes() const override {
    std::vector<std::string> all = kept_->notes();
    if (disturbed_ > 0)
      all.push_back(
          llvm::formatv("{0} of {1} trials ran while others computed", disturbed_, measured_));
    return all;
  }

  std::optional<tune::KeptProgram> compare(size_t op,
                                           llvm::ArrayRef<tune::Program> programs) override {
    const ProductPrograms& of = *products_[op];
    std::vector<tile::Product> ways;
    ways.emplace_back(of.shape(), of.untuned(), runs_->tiles());
    for (const tune::Program& program : programs)
      ways.emplace_back(of.shape(), of.schedule(program), runs_->tiles());
    std::vector<std::vector<double>> times(ways.size());
    double spent = 0;
    for (int round = 0; round < kRounds && (round < kFewestRuns || spent < kCompareUs); ++round)
      for (size_t i = 0; i < ways.size(); ++i) {
        (void)runs_->run(ways[i], of.threads()); // its code and what it reads
        Result<double> us = runs_->run(ways[i], of.threads());
        if (!us) return std::nullopt;
        times[i].push_back(*us);
        spent += 2 * *us;
      }
    return fastest(programs, times);
  }

private:
  static std::optional<tune::KeptProgram> fastest(llvm::ArrayRef<tune::Program> programs,
                                                  const std::vector<std::vector<double>>& times) {
    std::optional<tune::KeptProgram> best;
    for (size_t i = 0; i < programs.size(); ++i) {
      Comparison found = compare_times(times[0], times[i + 1]);
      if (best && best->best.microseconds <= found.second_us) continue;
      best = tune::KeptProgram{{programs[i], found.second_us}, found.first_us};
      best->faster = found.second_faster() && found.ratio > kWorthIt;
    }
    return best;
  }

  /// Of the operator at hand, or of one that stands for no product of the plan.
  const ProductPrograms& programs_of(const tune::Operator& op) const {
    if (current_ && current_->op() == op) return *current_;
    std::unique_ptr<ProductPrograms>& other = bridges_[tune::text(op)];
    if (!other)
      other = std::make_unique<ProductPrograms>(op, runs_->tiles().isa(), options_.threads,
                                                tile::caches());
    return *other;
  }
  const ProductPrograms& nest_programs(const tune::Nest& nest) const {
    return programs_of({tune::OpType::BMM, nest.space, nest.reduction});
  }

  std::optional<double> time(const tile::Product& product, int threads) {
    double least = HUGE_VAL, spent = 0;
    if (!runs_->run(product, threads)) return std::nullopt; // to warm up
    for (int run = 0; run < kMostRuns && (run < kFewestRuns || spent < kTrialUs); ++run) {
      Result<double> us = runs_->run(product, threads);
      if (!us) return std::nullopt;
      least = std::min(least, *us);
      spent += *us;
      if (least > 2 * kHopeless * best_us_) break;
    }
    return least;
  }

  TuneDeviceOptions options_;
  std::shared_ptr<TunedProducts> kept_;
  std::unique_ptr<ProductRuns> runs_;
  std::unique_ptr<MachineWatch> watch_;
  std::vector<tune::PlanOperator> operators_;
  std::vector<std::unique_ptr<ProductPrograms>> products_; // of operators; null: none of ours
  mutable llvm::StringMap<std::unique_ptr<ProductPrograms>> bridges_;
  const ProductPrograms *current_ = nullptr, *best_op_ = nullptr;
  double best_us_ = HUGE_VAL; // of best_op_
  int64_t measured_ = 0, disturbed_ = 0;
};

bool is_product_or_convolution(llvm::StringRef name) {
  return name.startswith("matmul") || name.startswith("conv");
}

/// Products say their tile ("tile:avx2 6x16"); convolutions, whose code is emitted for each shape
/// and leaves nothing to choose, say their kind before it.
bool has_schedule(llvm::StringRef implementation) {
  auto [where, what] = implementation.split(' ');
  return where.startswith("tile:") && !what.empty() && llvm::isDigit(what.front());
}

/// Weights that a run of these products reads.
int64_t weight_bytes(const ProductRecorder& seen) {
  int64_t bytes = 0;
  for (const auto& [key, product] : seen.products)
    if (product.shape.w_is_packed)
      bytes += product.times * 4 *
               tile::packed_elements(product.shape.depth, product.shape.columns, product.isa);
  return bytes;
}

} // namespace

Result<std::unique_ptr<tune::PlanDevice>> make_tune_device(const Plan& plan,
                                                           const TuneDeviceOptions& options) {
  auto seen = std::make_shared<ProductRecorder>();
  std::unique_ptr<Backend> backend = make_cpu_backend(Products::Chosen, seen);
  CompileOptions compile;
  compile.threads = options.threads;
  compile.memory_limit_bytes = options.memory_limit_bytes;
  std::vector<StepInfo> steps;
  {
    TG_TRY(std::unique_ptr<Executable> loaded, backend->compile(plan, compile));
    steps = loaded->steps();
  }
  const tile::TileKernels* tiles = tiles_of(tile::Isa::Avx2);
  if (!tiles)
    return error(Code::no_kernel, "this processor has none of our register tiles: there "
                                  "is nothing to tune on `cpu`");
  TG_TRY(std::unique_ptr<ProductRuns> runs, ProductRuns::make(*tiles, weight_bytes(*seen)));
  auto device =
      std::make_unique<TuneDevice>(options, TunedProducts::open(options.database, processor_name()),
                                   std::move(runs), watch_machine(*backend, options.threads));
  for (const auto& [key, product] : seen->products) device->add_product(product);
  for (const StepInfo& step : steps)
    if (is_product_or_convolution(step.name) && !has_schedule(step.implementation))
      device->add_other(step);
  return std::unique_ptr<tune::PlanDevice>(std::move(device));
}

} // namespace tg::cpu
