// A plan on a GPU. At load: steps are fused into units and their kernels compiled; weight-only
// steps run on the host, by `ref`, and what runs read of weights is copied once and stays; every
// other value of a run lies in one arena by its lifetime over the units. Then one run is captured:
// inputs from pinned memory, every unit, outputs to pinned memory. A run replays it: one call, no
// allocation, and a wait for its end only because whoever asked wants outputs (enqueue() does not
// wait).
#pragma once

#include "runtime/backend.h"
#include "runtime/cuda/codegen/fusion.h"
#include "runtime/cuda/codegen/generate.h"
#include "runtime/cuda/codegen/source.h"
#include "runtime/cuda/cublas/lower_products.h"
#include "runtime/cuda/cublas/matmul_tune.h"
#include "runtime/cuda/cudnn/steps.h"
#include "runtime/cuda/device/device.h"
#include "runtime/cuda/tuning/graph_time.h"
#include "runtime/cuda/tuning/plan_db.h"
#include "runtime/measure.h"

#include <map>
#include <set>

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

/// Libraries that run steps, and the plans kept for them. Null: what is not there is generated, or
/// measured at each load.
struct ExecutableLibraries {
  std::shared_ptr<const BlasLt> blas = {};
  std::shared_ptr<PlanDb> blas_plans = {};
  std::shared_ptr<const Cudnn> dnn = {};
  std::shared_ptr<PlanDb> dnn_plans = {};
};

/// What memory of a type is filled with, over and over.
using PatternOf = std::function<Result<const Tensor*>(DType)>;

class CudaExecutable final : public Executable {
public:
  static Result<std::unique_ptr<CudaExecutable>>
  make(const Plan& plan, const CompileOptions& options, std::shared_ptr<GpuDevice> device,
       CubinCache& cache, ExecutableLibraries libraries = {});

  Result<void> bind_inputs(llvm::ArrayRef<Tensor> inputs) override;
  Result<void> run_once() override;
  Result<std::vector<Tensor>> outputs() const override;
  std::vector<StepInfo> steps() const override;
  MemoryUse memory() const override { return memory_; }
  void profile(bool on) override;
  double device_us() const override { return profile_.whole_us; }
  /// Steps of a run that turn images into the other layout; nothing where cuDNN chose none.
  std::optional<int> layout_conversions() const { return layout_conversions_; }

  /// Begins a run and does not wait for it; runs follow each other on this instance's stream.
  Result<void> enqueue() { return device_->replay(graph_, stream_); }
  const std::vector<KernelRow>& kernels() const { return table_; }
  /// As it is run: rewritten for the libraries, how its values lie, what is launched.
  const Plan& plan() const { return plan_; }
  StridesOf strides() const { return strides_of(plan_, channels_last_); }
  std::vector<Unit> units() const;

private:
  struct Launch {
    Unit unit;
    Function function = 0;
    uint32_t row = 0;                         // of the kernel table
    llvm::SmallVector<PlanValueId, 8> values; // of the parameters
    llvm::SmallVector<Address, 8> parameters;
    std::optional<MatmulProblem> problem; // of a product by cuBLASLt
    const DnnCall* dnn = nullptr;         // of a step by cuDNN
  };
  struct Port { // an input or output
    PlanValueId value = kNoValue;
    std::byte* pinned = nullptr;
    int64_t bytes = 0;
  };
  enum class Block : uint8_t { Inputs, Weights, Arena }; // allocations
  struct Transfer {
    Address device = 0;
    std::byte* host = nullptr;
    int64_t bytes = 0;
    Block block{};
  };
  struct Ports { // all inputs, or all outputs
    std::vector<Port> each;
    std::vector<Transfer> transfers;
  };

  friend class UnitTimer; // pricing.cpp

  CudaExecutable(const Plan& plan, std::shared_ptr<GpuDevice> device, ExecutableLibraries libraries)
      : plan_(plan), device_(std::move(device)), libraries_(std::move(libraries)) {}

