#include "runtime/ref/backend.h"

#include "runtime/arena.h"
#include "runtime/execute.h"
#include "runtime/kernel_table.h"
#include "runtime/ref/kernels.h"

#include <llvm/ADT/DenseSet.h>

#include <cstring>

namespace tg {

namespace {

/// Returns true if the result is the operand's memory. Every other operator is a RefStep:
/// semantics.h covers every row of ops.def.
bool is_view(OpKind op) { return op == OpKind::Identity || op == OpKind::Reshape; }

StorageRequest storage_request(const Plan& plan) {
  return {
      .bytes = [&plan](PlanValueId id) { return plan.values[id].type.bytes(); },
      .view_of =
          [&plan](PlanStepId s) {
            const PlanStep& step = plan.steps[s];
            return is_view(step.op) ? step.operands[0] : kNoValue;
          },
      .in_place = {},
  };
}

class RefExecutable final : public Executable {
public:
  explicit RefExecutable(const Plan& plan)
      : plan_(std::make_unique<const Plan>(plan)), memory_of_(plan.values.size()),
        held_(plan.values.size()) {}

  Result<void> load(const CompileOptions& options) {
    TG_CHECK(check_externs(*plan_, options));
    externs_ = options.externs;
    stop_ = options.stop;
    StorageRequest request = storage_request(*plan_);
    Storage at_load = plan_storage(*plan_, Phase::Load, request);
    Storage at_run = plan_storage(*plan_, Phase::Run, request);
    ArenaPlan load_arena = plan_arena(at_load.buffers), run_arena = plan_arena(at_run.buffers);
    TG_CHECK(reserve(options, at_load, load_arena.bytes, run_arena.bytes));
    TG_CHECK(fill_leaves(options));
    TG_CHECK(run_load_phase(at_load, load_arena));
    TG_TRY(arena_, allocate(run_arena.bytes));
    place(at_run, run_arena, arena_.get(), Phase::Run);
    prepare(at_run, Phase::Run, steps_, workspace_.get());
    drop_unneeded();
    clock_ = StepClock(steps_.size());
    return {};
  }

  Result<void> bind_inputs(llvm::ArrayRef<Tensor> inputs) override {
    TG_CHECK(check_inputs(*plan_, inputs));
    for (size_t i = 0; i < inputs.size(); ++i)
      std::memcpy(memory_of_[plan_->inputs[i]], inputs[i].data(),
                  static_cast<size_t>(inputs[i].bytes()));
    return {};
  }

  Result<void> run_once() override {
    clock_.start();
    for (size_t i = 0; i < steps_.size(); ++i) {
      TG_CHECK(check_stop(stop_));
      if (steps_[i].kernel) steps_[i].kernel->run();
      clock_.stop(i);
    }
    return {};
  }

  Result<std::vector<Tensor>> outputs() const override {
    std::vector<Tensor> outputs;
    for (const PlanOutput& output : plan_->outputs) {
      TG_TRY(Tensor tensor, Tensor::zeros(plan_->values[output.value].type));
      std::memcpy(tensor.data(), memory_of_[output.value], static_cast<size_t>(tensor.bytes()));
      outputs.push_back(std::move(tensor));
    }
    return outputs;
  }

  std::vector<StepInfo> steps() const override {
    std::vector<StepInfo> infos;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const PlanStep& step = plan_->steps[steps_[i].id];
      OpWork work = step_work(*plan_, step);
      infos.push_back(
          {.step = steps_[i].id,
           .name = std::string(op_info(step.op).name),
           .result = plan_->values[step.result].type.text(),
           .implementation = steps_[i].kernel ? "ref" : "view",
           .flops = work.flops,
           .bytes = work.bytes,
           .workspace_bytes = steps_[i].kernel ? steps_[i].kernel->workspace_bytes() : 0,
           .measured_us = clock_.median_us(i)});
    }
    return infos;
  }

  MemoryUse memory() const override { return memory_; }
  void profile(bool on) override { clock_.enable(on); }

private:
  struct Step {
    PlanStepId id = 0;
    std::optional<RefStep> kernel; // none for a view
  };

  /// Checks the total memory before any of it is allocated.
  Result<void> reserve(const CompileOptions& options, const Storage& at_load, int64_t load_bytes,
                       int64_t run_bytes) {
    memory_ = resident_bytes(*plan_);
    for (const PlanStep& step : plan_->steps)
      memory_.workspace = std::max(memory_.workspace, RefStep(*plan_, step).workspace_bytes());
    for (PlanValueId id = 0; id < plan_->values.size(); ++id)
      if (outlives_load(at_load, id))
        memory_.weights = add_bytes(memory_.weights, align_up(plan_->values[id].type.bytes()));
    memory_.arena = std::max(load_bytes, run_bytes);
    TG_CHECK(check_memory(*plan_, memory_, options.memory_limit_bytes));
    memory_.arena = run_bytes;
    TG_TRY(workspace_, allocate(memory_.workspace));
    return {};
  }

