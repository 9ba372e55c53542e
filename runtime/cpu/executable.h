// The executable that compile() returns: a plan that is lowered, placed in memory and loaded.
//
// Invariant: after make(), every kernel of the run program is bound, and run_once()
// only calls kernels. If a NaN occurs, it once makes the kernels that keep it.
#pragma once

#include "runtime/cpu/lowering/lowering.h"
#include "runtime/execute.h"

namespace tg::cpu {

class CpuExecutable final : public Executable {
public:
  /// Errors: `no_kernel`, `memory_limit` before any large allocation, `device`,
  /// and those of the weight source.
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
  /// Large lent inputs are read in place, and large outputs are written directly
  /// to their final memory.
  using Executable::run;
  Result<std::vector<Tensor>> run(llvm::ArrayRef<Tensor> inputs,
                                  std::vector<Tensor> spare) override;
  std::vector<StepInfo> steps() const override;
  MemoryUse memory() const override { return memory_; }
  void profile(bool on) override { clock_.enable(on); }

private:
  explicit CpuExecutable(const Plan& plan) : plan_(std::make_unique<const Plan>(plan)) {}

  Result<void> load(const CompileOptions& options, Products products, TileSchedules* schedules);
  /// With `exact`, NaN stays NaN. `denormals`, if given, gets the ops that compute
  /// on denormal numbers.
  Result<void> run_program(bool exact, std::vector<size_t>* denormals = nullptr);
  Result<void> run_once(std::vector<size_t>* denormals);
  /// Determines the buffers that outlive the load program and offsets in the arena,
  /// and checks the memory limit.
  Result<void> reserve(const Lowering& l);
  Result<void> run_load_program(Lowering& l);
  /// Names the contents that are or may be shared with other executables:
  /// large contents that depend on weights alone, unchanged or copied once.
  Result<void> name_shared(const Lowering& l);
  /// The same for contents that the load program packs, of a weight or of a value computed
  /// from weights.
  Result<void> name_packed(const Lowering& l);
  /// Returns true if another executable has already made the result of this op.
  bool is_made(const Lowering& l, const Op& op);
  /// Returns, for each op of the load program, true if a result that is still missing depends
  /// on it.
  std::vector<bool> needed_at_load(const Lowering& l);
  /// Provides contents, or memory, for a buffer outside the arena that has none yet.
  Result<void> ensure(const Lowering& l, BufferId buffer);
  Result<void> ensure_shared(const Lowering& l, BufferId buffer);
  /// Frees a buffer that is no longer read.
  void release(BufferId buffer);
  /// Not for buffers that stay, which may be far smaller than the spare memory.
  Tensor spare_for(BufferId buffer) {
    return lasting_[buffer] ? Tensor() : std::exchange(spare_, Tensor());
  }
  /// Finds buffers that are an output and no other value of that size;
  /// their memory may be elsewhere.
  void find_output_buffers(const Lowering& l);
  /// Makes runs use this memory for these buffers: binds the kernels that use them.
  Result<void> use(llvm::ArrayRef<std::pair<BufferId, std::byte*>> memory);
  void copy_output(size_t output, std::byte* to) const;
  /// Copies elements to the place of an input.
  void bind(const Place& to, const Place& from, const std::byte* elements, int64_t bytes);
  Result<void> place_run_buffers(const Lowering& l);
  Addresses addresses() const { return {addresses_, scratch_.get()}; }
  /// Binds an op's kernel to its addresses. Errors: `device`; `internal` if it reads
  /// or writes places of another dtype than its own.
  Result<void> bind(Op& op) const;

  std::unique_ptr<const Plan> plan_;
  std::shared_ptr<const ExternKernels> externs_;
  StopToken stop_;
  EngineHandle engine_;
  StreamHandle stream_;
  std::shared_ptr<ThreadPool> pool_ = ThreadPool::shared();
  std::vector<Place> places_; // of each value of the plan

  // For each buffer: its memory, if it has its own (unchanged weights are tensors)
  // or shares it with other executables; its offset, if it is in the arena or in `packed_`;
  // its address (null after it is freed); and whether runs read it.
  std::vector<AlignedBuffer> owned_;
  std::vector<std::shared_ptr<Tensor>> tensors_;
  std::vector<std::string> shared_keys_; // "": not shared
  std::vector<SharedWeights::Contents> shared_;
  std::vector<int64_t> offsets_;
  std::vector<std::byte*> addresses_;
  std::vector<bool> lasting_;
  std::vector<std::optional<BufferId>> output_buffers_; // by output

  // Results of the load program that runs read are adjacent in `packed_`:
  // one large block gets huge pages (allocate_aligned), small blocks would not.
  AlignedBuffer arena_, scratch_, packed_;
  int64_t packed_bytes_ = 0;
  Tensor spare_; // during loading: the largest released weight, for reuse
  Program program_;
  size_t repeated_runs_ = 0;
  bool guarded_ = false; // an op may lose a NaN (nan_guard.h)
  StepClock clock_;
  MemoryUse memory_;
};

} // namespace tg::cpu