  Result<void> load(const CompileOptions& options, CubinCache& cache);
  /// `cold`: what is chosen by measurement is for operands that come from memory.
  Result<void> prepare(const CompileOptions& options, CubinCache& cache, bool cold);
  void set_parameters();
  std::string unit_key(const Launch& launch) const;
  int64_t scratch_bytes(const Launch& launch) const;
  void lend(Launch& launch, Address scratch);
  Result<void> fill_scratch(const Launch& launch, Address scratch, const PatternOf& pattern);
  Result<void> choose_kernels(CubinCache& cache);
  Result<uint32_t> kernel_row(Kernel& kernel, CubinCache& cache, Function& function);
  void lower(const CompileOptions& options, CubinCache& cache, ScratchTimer& timer);
  void note_rivals(const MatmulTuner& tuner, bool allow_tf32);
  void prepare_convolutions(const CompileOptions& options, CubinCache& cache, ScratchTimer& timer);
  Result<double> time_generated(ScratchTimer& timer, CubinCache& cache, const Plan& plan,
                                const Group& group, const StridesOf& strides);
  const DnnCall* call_of(const PlanStep& step) const {
    auto it = dnn_calls_.find(step.result);
    return it == dnn_calls_.end() ? nullptr : &it->second;
  }
  int64_t zero_bytes() const;
  Result<void> run_dnn(const DnnCall& call);
  std::vector<std::byte> laid_out(PlanValueId value, const std::byte* from) const;
  const std::optional<MatmulProblem>& problem_of(const PlanStep& step) const {
    return problems_[static_cast<size_t>(&step - plan_.steps.data())];
  }
  MatmulAddresses product_addresses(const Launch& launch) const;
  Result<void> run_product(const Launch& launch);
  Block block_of(PlanValueId root) const;
  void find_roots();
  std::vector<PlanValueId> outputs_together() const;
  void place_values();
  Result<void> add_up_memory(const CompileOptions& options);
  Result<void> reserve();
  Result<void> reserve_workspace();
  Result<void> load_weights(const CompileOptions& options);
  Result<void> upload(PlanValueId value, const std::byte* from);
  Result<Ports> make_ports(llvm::ArrayRef<PlanValueId> values);
  Result<void> make_ports();
  Result<void> capture();
  Result<void> enqueue_inputs();
  Result<void> enqueue_outputs();
  Result<void> enqueue_all(bool with_ports);
  Result<void> launch(const Launch& launch);
  Result<void> measure_profile();
  StepInfo step_info(size_t launch) const;
  StepInfo port_info(const char* name, llvm::ArrayRef<Port> ports, double microseconds) const;
  bool resident(PlanValueId value) const;

  Plan plan_;                                          // as it is run: lower_products.h
  std::vector<PlanStepId> origin_;                     // of its steps: which they were
  std::vector<std::optional<MatmulProblem>> problems_; // of its steps: products of cuBLASLt
  std::shared_ptr<GpuDevice> device_;
  std::vector<Launch> launches_;
  std::vector<KernelRow> table_;
  llvm::StringMap<std::pair<uint32_t, Function>> known_; // kernels by name
  ExecutableLibraries libraries_;                        // outlive the plans that they made
  std::map<MatmulProblem, MatmulChoice> products_;
  std::vector<bool> channels_last_; // of each value; of those beyond it false
  std::optional<int> layout_conversions_;
  std::map<PlanValueId, DnnCall> dnn_calls_; // by the step's result
  /// By the step's result: why a step is generated that a library might run.
  std::map<PlanValueId, std::string> not_by_library_;
  Address workspace_ = 0, zeros_ = 0;
  std::vector<PlanValueId> root_; // of each value: whose memory it is
  std::vector<int64_t> offsets_;  // of each value, in the arena or among what is resident
  std::vector<Address> addresses_;
  Ports inputs_, outputs_;
  Stream stream_ = 0;
  Graph graph_ = 0;
  bool plain_io_ = true;
  MemoryUse memory_;
  int64_t run_bytes_ = 0; // that one run touches, of the plan as it was given

  /// Microseconds; measured by the first run after profiling was switched on.
  struct Profile {
    bool on = false, measured = false;
    std::vector<double> launches;
    double inputs = 0, outputs = 0;
    double whole_us = 0;
  };
  Profile profile_;
};

} // namespace tg::cuda
