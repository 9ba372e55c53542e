// A plan on a GPU. At load, steps are fused into units and their kernels compiled
// (prepared_plan.h). Weight-only steps run on the host, by `ref`,
// and the weights and results that runs read are copied once and stay on the device
// (value_memory.h).
// Then one run is captured: inputs from pinned memory (Ports), every unit,
// outputs to pinned memory. A run replays the capture: one call and no allocation.
// It waits for the end only because the caller needs the outputs; enqueue() does not wait.
#pragma once

#include "runtime/cuda/prepared_plan.h"
#include "runtime/cuda/value_memory.h"

namespace tg::cuda {

class CudaExecutable final : public Executable {
public:
  static Result<std::unique_ptr<CudaExecutable>>
  make(const Plan& plan, const CompileOptions& options, std::shared_ptr<GpuDevice> device,
       CubinCache& cache, ExecutableLibraries libraries = {});

  Result<void> bind_inputs(llvm::ArrayRef<Tensor> inputs) override;
  Result<void> run_once() override;
  Result<std::vector<Tensor>> outputs() const override;
  std::vector<StepInfo> steps() const override;
  MemoryUse memory() const override { return prepared_->memory().use(); }
  void profile(bool on) override;
  double device_us() const override { return profile_.whole_us; }
  /// The number of steps of a run that convert images to the other layout;
  /// nullopt if cuDNN chose none.
  std::optional<int> layout_conversions() const { return prepared_->steps().layout_conversions(); }

  /// Begins a run without waiting for it. Runs are ordered on this instance's stream.
  Result<void> enqueue() { return device_->replay(graph_, stream_); }
  const std::vector<KernelRow>& kernels() const { return prepared_->kernels().rows(); }
  /// The plan as it is run: rewritten for the libraries, with the layout of its values
  /// and its launches.
  const Plan& plan() const { return prepared_->plan(); }
  StridesOf strides() const { return prepared_->steps().strides(); }
  std::vector<Unit> units() const;

private:
  CudaExecutable(std::shared_ptr<GpuDevice> device, Stream stream, int64_t run_bytes)
      : device_(std::move(device)), stream_(stream), run_bytes_(run_bytes) {}

  Result<void> load(const CompileOptions& options);
  Result<void> load_weights(const CompileOptions& options);
  Result<void> upload(PlanValueId value, const std::byte* from);
  Result<void> make_ports();
  Result<void> enqueue_all(bool with_ports);
  Result<void> capture();
  Result<void> measure_profile();

  std::shared_ptr<GpuDevice> device_;
  Stream stream_;
  int64_t run_bytes_; // that one run touches, of the original plan
  std::unique_ptr<PreparedPlan> prepared_;
  Ports inputs_, outputs_;
  Graph graph_ = 0;
  bool plain_io_ = true;

  /// Times in microseconds, measured by the first run after profiling was switched on.
  struct Profile {
    bool on = false, measured = false;
    std::vector<double> launches;
    double inputs = 0, outputs = 0;
    double whole_us = 0;
  };
  Profile profile_;
};

} // namespace tg::cuda
