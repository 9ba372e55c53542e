// What a backend is: it says which steps it can run, and turns a plan into an executable. All
// decisions that depend on the device (layouts, kernels, offsets in the arena, reorders) are taken
// in compile(); run_once() then only calls kernels: no allocation, no lookup, no failure but the
// device's own.
//
// A step that a backend has no kernel for is run by `ref`; the executable records it in
// StepInfo::implementation ("ref:softmax"), and tests reject it where something better exists.
#pragma once

#include "lang/core/kernel_pattern.h"
#include "lang/core/support/stop.h"
#include "runtime/extern_kernels.h"
#include "runtime/plan.h"
#include "runtime/tensor.h"

#include <llvm/ADT/StringMap.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace tg {

/// Contents that several executables of one backend only read: weights as they came, or as they
/// were packed. Graphs that are loaded beside each other on the same weights, as a source and what
/// a search found, would hold a large network twice, and making and packing it takes longer than
/// many runs.
///
/// Invariant: contents are never written once they are here, and last as long as an executable
/// holds them. For any threads.
class SharedWeights {
public:
  using Contents = std::shared_ptr<std::byte>;
  /// How weights are told apart.
  enum class Naming : uint8_t {
    /// By path: for executables made with the same CompileOptions.
    Paths,
    /// By their elements, which are read and hashed before each is loaded: for any executables.
    Contents,
  };

  explicit SharedWeights(Naming naming = Naming::Paths) : naming_(naming) {}
  /// Returns the weights shared by all programs of this process, by contents, until released.
  static std::shared_ptr<SharedWeights> of_process();

  Naming naming() const { return naming_; }
  /// Returns what was made in the way that `key` says; null where no executable holds it.
  Contents find(llvm::StringRef key) const;
  void add(llvm::StringRef key, const Contents& contents, int64_t bytes);
  /// Returns the bytes of all contents that executables hold, each counted once.
  int64_t bytes() const;

private:
  struct Made {
    std::weak_ptr<std::byte> contents;
    int64_t bytes = 0;
  };
  void forget_released();

  Naming naming_;
  mutable std::mutex mutex_;
  llvm::StringMap<Made> made_;
  size_t forget_at_ = 64; // entries
};

/// Gives the contents of a weight (`value.name` is its path, `value.type` its type). Errors are
/// passed on; the type of the result must be the value's. Its elements may be lent, at any address
/// (Tensor::lent).
using WeightSource = std::function<Result<Tensor>(const PlanValue& value)>;

/// Which layout inputs and outputs have while run_once() works.
enum class IoLayout : uint8_t {
  /// Row-major, as the model says: a run converts where the backend wants another. What a user
  /// sees and what networks are timed with.
  Plain,
  /// The backend's own, as between two operators inside a network: bind_inputs() and outputs()
  /// convert, run_once() does not. What single operators are timed with.
  Native,
};

struct CompileOptions {
  int threads = 1;
  /// Weights, arena, workspaces, inputs and outputs together. 0: no limit.
  int64_t memory_limit_bytes = 0;
  /// For weights that no source gives.
  uint64_t seed = 1;
  /// Empty: random weights from (seed, path), random.h.
  WeightSource weights = {};
  /// Null: the executable shares its weights with no other. (The cpu backend.)
  std::shared_ptr<SharedWeights> shared = {};
  /// Uses all threads however short a run or step is; for tests. (The cpu backend.)
  bool share_short_work = false;
  IoLayout io_layout = IoLayout::Plain;
  /// f32 products and convolutions may round their operands to tf32 (cuda).
  bool allow_tf32 = false;
  /// Of the operators that the program declares;
  /// null where there are none. The executable keeps it.
  std::shared_ptr<const ExternKernels> externs = {};
  /// Ends loading, and runs on the host, between two steps. The executable keeps it.
  StopToken stop = {};
};

/// One thing that a run does: a step of the plan, or a reorder that the backend put in.
struct StepInfo {
  PlanStepId step = kNever;   // kNever for what the backend put in
  std::string name;           // "conv2d", "reorder"; for people
  std::string result;         // type of the result
  std::string implementation; // "ref", "brgconv:avx512_core", "fused_map:avx512", "view"
  /// What a kernel of our own takes of the device: "12 x 128 threads, 40 registers, 512 B shared".
  std::string uses = {};
  double flops = 0;
  double bytes = 0; // read and written at least once, in the layouts chosen
  int64_t workspace_bytes = 0;
  /// Median over the runs since profiling was switched on; 0 while it is off.
  double measured_us = 0;
};

/// What an executable holds, in bytes.
struct MemoryUse {
  int64_t weights = 0; // weights, constants and results of the load phase, in their final layout
  int64_t arena = 0;   // temporaries of a run
  int64_t workspace = 0;
  int64_t io = 0;
  int64_t total() const { return weights + arena + workspace + io; }
};

/// A plan made ready on one backend. The load phase has run. Not for two threads at once.
class Executable {
public:
  virtual ~Executable() = default;

