// A device without hardware, which checks that plan.h and backend.h do not depend
// on the device. Its memory is separate from the host's. A run is recorded once as commands
// on streams (a captured graph) and replayed. The commands of different streams execute
// in a random order for each run, limited only by events. Memory is filled with NaN
// before each run, so that a value that is read too early affects the outputs.
#pragma once

#include "runtime/arena.h"
#include "runtime/execute.h"
#include "runtime/ref/kernels.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>

namespace tg {

class FakeExecutable final : public Executable {
public:
  FakeExecutable(const Plan& plan, uint64_t seed)
      : plan_(plan), recorded_(plan.events), random_(seed) {}

  Result<void> load(const CompileOptions& options) {
    StorageRequest request{
        .bytes = [&](PlanValueId id) { return plan_.values[id].type.bytes(); },
        .view_of = [](PlanStepId) { return kNoValue; },
        .in_place = {},
    };
    Storage storage = plan_storage(plan_, Phase::Run, request);
    ArenaPlan arena = plan_arena(storage.buffers);
    device_ = allocate_aligned(arena.bytes);
    memory_.arena = arena.bytes;
    TG_CHECK(leaves(options));
    for (const PlanStep& step : plan_.steps)
      if (step.phase == Phase::Run)
        address_[step.result] = floats(device_.get() + arena.offsets[storage.buffer[step.result]]);
    for (const PlanStep& step : plan_.steps)
      if (step.phase == Phase::Run) capture(step);
    return {};
  }

  Result<void> bind_inputs(llvm::ArrayRef<Tensor> inputs) override { // host to device
    TG_CHECK(check_inputs(plan_, inputs));
    for (size_t i = 0; i < inputs.size(); ++i)
      std::copy(inputs[i].floats().begin(), inputs[i].floats().end(), address_[plan_.inputs[i]]);
    return {};
  }

  Result<void> run_once() override { // replay
    std::fill_n(floats(device_.get()), memory_.arena / 4, std::numeric_limits<float>::quiet_NaN());
    std::fill(recorded_.begin(), recorded_.end(), false);
    std::vector<size_t> next(plan_.streams, 0);
    for (size_t done = 0; done < commands_.size(); ++done) {
      std::vector<uint32_t> ready;
      for (uint32_t stream = 0; stream < plan_.streams; ++stream)
        if (const Command* command = head(stream, next[stream]); command && may_start(*command))
          ready.push_back(stream);
      if (ready.empty()) return error(Code::device, "the streams wait for each other");
      uint32_t stream = ready[(random_ = random_ * 6364136223846793005u + 1) % ready.size()];
      execute(*head(stream, next[stream]++));
    }
    return {};
  }

  Result<std::vector<Tensor>> outputs() const override { // device to host
    std::vector<Tensor> outputs;
    for (const PlanOutput& output : plan_.outputs) {
      const TensorType& type = plan_.values[output.value].type;
      outputs.push_back(Tensor::of_floats(
          type.shape, {address_.at(output.value), static_cast<size_t>(type.elements())}));
    }
    return outputs;
  }

  std::vector<StepInfo> steps() const override { return {}; }
  MemoryUse memory() const override { return memory_; }
  void profile(bool) override {}

  /// If true, the reader of an event starts before it is recorded, to show that the test detects
  /// it.
  bool ignores_events = false;

private:
  struct Command {
    uint32_t stream;
    std::vector<uint32_t> waits, signals;
    RefStep kernel;
    AlignedBuffer workspace;
  };

  static float* floats(std::byte* memory) { return reinterpret_cast<float*>(memory); }

  Result<void> leaves(const CompileOptions& options) {
    for (PlanValueId id = 0; id < plan_.values.size(); ++id) {
      const PlanValue& v = plan_.values[id];
      if (v.kind == PlanValue::Kind::Temporary) continue;
      TG_TRY(Tensor tensor,
             v.kind == PlanValue::Kind::Input ? Tensor::zeros(v.type) : materialise(v, options));
      held_.push_back(std::move(tensor));
      address_[id] = held_.back().floats().data();
    }
    return {};
  }

  void capture(const PlanStep& step) {
    commands_.push_back({step.stream, step.waits, step.signals, RefStep(plan_, step), {}});
    Command& command = commands_.back();
    command.workspace = allocate_aligned(command.kernel.workspace_bytes());
    auto bytes = [&](PlanValueId id) { return reinterpret_cast<std::byte*>(address_.at(id)); };
    std::vector<const std::byte*> operands;
    for (PlanValueId id : step.operands) operands.push_back(id == kNoValue ? nullptr : bytes(id));
    command.kernel.bind(operands, bytes(step.result), command.workspace.get());
  }

  const Command* head(uint32_t stream, size_t position) const {
    for (const Command& command : commands_)
      if (command.stream == stream && position-- == 0) return &command;
    return nullptr;
  }

  bool may_start(const Command& command) const {
    return ignores_events ||
           llvm::all_of(command.waits, [&](uint32_t event) { return recorded_[event]; });
  }

  void execute(const Command& command) {
    command.kernel.run();
    for (uint32_t event : command.signals) recorded_[event] = true;
  }

  const Plan plan_;
  std::map<PlanValueId, float*> address_;
  std::deque<Tensor> held_;
  AlignedBuffer device_;
  std::deque<Command> commands_;
  std::vector<bool> recorded_;
  MemoryUse memory_;
  uint64_t random_;
};

} // namespace tg
