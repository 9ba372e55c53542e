// An executable on a recording GPU with zero weights, for tests of how a plan runs.
#pragma once

#include "runtime/cuda/executable.h"

#include "tests/property/cuda/recording_gpu.h"
#include "tests/unit/cuda/fake_cublaslt.h"
#include "tests/unit/cuda/fake_cudnn.h"

namespace tg::test {

/// Libraries that accept graphs as FakeCudnn's switches say.
inline cuda::ExecutableLibraries fake_libraries() {
  cuda::ExecutableLibraries libraries;
  libraries.blas = std::move(*cuda::BlasLt::over(FakeLt::api()));
  libraries.dnn = std::move(*cuda::Cudnn::over(FakeCudnn::api()));
  return libraries;
}

/// `record` must outlive the result. Errors are those of CudaExecutable::make().
inline Result<std::unique_ptr<cuda::CudaExecutable>>
make_recorded(const Plan& plan, const cuda::ExecutableLibraries& libraries, GpuRecord& record,
              RecordingCompiler& compiler, CompileOptions options = {}) {
  cuda::CubinCache cache("", compiler);
  options.weights = [](const PlanValue& value) { return Tensor::zeros(value.type); };
  return cuda::CudaExecutable::make(plan, options, std::make_shared<RecordingGpu>(record), cache,
                                    libraries);
}

} // namespace tg::test
