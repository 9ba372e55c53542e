#include "runtime/cuda/executable.h"

#include "runtime/execute.h"
#include "runtime/ref/kernels.h"

#include <cstring>

namespace tg::cuda {

namespace {

/// Results of the load phase, computed on the host and freed after their last use at load.
class HostLoad {
public:
  HostLoad(const Plan& plan, const CompileOptions& options) : plan_(plan), options_(options) {}

  Result<const std::byte*> value(PlanValueId id) {
    auto it = memory_.find(id);
    if (it != memory_.end()) return std::as_const(it->second).data();
    TG_TRY(Tensor tensor, materialise(plan_.values[id], options_));
    return std::as_const(memory_[id] = std::move(tensor)).data();
  }

  Result<void> run(const PlanStep& step) {
    RefStep kernel(plan_, step, options_.externs.get());
    TG_TRY(Tensor result, Tensor::zeros(plan_.values[step.result].type));
    std::vector<const std::byte*> operands;
    for (PlanValueId id : step.operands) {
      const std::byte* operand = nullptr;
      if (id != kNoValue) {
        TG_TRY(operand, value(id));
      }
      operands.push_back(operand);
    }
    TG_CHECK(kernel.run_alone(operands, result.data()));
    memory_[step.result] = std::move(result);
    return {};
  }

  void drop(PlanValueId id) { memory_.erase(id); }

private:
  const Plan& plan_;
  const CompileOptions& options_;
  std::map<PlanValueId, Tensor> memory_;
};

/// Counts the bytes that a network touches as the search does (measured_cost.h);
/// this decides how cold its prices are.
int64_t run_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const PlanValue& value : plan.values) {
    bool made = value.kind == PlanValue::Kind::Temporary;
    const PlanStep* step = made ? &plan.steps[value.defined_by] : nullptr;
    if (step && (step->phase == Phase::Load || op_info(step->op).has(Trait::View))) continue;
    bytes = add_bytes(bytes, value.type.bytes());
  }
  return bytes;
}

} // namespace

Result<std::unique_ptr<CudaExecutable>> CudaExecutable::make(const Plan& plan,
                                                             const CompileOptions& options,
                                                             std::shared_ptr<GpuDevice> device,
                                                             CubinCache& cache,
                                                             ExecutableLibraries libraries) {
  TG_TRY(Stream stream, device->make_stream());
  int64_t bytes = run_bytes(plan);
  std::unique_ptr<CudaExecutable> executable(new CudaExecutable(device, stream, bytes));
  bool cold = bytes > device->l2_bytes();
  TG_TRY(executable->prepared_, PreparedPlan::make(plan, options, std::move(device), cache,
                                                   std::move(libraries), stream, cold));
  TG_CHECK(executable->load(options));
  return executable;
}

Result<void> CudaExecutable::load(const CompileOptions& options) {
  plain_io_ = options.io_layout == IoLayout::Plain;
  TG_CHECK(prepared_->reserve());
  TG_CHECK(make_ports());
  TG_CHECK(load_weights(options));
  TG_CHECK(enqueue_all(plain_io_)); // first runs load kernels, which a capture must not
  TG_CHECK(device_->synchronise(stream_));
  return capture();
}

std::vector<Unit> CudaExecutable::units() const {
  std::vector<Unit> units;
  for (const Launch& launch : prepared_->launches()) units.push_back(launch.unit);
  return units;
}

Result<void> CudaExecutable::upload(PlanValueId value, const std::byte* from) {
  std::vector<std::byte> moved = prepared_->steps().laid_out(value, from);
  if (!moved.empty()) from = moved.data();
  TG_CHECK(device_->copy_in(prepared_->memory().address(value), from,
                            plan().values[value].type.bytes(), stream_));
  return device_->synchronise(stream_); // `from` is freed after this
}

Result<void> CudaExecutable::load_weights(const CompileOptions& options) {
  const Plan& plan = prepared_->plan();
  const ValueMemory& memory = prepared_->memory();
  HostLoad host(plan, options);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.phase != Phase::Load) continue;
    TG_CHECK(host.run(step));
    for (PlanValueId id : step.operands)
      if (id != kNoValue && plan.values[id].last_use == s && !memory.is_loaded(id)) host.drop(id);
  }
  for (PlanValueId id = 0; id < plan.values.size(); ++id) {
    if (!memory.is_loaded(id)) continue;
    TG_TRY(const std::byte* from, host.value(id));
    TG_CHECK(upload(id, from));
    host.drop(id);
  }
  return {};
}

Result<void> CudaExecutable::make_ports() {
  std::vector<PlanValueId> results;
  for (const PlanOutput& output : plan().outputs) results.push_back(output.value);
  const ValueMemory& memory = prepared_->memory();
  TG_TRY(inputs_, Ports::make(*device_, plan(), memory, plan().inputs));
  TG_TRY(outputs_, Ports::make(*device_, plan(), memory, results));
  return {};
}

Result<void> CudaExecutable::enqueue_all(bool with_ports) {
  if (with_ports) TG_CHECK(inputs_.copy_in(*device_, stream_));
  for (const Launch& each : prepared_->launches()) TG_CHECK(prepared_->launch(each));
  return with_ports ? outputs_.copy_out(*device_, stream_) : Result<void>();
}

Result<void> CudaExecutable::capture() {
  TG_CHECK(device_->begin_capture(stream_));
  Result<void> enqueued = enqueue_all(plain_io_);
  auto graph = device_->end_capture(stream_); // in any case: the stream must not stay captured
  if (!enqueued) return enqueued;
  if (!graph) return std::move(graph.error());
  graph_ = *graph;
  return {};
}

Result<void> CudaExecutable::bind_inputs(llvm::ArrayRef<Tensor> inputs) {
  TG_CHECK(check_inputs(plan(), inputs));
  TG_CHECK(device_->synchronise(stream_)); // no run reads them any more
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Ports::Port& port = inputs_.each()[i];
    std::memcpy(port.pinned, inputs[i].data(), static_cast<size_t>(port.bytes));
    if (!plain_io_) TG_CHECK(upload(port.value, port.pinned));
  }
  return {};
}

Result<void> CudaExecutable::run_once() {
  if (profile_.on && !profile_.measured) TG_CHECK(measure_profile());
  TG_CHECK(enqueue());
  return device_->synchronise(stream_);
}

Result<std::vector<Tensor>> CudaExecutable::outputs() const {
  std::vector<Tensor> outputs;
  for (const Ports::Port& port : outputs_.each()) {
    if (!plain_io_) {
      Address at = prepared_->memory().address(port.value);
      TG_CHECK(device_->copy_out(port.pinned, at, port.bytes, stream_));
      TG_CHECK(device_->synchronise(stream_));
    }
    TG_TRY(Tensor tensor, Tensor::zeros(plan().values[port.value].type));
    std::memcpy(tensor.data(), port.pinned, static_cast<size_t>(port.bytes));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

} // namespace tg::cuda
