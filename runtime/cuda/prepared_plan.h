// A plan prepared for a GPU: units that are launched one after the other, each a generated kernel,
// a library call, or a view that does nothing. A prepared plan has everything except memory:
// it can be priced on scratch memory (tuning/step_timer.h), or loaded and run (executable.h).
#pragma once

#include "runtime/cuda/codegen/fusion.h"
#include "runtime/cuda/kernel_table.h"
#include "runtime/cuda/library_plan.h"
#include "runtime/cuda/value_memory.h"

namespace tg::cuda {

struct Launch {
  Unit unit;
  uint32_t row = 0;                         // of the kernel table
  llvm::SmallVector<PlanValueId, 8> values; // of the parameters
  llvm::SmallVector<Address, 8> parameters;
  std::optional<MatmulProblem> problem; // for a product run by cuBLASLt
  const DnnCall* dnn = nullptr;         // for a step run by cuDNN
};

/// Returns the pattern with which memory of a dtype is filled repeatedly.
using PatternOf = std::function<Result<const Tensor*>(DType)>;

class PreparedPlan {
public:
  /// Makes everything except memory. `cold`: choices by measurement assume that operands come
  /// from memory. Errors: `no_kernel`, `memory_limit`, the device's.
  static Result<std::unique_ptr<PreparedPlan>>
  make(const Plan& plan, const CompileOptions& options, std::shared_ptr<GpuDevice> device,
       CubinCache& cache, ExecutableLibraries libraries, Stream stream, bool cold);

  const LibraryPlan& steps() const { return steps_; }
  const Plan& plan() const { return steps_.plan(); }
  const KernelTable& kernels() const { return kernels_; }
  ValueMemory& memory() { return memory_; }
  const ValueMemory& memory() const { return memory_; }
  llvm::ArrayRef<Launch> launches() const { return launches_; }
  GpuDevice& device() const { return *device_; }
  Stream stream() const { return stream_; }

  /// Allocates memory for the values, whose addresses become the parameters.
  Result<void> reserve();
  Result<void> reserve_workspace() { return memory_.reserve_workspace(*device_, stream_); }
  void set_parameters();
  Result<void> launch(const Launch& launch) const;

  // Functions for a unit on scratch memory.
  int64_t scratch_bytes(const Launch& launch) const { return memory_.bytes_of(launch.values); }
  Result<void> fill_scratch(const Launch& launch, Address scratch, const PatternOf& pattern) const;
  /// From now on the unit runs on that memory.
  void use_scratch(size_t launch, Address scratch);

  /// Returns the launched operation with its shapes: a library's operation, or the kernel's name.
  std::string key(const Launch& launch) const;
  StepInfo info(const Launch& launch) const;

private:
  PreparedPlan(const Plan& plan, std::shared_ptr<GpuDevice> device, ExecutableLibraries libraries,
               Stream stream)
      : device_(std::move(device)), stream_(stream), steps_(plan, std::move(libraries)),
        kernels_(*device_), memory_(steps_.plan()) {}

  Result<void> prepare(const CompileOptions& options, CubinCache& cache, bool cold);
  Result<void> choose_kernels(CubinCache& cache);
  Result<Launch> launch_of(Unit unit, const StridesOf& strides, CubinCache& cache);
  void place_values();
  void set_parameters(Launch& launch);
  Result<void> run_dnn(const DnnCall& call) const;
  Result<void> run_product(const Launch& launch) const;
  void describe(const Launch& launch, StepInfo& info) const;

  std::shared_ptr<GpuDevice> device_;
  Stream stream_;
  LibraryPlan steps_;
  KernelTable kernels_;
  ValueMemory memory_;
  std::vector<Launch> launches_;
};

} // namespace tg::cuda
