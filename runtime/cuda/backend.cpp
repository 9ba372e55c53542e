#include "runtime/cuda/backend.h"

#include "runtime/cuda/patterns.h"
#include "runtime/cuda/step_timer.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>

#include <mutex>

namespace tg {

namespace {

class CudaBackend final : public Backend {
public:
  CudaBackend(std::unique_ptr<cuda::GpuDevice> device,
              std::unique_ptr<cuda::KernelCompiler> compiler, cuda::ExecutableLibraries libraries,
              std::string description)
      : device_(std::move(device)), compiler_(std::move(compiler)),
        libraries_(std::move(libraries)), description_(std::move(description)),
        timer_(
            [this](const Plan& plan, const CompileOptions& options) { return make(plan, options); },
            device_->l2_bytes()) {}

  std::string name() const override { return "cuda"; }
  std::string description() const override { return description_; }
  bool supports(const Plan&, const PlanStep& step) const override {
    return cuda::can_generate(step.op);
  }
  llvm::ArrayRef<KernelPattern> patterns() const override { return cuda::cuda_patterns(); }
  Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                              const CompileOptions& options) const override {
    TG_TRY(std::unique_ptr<cuda::CudaExecutable> executable, make(plan, options));
    return std::unique_ptr<Executable>(std::move(executable));
  }
  const StepTimer* step_timer() const override { return &timer_; }

private:
  Result<std::unique_ptr<cuda::CudaExecutable>> make(const Plan& plan,
                                                     const CompileOptions& options) const {
    TG_TRY(std::unique_ptr<cuda::GpuDevice> device, cuda::open_gpu());
    if (llvm::any_of(plan.steps, wants_dnn)) std::call_once(dnn_asked_, [this] { open_dnn(); });
    cuda::CubinCache cache(cuda::default_kernel_cache(), *compiler_);
    return cuda::CudaExecutable::make(plan, options, std::move(device), cache, libraries_);
  }

  static bool wants_dnn(const PlanStep& step) {
    return step.op == OpKind::Conv2d || step.op == OpKind::WinogradConv2d ||
           step.op == OpKind::MaxPool2d || step.op == OpKind::AvgPool2d ||
           step.op == OpKind::LayerNorm || step.op == OpKind::Softmax;
  }
  /// By the first plan that it can help: its making takes a while. Without it all is generated.
  void open_dnn() const {
    auto dnn = cuda::Cudnn::open();
    if (!dnn) return;
    auto [gpu, driver] = llvm::StringRef(device_->description()).split(", ");
    libraries_.dnn_plans =
        cuda::PlanDb::open(default_cost_db_path(), {gpu.str() + ", " + device_->architecture(),
                                                    driver.str(), (*dnn)->description()});
    libraries_.dnn = std::move(*dnn);
  }

  /// Not for work: it keeps the GPU's context alive, whose making takes longer than most plans.
  std::unique_ptr<cuda::GpuDevice> device_;
  std::unique_ptr<cuda::KernelCompiler> compiler_;
  mutable cuda::ExecutableLibraries libraries_; // cuDNN comes later
  mutable std::once_flag dnn_asked_;
  std::string description_;
  cuda::GraphStepTimer timer_;
};

} // namespace

Result<std::unique_ptr<Backend>> make_cuda_backend() {
  TG_TRY(std::unique_ptr<cuda::GpuDevice> device, cuda::open_gpu());
  TG_TRY(std::unique_ptr<cuda::KernelCompiler> compiler, cuda::open_nvrtc());
  std::string description = device->description() + ", " + compiler->version();
  cuda::ExecutableLibraries libraries;
  if (auto blas = cuda::BlasLt::open()) {
    description += ", " + (*blas)->version();
    auto [gpu, driver] = llvm::StringRef(device->description()).split(", ");
    libraries.blas_plans =
        cuda::PlanDb::open(default_cost_db_path(), {gpu.str() + ", " + device->architecture(),
                                                    driver.str(), (*blas)->version()});
    libraries.blas = std::move(*blas);
  }
  if (std::string dnn = cuda::cudnn_version(); !dnn.empty()) description += ", " + dnn;
  return std::unique_ptr<Backend>(std::make_unique<CudaBackend>(
      std::move(device), std::move(compiler), std::move(libraries), std::move(description)));
}

} // namespace tg
