// A plan lowered, placed in memory and loaded: what compile() returns.
//
// Invariant: after make(), every kernel of the run program is bound, and run_once() calls kernels
// and nothing else; where a NaN turns up, it makes those that keep it, once.
#pragma once

#include "runtime/cpu/lowering/lowering.h"
#include "runtime/execute.h"

namespace tg::cpu {

class CpuExecutable final : public Executable {
public:
  /// Errors: `no_kernel`, `memory_limit` before anything large is allocated, `device`, and those of
  /// the weight source.
  static Result<std::unique_ptr<Executable>> make(const Plan& plan, const CompileOptions& options,
                                                  Products products = Products::Chosen,
                                                  TileSchedules* schedules = nullptr);

  Result<void> bind_inputs(llvm::ArrayRef<Tensor> inputs) override;
  Result<void> bind_views(llvm::ArrayRef<TensorView> inputs) override;
  Result<void> run_once() override;
  Result<std::vector<size_t>> run_watching_denormals() override;
  size_t repeated_runs() const override { return repeated_runs_; }
  Result<std::vector<Tensor>> outputs() const override;
  Result<void> copy_outputs(llvm::ArrayRef<std::byte*> to) const override;
  Result<void> bind_next(llvm::ArrayRef<TensorView> inputs,
                         llvm::ArrayRef<std::optional<size_t>> outputs) override;
  /// Large inputs that are lent are read where they lie, large outputs written where they stay.
  using Executable::run;
  Result<std::vector<Tensor>> run(llvm::ArrayRef<Tensor> inputs,
                                  std::vector<Tensor> spare) override;
  std::vector<StepInfo> steps() const override;
  MemoryUse memory() const override { return memory_; }
  void profile(bool on) override { clock_.enable(on); }

private:
  explicit CpuExecutable(const Plan& plan) : plan_(std::make_unique<const Plan>(plan)) {}

  Result<void> load(const CompileOptions& options, Products products, TileSchedules* schedules);
  /// NaN stays NaN where it is `exact`. `denormals`, where it is given, gets the ops that compute
  /// on such numbers.
  Result<void> run_program(bool exact, std::vector<size_t>* denormals = nullptr);
  Result<void> run_once(std::vector<size_t>* denormals);
  /// Which buffers outlive the load program, offsets in the arena, and the check against the limit.
  Result<void> reserve(const Lowering& l);
  Result<void> run_load_program(Lowering& l);
  /// Names what is, or may be, shared with other executables: large contents that weights alone
  /// decide, as they came or copied once.
  Result<void> name_shared(const Lowering& l);
  /// The same of what the load program packs, of a weight or of what it computes from weights.
  Result<void> name_packed(const Lowering& l);
  /// Whether another executable has made what this op makes.
  bool is_made(const Lowering& l, const Op& op);
  /// Returns, for each op of the load program, true if a result that is still missing depends on
  /// it.
  std::vector<bool> needed_at_load(const Lowering& l);
  /// Contents, or room, for a buffer outside the arena that has none yet.
  Result<void> ensure(const Lowering& l, BufferId buffer);
  Result<void> ensure_shared(const Lowering& l, BufferId buffer);
  /// Of what nothing reads any more.
  void release(BufferId buffer);
  /// Not for what stays: it may be far smaller.
  Tensor spare_for(BufferId buffer) {
    return lasting_[buffer] ? Tensor() : std::exchange(spare_, Tensor());
  }
  /// Buffers that are an output and nothing else of its size, which may lie elsewhere.
  void find_output_buffers(const Lowering& l);
  /// Has runs use this memory for these buffers: tells the kernels that do.
  Result<void> use(llvm::ArrayRef<std::pair<BufferId, std::byte*>> memory);
  void copy_output(size_t output, std::byte* to) const;
  /// Elements into the place of an input.
  void bind(const Place& to, const Place& from, const std::byte* elements, int64_t bytes);
  Result<void> place_run_buffers(const Lowering& l);
  Addresses addresses() const { return {addresses_, scratch_.get()}; }
  /// Gives an op's kernel its addresses. Errors: `device`; `internal` where it reads or writes
  /// places of another dtype than its own.
  Result<void> bind(Op& op) const;

  std::unique_ptr<const Plan> plan_;
  std::shared_ptr<const ExternKernels> externs_;
  StopToken stop_;
  EngineHandle engine_;
  StreamHandle stream_;
  std::shared_ptr<ThreadPool> pool_ = ThreadPool::shared();
  std::vector<Place> places_; // of each value of the plan

  // Of each buffer: its memory if it is its own (weights as they came are tensors) or shared with
  // other executables, its offset if it lies in the arena or in `packed_`, its address (null where
  // it is gone), and whether runs read it.
  std::vector<AlignedBuffer> owned_;
  std::vector<std::shared_ptr<Tensor>> tensors_;
  std::vector<std::string> shared_keys_; // "": not shared
  std::vector<SharedWeights::Contents> shared_;
  std::vector<int64_t> offsets_;
  std::vector<std::byte*> addresses_;
  std::vector<bool> lasting_;
  std::vector<std::optional<BufferId>> output_buffers_; // by output

  // Results of the load program that runs read lie side by side in `packed_`: one large block gets
  // huge pages (allocate_aligned), small ones would not.
  AlignedBuffer arena_, scratch_, packed_;
  int64_t packed_bytes_ = 0;
  Tensor spare_; // while loading: the largest weight that was released, for the next
  Program program_;
  size_t repeated_runs_ = 0;
  bool guarded_ = false; // an op may lose a NaN (nan_guard.h)
  StepClock clock_;
  MemoryUse memory_;
};

} // namespace tg::cpu
