// Rows of the database, and their format.
#include "runtime/cpu/tuning/tuned_programs.h"

#include "lang/core/price.h"
#include "runtime/cpu/tuning/capsule_programs.h"
#include "runtime/cpu/tuning/kernel_choices.h"
#include "runtime/cpu/tuning/near_tuner.h"
#include "runtime/cpu/tuning/norm_programs.h"
#include "runtime/cpu/tuning/product_programs.h"
#include "runtime/cpu/tuning/winograd_programs.h"
#include "runtime/measure/whole_run_keys.h"
#include "runtime/tune/scanner.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cpu {

namespace {

constexpr llvm::StringLiteral kFaster = "tuned", kNotFaster = "untuned";

} // namespace

/// Returns the prefixes of the instances whose prices a program of this type changes.
static std::vector<llvm::StringRef> instance_prefixes(tune::OpType type) {
  switch (type) {
  case tune::OpType::BMM: return {"matmul("};
  case tune::OpType::C3D: return {"conv3d("};
  case tune::OpType::T2D: return {"conv_transpose2d("};
  case tune::OpType::GRP:
  case tune::OpType::DEP: return {"conv2d(", "conv3d("};
  case tune::OpType::WIN: return {"winograd_conv2d("};
  case tune::OpType::FRB: return {}; // a plan has it as three operators
  default: return {"conv2d("};
  }
}

std::string kept_text(const tune::KeptProgram& found) {
  return llvm::formatv("{0} from {1:f3} us in {2} trials{3}: {4}",
                       found.faster ? kFaster : kNotFaster, found.untuned_us, found.trials,
                       found.cut_off ? ", cut off" : "", tune::text(found.best.program));
}

Result<tune::KeptProgram> read_kept(llvm::StringRef text, double microseconds) {
  tune::Scanner scan(text);
  tune::KeptProgram found;
  found.best.microseconds = microseconds;
  found.faster = scan.take(kFaster);
  if (!found.faster) TG_CHECK(scan.expect(kNotFaster));
  TG_CHECK(scan.expect("from"));
  TG_TRY(found.untuned_us, scan.real());
  if (!(found.untuned_us > 0 && found.untuned_us <= kMaxPrice && microseconds > 0))
    return error(Code::bad_data_file, "a time must be more than 0");
  TG_CHECK(scan.expect("us"));
  TG_CHECK(scan.expect("in"));
  TG_TRY(found.trials, scan.number(0, INT64_C(1) << 40));
  TG_CHECK(scan.expect("trials"));
  found.cut_off = scan.take(",");
  if (found.cut_off) {
    TG_CHECK(scan.expect("cut"));
    TG_CHECK(scan.expect("off"));
  }
  TG_CHECK(scan.expect(":"));
  TG_TRY(found.best.program, tune::read_program(scan.rest()));
  return found;
}

CostEnvironment TunedPrograms::environment(llvm::StringRef processor) {
  const tile::Caches& caches = tile::caches();
  CostEnvironment rows;
  rows.processor = processor.str();
  rows.instruction_set = "tiles"; // a key names the instruction set
  rows.library = llvm::formatv("tiles, revision {0}", kTileRevision);
  rows.layout = llvm::formatv("programs of products, caches {0} KiB {1} KiB", caches.first >> 10,
                              caches.second >> 10);
  rows.dtype = "f32";
  rows.threads = 0; // a key includes the number
  return rows;
}

namespace {

std::string file_of(llvm::StringRef path) {
  return path.empty() ? default_cost_db_path() : path.str();
}

class OnDemand final : public TileSchedules {
public:
  OnDemand(llvm::StringRef path, llvm::StringRef processor, double near_ms)
      : path_(path), processor_(processor), near_ms_(near_ms) {}

  std::optional<tile::Schedule> find(const tile::ProductShape& shape, tile::Isa isa,
                                     int threads) override {
    return say(
        products_, [&] { return product_key(shape, isa, threads); }, shape, isa, threads);
  }
  std::optional<tile::ConvolutionSchedule> find(const OwnConvolution& convolution,
                                                int threads) override {
    auto key = [&] { return programs_of_convolution(convolution, threads, tile::caches())->key(); };
    return say(convolutions_, key, convolution, threads);
  }
  std::optional<NormSchedule> find_norm(const NormShape& shape, int threads) override {
    return cached_lookup(
        norms_, [&] { return NormPrograms(shape, threads).key(); },
        [&] { return tuned_->find_norm(shape, threads); });
  }
  std::optional<WinogradCut> find_winograd(const WinogradShape& shape, int threads) override {
    return cached_lookup(
        cuts_, [&] { return WinogradPrograms(shape, threads).key(); },
        [&] { return tuned_->find_winograd(shape, threads); });
  }
  bool uses_own_kernel(llvm::StringRef op, bool by_rule) override {
    std::lock_guard<std::mutex> lock(mutex_);
    open();
    if (!choices_) return by_rule;
    auto [at, first] = whose_.try_emplace(op);
    if (first) at->second = choices_->find(op).value_or(KernelOwner::Rule);
    return at->second == KernelOwner::Rule ? by_rule : at->second == KernelOwner::Ours;
  }

  std::unique_ptr<PlanObserver> observe_plan(int threads) override {
    if (near_ms_ <= 0) return nullptr;
    std::lock_guard<std::mutex> lock(mutex_);
    open();
    return tuned_ ? make_near_tuner(tuned_, *this, threads, near_ms_) : nullptr;
  }

private:
  template <class T> using LookupCache = llvm::StringMap<std::optional<T>>;

