#include "runtime/cuda/backend.h"

#include "runtime/cuda/executable.h"
#include "runtime/cuda/tuning/step_timer.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FormatVariadic.h>

#include <mutex>

namespace tg {

namespace {

constexpr Act kActs[] = {Act::Relu};
constexpr KernelPattern kPatterns[] = {
    {OpKind::Conv2d, true, true, kActs},
    {OpKind::Matmul, true, true, kActs},
};

/// Opens the plans stored for this GPU and a library of this version.
std::unique_ptr<cuda::PlanDb> open_plans(const std::string& path, const cuda::GpuDevice& device,
                                         const std::string& library) {
  std::string description = device.description();
  auto [gpu, driver] = llvm::StringRef(description).split(", ");
  return cuda::PlanDb::open(path,
                            {gpu.str() + ", " + device.architecture(), driver.str(), library});
}

class CudaBackend final : public Backend {
public:
  CudaBackend(std::unique_ptr<cuda::GpuDevice> device,
              std::unique_ptr<cuda::KernelCompiler> compiler, cuda::ExecutableLibraries libraries,
              std::string description, std::string plan_db, std::vector<std::string> notes)
      : device_(std::move(device)), compiler_(std::move(compiler)),
        libraries_(std::move(libraries)), description_(std::move(description)),
        plan_db_(std::move(plan_db)), notes_(std::move(notes)),
        timer_([this](llvm::ArrayRef<const Plan*> plans, const CompileOptions& options,
                      const cuda::GraphTiming& how,
                      cuda::KnownUnits known) { return time(plans, options, how, known); },
               device_->l2_bytes()) {}

  std::string name() const override { return "cuda"; }
  std::string description() const override { return description_; }
  bool supports(const Plan&, const PlanStep& step) const override {
    return cuda::can_generate(step.op);
  }
  llvm::ArrayRef<KernelPattern> patterns() const override { return cuda_patterns(); }
  Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                              const CompileOptions& options) const override {
    TG_TRY(std::unique_ptr<cuda::GpuDevice> device, cuda::open_gpu());
    load_dnn_if_useful(plan);
    cuda::CubinCache cache(cuda::default_kernel_cache(), *compiler_);
    auto made = cuda::CudaExecutable::make(plan, options, std::move(device), cache, libraries_);
    keep_notes(cache.notes());
    TG_TRY(std::unique_ptr<cuda::CudaExecutable> executable, std::move(made));
    if (std::optional<int> turned = executable->layout_conversions())
      keep_notes(llvm::formatv("{0} layout conversion{1}", *turned, *turned == 1 ? "" : "s").str());
    return std::unique_ptr<Executable>(std::move(executable));
  }
  const StepTimer* step_timer() const override { return &timer_; }
  std::vector<std::string> notes() const override {
    std::lock_guard hold(notes_lock_);
    std::vector<std::string> notes = notes_;
    for (const cuda::PlanDb* plans :
         {libraries_.blas_plans.get(), libraries_.dnn_plans.get(), prices_.get()})
      if (plans)
        for (std::string& note : plans->notes())
          if (!llvm::is_contained(notes, note)) notes.push_back(std::move(note)); // from one file
    return notes;
  }

private:
  std::vector<Result<cuda::PlanTime>> time(llvm::ArrayRef<const Plan*> plans,
                                           const CompileOptions& options,
                                           const cuda::GraphTiming& how,
                                           cuda::KnownUnits known) const {
    auto device = cuda::open_gpu();
    if (!device) return std::vector<Result<cuda::PlanTime>>(plans.size(), device.error());
    for (const Plan* plan : plans) load_dnn_if_useful(*plan);
    bool use = known == cuda::KnownUnits::Use;
    if (use && !prices_) prices_ = open_plans(plan_db_, *device_, "units: " + description_);
    cuda::CubinCache cache(cuda::default_kernel_cache(), *compiler_);
    auto times = cuda::time_plans(plans, options, std::move(*device), cache, libraries_,
                                  use ? prices_.get() : nullptr, how);
    keep_notes(cache.notes());
    return times;
  }

  void keep_notes(llvm::ArrayRef<std::string> notes) const {
    std::lock_guard hold(notes_lock_);
    for (const std::string& note : notes)
      if (!llvm::is_contained(notes_, note)) notes_.push_back(note);
  }

  static bool can_use_dnn(const PlanStep& step) {
    return step.op == OpKind::Conv2d || step.op == OpKind::WinogradConv2d ||
           step.op == OpKind::Softmax || step.op == OpKind::Attention;
  }
  /// Loads cuDNN on the first plan that it can help, because loading takes a while.
  /// Without it all steps are generated.
  void load_dnn_if_useful(const Plan& plan) const {
    if (llvm::any_of(plan.steps, can_use_dnn)) std::call_once(dnn_asked_, [this] { open_dnn(); });
  }
  void open_dnn() const {
    auto dnn = cuda::Cudnn::open();
    if (!dnn) return keep_notes({"convolutions run on generated kernels: " + dnn.error().message});
    libraries_.dnn_plans = open_plans(plan_db_, *device_, (*dnn)->description());
    libraries_.dnn = std::move(*dnn);
  }

  /// Not used for work: it keeps the GPU's context alive, whose creation takes longer
  /// than most plans.
  std::unique_ptr<cuda::GpuDevice> device_;
  std::unique_ptr<cuda::KernelCompiler> compiler_;
  mutable cuda::ExecutableLibraries libraries_; // cuDNN is added later
  mutable std::once_flag dnn_asked_;
  std::string description_, plan_db_;
  mutable std::unique_ptr<cuda::PlanDb> prices_; // of units, from the first pricing on
  mutable std::mutex notes_lock_;
  mutable std::vector<std::string> notes_; // without duplicates
  cuda::GraphStepTimer timer_;
};

} // namespace

Result<std::unique_ptr<Backend>> make_cuda_backend(const std::string& plan_db) {
  TG_TRY(std::unique_ptr<cuda::GpuDevice> device, cuda::open_gpu());
  TG_TRY(std::unique_ptr<cuda::KernelCompiler> compiler, cuda::open_nvrtc());
  std::string description = device->description() + ", " + compiler->version();
  std::string path = plan_db.empty() ? default_cost_db_path() : plan_db;
  cuda::ExecutableLibraries libraries;
  std::vector<std::string> notes;
  TG_TRY(std::string target, cuda::compile_target(*compiler, device->architecture()));
  if (cuda::is_ptx(target))
    notes.push_back("the driver compiles kernels from PTX for " + target + ": " +
                    compiler->version() + " does not support " + device->architecture());
  auto blas = cuda::BlasLt::open();
  if (!blas) notes.push_back("products run on generated kernels: " + blas.error().message);
  if (blas) {
    description += ", " + (*blas)->version();
    libraries.blas_plans = open_plans(path, *device, (*blas)->version());
    libraries.blas = std::move(*blas);
  }
  if (std::string dnn = cuda::cudnn_version(); !dnn.empty()) description += ", " + dnn;
  return std::unique_ptr<Backend>(
      std::make_unique<CudaBackend>(std::move(device), std::move(compiler), std::move(libraries),
                                    std::move(description), std::move(path), std::move(notes)));
}

llvm::ArrayRef<KernelPattern> cuda_patterns() { return kPatterns; }

} // namespace tg
