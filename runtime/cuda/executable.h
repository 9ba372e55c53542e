// A plan on a GPU. At load: steps are fused into units and their kernels compiled; weight-only
// steps run on the host, by `ref`, and what runs read of weights is copied once and stays; every
// other value of a run lies in one arena by its lifetime over the units. Then one run is captured:
// inputs from pinned memory, every unit, outputs to pinned memory. A run replays it: one call, no
// allocation, and a wait for its end only because whoever asked wants outputs (enqueue() does not
// wait).
#pragma once

#include "runtime/backend.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/fusion.h"
#include "runtime/cuda/generate.h"
#include "runtime/cuda/matmul.h"
#include "runtime/cuda/source.h"

namespace tg::cuda {

/// One row of the kernel table: a generated kernel, what may be tuned of it, and what it uses.
struct KernelRow {
  std::string name;
  Schedule schedule{};
  Tunables tunables;
  int64_t blocks = 1;
  KernelUse use;
  int uses = 0; // units that launch it
};

class CudaExecutable final : public Executable {
public:
  /// `blas` runs products where it can; without it they are generated.
  static Result<std::unique_ptr<CudaExecutable>>
  make(const Plan& plan, const CompileOptions& options, std::unique_ptr<GpuDevice> device,
       CubinCache& cache, std::shared_ptr<const BlasLt> blas = nullptr);

  Result<void> bind_inputs(llvm::ArrayRef<Tensor> inputs) override;
  Result<void> run_once() override;
  Result<std::vector<Tensor>> outputs() const override;
  std::vector<StepInfo> steps() const override;
  MemoryUse memory() const override { return memory_; }
  void profile(bool on) override;

  /// Begins a run and does not wait for it; runs follow each other on this instance's stream.
  Result<void> enqueue() { return device_->replay(graph_, stream_); }
  const std::vector<KernelRow>& kernels() const { return table_; }

private:
  struct Launch {
    Unit unit;
    Function function = 0;
    uint32_t row = 0;                         // of the kernel table
    llvm::SmallVector<PlanValueId, 8> values; // of the parameters
    llvm::SmallVector<Address, 8> parameters;
    const MatmulProblem* problem = nullptr; // of a product by cuBLASLt
  };
  /// A product's plan, null where the library has none, and the candidate that was fastest.
  struct Product {
    std::unique_ptr<MatmulPlan> plan;
    size_t candidate = 0;
  };
  struct Port { // an input or output
    PlanValueId value = kNoValue;
    std::byte* pinned = nullptr;
    int64_t bytes = 0;
  };

  CudaExecutable(const Plan& plan, std::unique_ptr<GpuDevice> device,
                 std::shared_ptr<const BlasLt> blas)
      : plan_(plan), device_(std::move(device)), blas_(std::move(blas)) {}

  Result<void> load(const CompileOptions& options, CubinCache& cache);
  Result<void> choose_kernels(CubinCache& cache);
  Result<uint32_t> kernel_row(Kernel& kernel, CubinCache& cache, Function& function);
  const MatmulProblem* product_of(const PlanStep& step);
  MatmulAddresses product_addresses(const Launch& launch) const;
  Result<void> run_product(const Launch& launch, size_t candidate);
  Result<double> time_product(const Launch& launch, size_t candidate);
  Result<void> choose_algorithms();
  void place_values();
  Result<void> reserve(const CompileOptions& options);
  Result<void> load_weights(const CompileOptions& options);
  Result<void> upload(PlanValueId value, const std::byte* from);
  Result<void> make_ports();
  Result<void> capture();
  Result<void> enqueue_all(bool with_ports);
  Result<void> launch(const Launch& launch);
  Result<void> run_profiled();
  bool resident(PlanValueId value) const;

  const Plan plan_;
  std::unique_ptr<GpuDevice> device_;
  std::vector<Launch> launches_;
  std::vector<KernelRow> table_;
  llvm::StringMap<std::pair<uint32_t, Function>> known_; // kernels by name
  std::shared_ptr<const BlasLt> blas_;                   // outlives the plans that it made
  std::map<MatmulProblem, Product> products_;
  Address workspace_ = 0;
  std::vector<PlanValueId> root_; // of each value: whose memory it is
  std::vector<int64_t> offsets_;  // of each value, in the arena or among what is resident
  std::vector<Address> addresses_;
  std::vector<Port> inputs_, outputs_;
  Stream stream_ = 0;
  Graph graph_ = 0;
  bool plain_io_ = true;
  MemoryUse memory_;

  bool profiling_ = false;
  std::vector<Event> events_;
  std::vector<std::vector<double>> samples_; // of each launch, microseconds
};

} // namespace tg::cuda