  template <class T, class Key, class... Asked>
  std::optional<T> say(LookupCache<T>& said, const Key& key, const Asked&... asked) {
    return cached_lookup(said, key, [&] { return tuned_->find(asked...); });
  }
  template <class T, class Key, class Find>
  std::optional<T> cached_lookup(LookupCache<T>& said, const Key& key, const Find& find) {
    std::lock_guard<std::mutex> lock(mutex_);
    open();
    if (!tuned_) return std::nullopt;
    auto [at, first] = said.try_emplace(key());
    if (first) at->second = find();
    return at->second;
  }
  void open() {
    if (asked_) return;
    asked_ = true;
    std::string file = file_of(path_);
    if (file.empty() || !llvm::sys::fs::exists(file)) return;
    tuned_ = TunedPrograms::open(file, processor_);
    choices_ = KernelChoices::open(file, processor_);
  }

  std::string path_, processor_;
  double near_ms_;
  std::mutex mutex_;
  bool asked_ = false;
  std::shared_ptr<TunedPrograms> tuned_;
  std::unique_ptr<KernelChoices> choices_;
  llvm::StringMap<KernelOwner> whose_;
  LookupCache<tile::Schedule> products_;
  LookupCache<tile::ConvolutionSchedule> convolutions_;
  LookupCache<NormSchedule> norms_;
  LookupCache<WinogradCut> cuts_;
};

} // namespace

std::shared_ptr<TileSchedules> TunedPrograms::on_demand(llvm::StringRef path,
                                                        llvm::StringRef processor, double near_ms) {
  return std::make_shared<OnDemand>(path, processor, near_ms);
}

std::shared_ptr<TunedPrograms> TunedPrograms::open(llvm::StringRef path,
                                                   llvm::StringRef processor) {
  std::string file = file_of(path);
  return std::shared_ptr<TunedPrograms>(
      new TunedPrograms(CostDb::open(file, environment(processor))));
}

std::optional<tune::Program> TunedPrograms::faster(const OperatorPrograms& op) {
  std::optional<tune::KeptProgram> found = kept(op);
  if (!found || !found->faster) return std::nullopt;
  return std::move(found->best.program);
}

std::optional<tile::Schedule> TunedPrograms::find(const tile::ProductShape& shape, tile::Isa isa,
                                                  int threads) {
  ProductPrograms product(shape, isa, threads, tile::caches());
  std::optional<tune::Program> program = faster(product);
  if (!program) return std::nullopt;
  return product.schedule(*program);
}

std::optional<tile::ConvolutionSchedule> TunedPrograms::find(const OwnConvolution& asked,
                                                             int threads) {
  auto convolution = programs_of_convolution(asked, threads, tile::caches());
  std::optional<tune::Program> program = faster(*convolution);
  if (!program) return std::nullopt;
  return schedule_of(*convolution, *program);
}

std::optional<NormSchedule> TunedPrograms::find_norm(const NormShape& shape, int threads) {
  NormPrograms norm(shape, threads);
  std::optional<tune::Program> program = faster(norm);
  if (!program) return std::nullopt;
  return norm.schedule(*program);
}

std::optional<WinogradCut> TunedPrograms::find_winograd(const WinogradShape& shape, int threads) {
  WinogradPrograms convolution(shape, threads);
  std::optional<tune::Program> program = faster(convolution);
  if (!program) return std::nullopt;
  return convolution.cut(*program);
}

std::optional<tune::KeptProgram> TunedPrograms::kept(const OperatorPrograms& op) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string key = op.key();
  std::optional<CostRow> row = rows_->find_row(key);
  if (!row) return std::nullopt;
  Result<tune::KeptProgram> found = read_kept(row->implementation, row->microseconds);
  std::string why = found ? op.why_not(found->best.program) : found.error().message;
  if (why.empty()) return std::move(*found);
  std::string note = llvm::formatv("the tuned program of {0} is not used: {1}", key, why);
  if (!llvm::is_contained(damaged_, note)) damaged_.push_back(std::move(note));
  return std::nullopt;
}

void TunedPrograms::keep(const OperatorPrograms& op, const tune::KeptProgram& found) {
  std::optional<tune::KeptProgram> before = kept(op);
  std::lock_guard<std::mutex> lock(mutex_);
  rows_->store(CostRow{op.key(), found.best.microseconds, kept_text(found)});
  if (!found.faster && !(before && before->faster)) return; // the default is still used
  llvm::StringRef kernel = op.op().type == tune::OpType::WIN ? "winograd" : "tile:";
  for (llvm::StringRef instance : instance_prefixes(op.op().type)) rows_->forget(instance, kernel);
  forget_whole_runs(*rows_);
}

std::vector<tune::Program> TunedPrograms::programs(int threads) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<tune::Program> all;
  for (const auto& [layout, alike] : rows_->rows_of_all_layouts()) {
    if (!llvm::StringRef(alike.instance).contains(key_of_threads(threads))) continue;
    std::optional<CostRow> row = rows_->find_row(alike.instance);
    if (!row) continue; // of other caches
    Result<tune::KeptProgram> found = read_kept(row->implementation, row->microseconds);
    if (found && !found->cut_off) all.push_back(std::move(found->best.program));
  }
  return all;
}

std::vector<std::string> TunedPrograms::notes() const {
  std::vector<std::string> all = rows_->notes();
  all.insert(all.end(), damaged_.begin(), damaged_.end());
  return all;
}

} // namespace tg::cpu