  /// Copies inputs in, in the order of Plan::inputs.
  /// Errors: `bad_input_value` if number or types are not the plan's.
  virtual Result<void> bind_inputs(llvm::ArrayRef<Tensor> inputs) = 0;
  /// The same from memory of the caller, aligned or not, which it need not keep.
  virtual Result<void> bind_views(llvm::ArrayRef<TensorView> inputs) {
    std::vector<Tensor> tensors;
    for (const TensorView& input : inputs) {
      TG_TRY(Tensor tensor, Tensor::zeros(*input.type));
      std::memcpy(tensor.data(), input.data, static_cast<size_t>(tensor.bytes()));
      tensors.push_back(std::move(tensor));
    }
    return bind_inputs(tensors);
  }
  /// One run on the bound inputs (zeros until they are bound). Allocates nothing.
  /// Errors: `device`; `limit_no_answer` where it was stopped, and outputs are of no run then.
  virtual Result<void> run_once() = 0;
  /// run_once(), a little slower, and which of steps(), by their places, computed on denormal
  /// numbers, on which processors may be slow (cpu/denormals.cpp). None where a backend cannot
  /// tell.
  virtual Result<std::vector<size_t>> run_watching_denormals() {
    if (Result<void> run = run_once(); !run) return std::move(run.error());
    return std::vector<size_t>();
  }
  /// How many runs so far were done a second time, for the numbers that they met
  /// (cpu/lowering/nan_guard.h): they took twice their time.
  virtual size_t repeated_runs() const { return 0; }
  /// Copies of the outputs, in the order of Plan::outputs.
  virtual Result<std::vector<Tensor>> outputs() const = 0;
  /// The same into memory of the caller, one place for each output, as large as its type says.
  virtual Result<void> copy_outputs(llvm::ArrayRef<std::byte*> to) const {
    TG_TRY(std::vector<Tensor> tensors, outputs());
    for (size_t i = 0; i < tensors.size(); ++i)
      std::memcpy(to[i], tensors[i].data(), static_cast<size_t>(tensors[i].bytes()));
    return {};
  }

  /// The run steps in the order in which they run; views are listed, at no cost.
  virtual std::vector<StepInfo> steps() const = 0;
  virtual MemoryUse memory() const = 0;
  /// Time of a whole run on the device alone, from the runs profiled; 0 where that is not known.
  virtual double device_us() const { return 0; }
  /// Times each step of the runs that follow; switching it on forgets earlier times. Off at first.
  virtual void profile(bool on) = 0;

  /// Binds the inputs of the next run, of which some are outputs of the last one: where `outputs`
  /// has a number, the input is that output, and no view is looked at.
  /// Errors: those of bind_inputs().
  virtual Result<void> bind_next(llvm::ArrayRef<TensorView> inputs,
                                 llvm::ArrayRef<std::optional<size_t>> outputs) {
    TG_TRY(std::vector<Tensor> last, this->outputs());
    std::vector<TensorView> views(inputs.begin(), inputs.end());
    for (size_t i = 0; i < views.size(); ++i)
      if (outputs[i]) views[i] = {&last[*outputs[i]].type(), last[*outputs[i]].data()};
    return bind_views(views);
  }

  /// bind_inputs, run_once, outputs.
  Result<std::vector<Tensor>> run(llvm::ArrayRef<Tensor> inputs) { return run(inputs, {}); }
  /// The same, without copies where a backend can do without: of inputs that are lent, and of
  /// outputs, which may lie in the memory of `spare`, tensors that nobody needs any more.
  virtual Result<std::vector<Tensor>> run(llvm::ArrayRef<Tensor> inputs, std::vector<Tensor>) {
    TG_CHECK(bind_inputs(inputs));
    TG_CHECK(run_once());
    return outputs();
  }
};

class StepTimer; // measure.h

class Backend {
public:
  virtual ~Backend() = default;
  /// As on the command line: "ref", "cpu".
  virtual std::string name() const = 0;
  /// Device, instruction set and library versions, for people and as part of cost keys:
  /// "AMD EPYC ..., avx512_core, oneDNN 2.6.3".
  virtual std::string description() const = 0;
  /// Has a kernel of its own for this step (a compiled plan may still fall back to ref for others).
  virtual bool supports(const Plan& plan, const PlanStep& step) const = 0;
  /// What it does in one kernel beyond single operators: a graph gains by naming it as one, and
  /// extraction prices it as one.
  virtual llvm::ArrayRef<KernelPattern> patterns() const { return {}; }
  /// Chooses kernels and layouts, places buffers, loads weights and runs the load phase.
  /// Errors: `memory_limit` (before anything large is allocated), `no_kernel`, `device`, and those
  /// of the weight source.
  virtual Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                                      const CompileOptions& options) const = 0;
  /// What a person should know of what it keeps across runs: "the plan for ... is not used".
  virtual std::vector<std::string> notes() const { return {}; }
  /// Whether the operator only names elements of its operand anew, in whatever layout they are:
  /// then nothing is run for it, and there is nothing to time.
  virtual bool is_view(OpKind /*op*/, const TensorType& /*result*/) const { return false; }
  /// How this backend times single steps; null where the way of measure.h serves.
  virtual const StepTimer* step_timer() const { return nullptr; }
};

} // namespace tg
