#include "runtime/cuda/backend.h"

#include "runtime/cuda/executable.h"

namespace tg {

namespace {

class CudaBackend final : public Backend {
public:
  CudaBackend(std::unique_ptr<cuda::KernelCompiler> compiler, std::shared_ptr<cuda::BlasLt> blas,
              std::string description)
      : compiler_(std::move(compiler)), blas_(std::move(blas)),
        description_(std::move(description)) {}

  std::string name() const override { return "cuda"; }
  std::string description() const override { return description_; }
  bool supports(const Plan&, const PlanStep& step) const override {
    return cuda::can_generate(step.op);
  }
  Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                              const CompileOptions& options) const override {
    TG_TRY(std::unique_ptr<cuda::GpuDevice> device, cuda::open_gpu());
    cuda::CubinCache cache(cuda::default_kernel_cache(), *compiler_);
    TG_TRY(std::unique_ptr<cuda::CudaExecutable> executable,
           cuda::CudaExecutable::make(plan, options, std::move(device), cache, blas_));
    return std::unique_ptr<Executable>(std::move(executable));
  }

private:
  std::unique_ptr<cuda::KernelCompiler> compiler_;
  std::shared_ptr<cuda::BlasLt> blas_; // null where there is none
  std::string description_;
};

} // namespace

Result<std::unique_ptr<Backend>> make_cuda_backend() {
  TG_TRY(std::unique_ptr<cuda::GpuDevice> device, cuda::open_gpu());
  TG_TRY(std::unique_ptr<cuda::KernelCompiler> compiler, cuda::open_nvrtc());
  std::string description = device->description() + ", " + compiler->version();
  std::shared_ptr<cuda::BlasLt> blas;
  if (auto opened = cuda::BlasLt::open()) {
    blas = std::move(*opened);
    description += ", cuBLASLt";
  }
  return std::unique_ptr<Backend>(
      std::make_unique<CudaBackend>(std::move(compiler), std::move(blas), std::move(description)));
}

} // namespace tg