  /// Returns true for a result of the load phase that runs read and that has its own memory.
  bool outlives_load(const Storage& at_load, PlanValueId id) const {
    const PlanValue& v = plan_->values[id];
    return v.kind == PlanValue::Kind::Temporary && v.pinned && at_load.root[id] == id &&
           plan_->steps[v.defined_by].phase == Phase::Load;
  }

  Result<void> fill_leaves(const CompileOptions& options) {
    for (PlanValueId id = 0; id < plan_->values.size(); ++id) {
      const PlanValue& v = plan_->values[id];
      if (v.kind == PlanValue::Kind::Temporary) continue;
      TG_TRY(held_[id],
             v.kind == PlanValue::Kind::Input ? Tensor::zeros(v.type) : materialise(v, options));
      memory_of_[id] = read_only(held_[id]);
    }
    return {};
  }

  Result<void> run_load_phase(const Storage& storage, const ArenaPlan& arena) {
    TG_TRY(AlignedBuffer temporaries, allocate(arena.bytes));
    for (PlanValueId id = 0; id < plan_->values.size(); ++id) {
      if (!outlives_load(storage, id)) continue;
      TG_TRY(held_[id], Tensor::zeros(plan_->values[id].type));
      memory_of_[id] = held_[id].data();
    }
    place(storage, arena, temporaries.get(), Phase::Load);
    std::vector<Step> steps;
    prepare(storage, Phase::Load, steps, workspace_.get());
    for (const Step& step : steps) {
      TG_CHECK(check_stop(stop_));
      if (step.kernel) step.kernel->run();
    }
    return {};
  }

  /// Assigns the addresses of the results of one phase.
  void place(const Storage& storage, const ArenaPlan& arena, std::byte* base, Phase phase) {
    for (const PlanStep& step : plan_->steps) {
      if (step.phase != phase) continue;
      uint32_t buffer = storage.buffer[step.result];
      PlanValueId root = storage.root[step.result];
      if (buffer != kNoBuffer)
        memory_of_[step.result] = base + arena.offsets[buffer];
      else if (root != step.result)
        memory_of_[step.result] = memory_of_[root];
    }
  }

  void prepare(const Storage& storage, Phase phase, std::vector<Step>& steps,
               std::byte* workspace) {
    for (PlanStepId s = 0; s < plan_->steps.size(); ++s) {
      const PlanStep& step = plan_->steps[s];
      if (step.phase != phase) continue;
      steps.push_back({s, std::nullopt});
      if (storage.is_view[s]) continue;
      llvm::SmallVector<const std::byte*, 4> operands;
      for (PlanValueId id : step.operands)
        operands.push_back(id == kNoValue ? nullptr : memory_of_[id]);
      steps.back().kernel.emplace(*plan_, step, externs_.get());
      steps.back().kernel->bind(operands, memory_of_[step.result], workspace);
    }
  }

  /// Frees the weights that only the load phase read. A value that is still needed keeps the owner
  /// of its memory: itself, or the value of which it is a view.
  void drop_unneeded() {
    llvm::DenseSet<const std::byte*> needed;
    for (const PlanStep& step : plan_->steps)
      for (PlanValueId id : step.operands)
        if (id != kNoValue && step.phase == Phase::Run) needed.insert(memory_of_[id]);
    for (PlanValueId id = 0; id < plan_->values.size(); ++id) {
      const PlanValue& v = plan_->values[id];
      if (v.is_output || v.kind == PlanValue::Kind::Input) needed.insert(memory_of_[id]);
    }
    for (Tensor& tensor : held_) {
      if (tensor.type().is_none() || needed.contains(read_only(tensor))) continue;
      memory_.weights -= align_up(tensor.bytes());
      tensor = {};
    }
  }

  std::unique_ptr<const Plan> plan_; // steps_ point into it
  std::shared_ptr<const ExternKernels> externs_;
  StopToken stop_;
  std::vector<std::byte*> memory_of_; // of each value; in held_ or arena_
  std::vector<Tensor> held_;          // inputs, weights, constants and load results that runs read
  AlignedBuffer arena_, workspace_;
  std::vector<Step> steps_;
  StepClock clock_;
  MemoryUse memory_;
};

class RefBackend final : public Backend {
public:
  std::string name() const override { return "ref"; }
  std::string description() const override { return "reference loops, one thread"; }
  bool supports(const Plan& plan, const PlanStep& step) const override {
    (void)plan;
    return is_executable(step.op);
  }
  Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                              const CompileOptions& options) const override {
    assert(verify(plan).empty());
    auto executable = std::make_unique<RefExecutable>(plan);
    TG_CHECK(executable->load(options));
    return std::unique_ptr<Executable>(std::move(executable));
  }
};

} // namespace

std::unique_ptr<Backend> make_ref_backend() { return std::make_unique<RefBackend>(); }

} // namespace tg
