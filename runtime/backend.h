// The interface of a backend: it reports which steps it supports,
// and compiles a plan to an executable.
// compile() takes all decisions that depend on the device (layouts, kernels, arena offsets,
// reorders).
// run_once() then only calls kernels: it does not allocate or look anything up,
// and only the device itself can fail.
//
// `ref` runs the steps for which a backend has no kernel. The executable records this
// in StepInfo::implementation ("ref:softmax"), and tests reject it where a better kernel exists.
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

/// Weights, as loaded or as packed, that several executables of one backend share read-only.
/// Without sharing, two graphs loaded at the same time on the same weights (such
/// as a source graph and its optimized form) would hold a large network twice.
/// Generating and packing weights also takes longer than many runs.
///
/// Invariant: contents are never written after they are added,
/// and live as long as an executable holds them. Thread-safe.
class SharedWeights {
public:
  using Contents = std::shared_ptr<std::byte>;
  /// The key by which weights are identified.
  enum class Naming : uint8_t {
    /// The path. Valid among executables made with the same CompileOptions.
    Paths,
    /// The elements, which are read and hashed before each load. Valid among all executables.
    Contents,
  };

  explicit SharedWeights(Naming naming = Naming::Paths) : naming_(naming) {}
  /// Returns the weights shared by all programs of this process, by contents, until released.
  static std::shared_ptr<SharedWeights> of_process();

  Naming naming() const { return naming_; }
  /// Returns the contents added under `key`; null if no executable holds them.
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

/// Returns the contents of a weight (`value.name` is its path, `value.type` its type).
/// Errors are propagated. The result must have the type of the value.
/// Its elements may be lent, at any address (Tensor::lent).
using WeightSource = std::function<Result<Tensor>(const PlanValue& value)>;

/// The layout of inputs and outputs during run_once().
enum class IoLayout : uint8_t {
  /// Row-major, as in the model: a run converts if the backend uses another layout.
  /// Users see this layout, and networks are timed with it.
  Plain,
  /// The backend's own layout, as between two operators inside a network:
  /// bind_inputs() and outputs() convert, run_once() does not. Single operators are timed with it.
  Native,
};

struct CompileOptions {
  int threads = 1;
  /// Weights, arena, workspaces, inputs and outputs together. 0: no limit.
  int64_t memory_limit_bytes = 0;
  /// Seed of the weights that no source provides.
  uint64_t seed = 1;
  /// Empty: random weights from (seed, path), see random.h.
  WeightSource weights = {};
  /// Null: the executable shares its weights with no other. (cpu backend)
  std::shared_ptr<SharedWeights> shared = {};
  /// Uses all threads for runs and steps of any length; for tests. (cpu backend)
  bool share_short_work = false;
  IoLayout io_layout = IoLayout::Plain;
  /// f32 products and convolutions may round their operands to tf32 (cuda backend).
  bool allow_tf32 = false;
  /// Kernels of the operators that the program declares; null if there are none.
  /// The executable keeps it.
  std::shared_ptr<const ExternKernels> externs = {};
  /// Ends loading, and ends runs on the host between two steps. The executable keeps it.
  StopToken stop = {};
};

/// One action of a run: a step of the plan, or a reorder that the backend inserted.
struct StepInfo {
  PlanStepId step = kNever;   // kNever if the backend inserted it
  std::string name;           // "conv2d", "reorder"; for display
  std::string result;         // type of the result
  std::string implementation; // "ref", "brgconv:avx512_core", "fused_map:avx512", "view"
  /// Device resources of a generated kernel: "12 x 128 threads, 40 registers, 512 B shared".
  std::string uses = {};
  double flops = 0;
  double bytes = 0; // bytes that must be read or written at least once, in the chosen layouts
  int64_t workspace_bytes = 0;
  /// Median over the runs since profiling was switched on; 0 while profiling is off.
  double measured_us = 0;
};

/// Memory that an executable holds, in bytes.
struct MemoryUse {
  int64_t weights = 0; // weights, constants and results of the load phase, in their final layout
  int64_t arena = 0;   // temporaries of a run
  int64_t workspace = 0;
  int64_t io = 0;
  int64_t total() const { return weights + arena + workspace + io; }
};

/// A plan compiled for one backend. The load phase has run. Not thread-safe.
class Executable {
public:
  virtual ~Executable() = default;

  /// Copies the inputs, in the order of Plan::inputs.
  /// Errors: `bad_input_value` if their number or types differ from the plan's.
  virtual Result<void> bind_inputs(llvm::ArrayRef<Tensor> inputs) = 0;
  /// Copies the inputs from the caller's memory, which may be unaligned and need not outlive the
  /// call.
  virtual Result<void> bind_views(llvm::ArrayRef<TensorView> inputs) {
    std::vector<Tensor> tensors;
    for (const TensorView& input : inputs) {
      TG_TRY(Tensor tensor, Tensor::zeros(*input.type));
      std::memcpy(tensor.data(), input.data, static_cast<size_t>(tensor.bytes()));
      tensors.push_back(std::move(tensor));
    }
    return bind_inputs(tensors);
  }
  /// Runs once on the bound inputs (zeros until they are bound). Allocates nothing.
  /// Errors: `device`; `limit_no_answer` if stopped, in which case the outputs are undefined.
  virtual Result<void> run_once() = 0;
  /// Like run_once(), but slightly slower. Returns the indices in steps()
  /// of the steps that computed on denormal numbers, on which processors may be slow
  /// (cpu/denormals.cpp). Returns none if the backend cannot detect them.
  virtual Result<std::vector<size_t>> run_watching_denormals() {
    if (Result<void> run = run_once(); !run) return std::move(run.error());
    return std::vector<size_t>();
  }
  /// Returns the number of runs so far that were repeated because of the numbers
  /// in them (cpu/lowering/nan_guard.h). Each of these took twice the time.
  virtual size_t repeated_runs() const { return 0; }
  /// Returns copies of the outputs, in the order of Plan::outputs.
  virtual Result<std::vector<Tensor>> outputs() const = 0;
  /// Copies the outputs into the caller's memory: one address per output, with room for its type.
  virtual Result<void> copy_outputs(llvm::ArrayRef<std::byte*> to) const {
    TG_TRY(std::vector<Tensor> tensors, outputs());
    for (size_t i = 0; i < tensors.size(); ++i)
      std::memcpy(to[i], tensors[i].data(), static_cast<size_t>(tensors[i].bytes()));
    return {};
  }

  /// Returns the run steps in execution order. Views are listed, at no cost.
  virtual std::vector<StepInfo> steps() const = 0;
  virtual MemoryUse memory() const = 0;
  /// Returns the time of a whole run on the device alone, from the profiled runs; 0 if unknown.
  virtual double device_us() const { return 0; }
  /// Times each step of the following runs. Switching it on discards earlier times. Off by default.
  virtual void profile(bool on) = 0;

  /// Binds the inputs of the next run, some of which are outputs of the last run:
  /// where `outputs` has a number, the input is that output and the corresponding view is ignored.
  /// Errors: those of bind_inputs().
  virtual Result<void> bind_next(llvm::ArrayRef<TensorView> inputs,
                                 llvm::ArrayRef<std::optional<size_t>> outputs) {
    TG_TRY(std::vector<Tensor> last, this->outputs());
    std::vector<TensorView> views(inputs.begin(), inputs.end());
    for (size_t i = 0; i < views.size(); ++i)
      if (outputs[i]) views[i] = {&last[*outputs[i]].type(), last[*outputs[i]].data()};
    return bind_views(views);
  }

  /// Calls bind_inputs, run_once and outputs.
  Result<std::vector<Tensor>> run(llvm::ArrayRef<Tensor> inputs) { return run(inputs, {}); }
  /// The same, but avoids copies where the backend supports it:
  /// of lent inputs, and of outputs, which may reuse the memory of `spare`,
  /// a list of unused tensors.
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
  /// Name on the command line: "ref", "cpu".
  virtual std::string name() const = 0;
  /// Device, instruction set and library versions, for display and as part of cost keys:
  /// "AMD EPYC ..., avx512_core, oneDNN 2.6.3".
  virtual std::string description() const = 0;
  /// Returns true if the backend has its own kernel for this step (a compiled plan may still use
  /// ref for other steps).
  virtual bool supports(const Plan& plan, const PlanStep& step) const = 0;
  /// Returns the patterns of operators that the backend runs as one kernel.
  /// A graph gains by expressing such a pattern as one operator, and extraction prices it as one.
  virtual llvm::ArrayRef<KernelPattern> patterns() const { return {}; }
  /// Chooses kernels and layouts, assigns buffers, loads weights and runs the load phase.
  /// Errors: `memory_limit` (before any large allocation), `no_kernel`, `device`,
  /// and those of the weight source.
  virtual Result<std::unique_ptr<Executable>> compile(const Plan& plan,
                                                      const CompileOptions& options) const = 0;
  /// Returns messages for the user about data kept across runs: "the plan for ... is not used".
  virtual std::vector<std::string> notes() const { return {}; }
  /// Returns true if the operator only renames elements of its operand, in every layout.
  /// Nothing is run for such an operator, and there is nothing to time.
  virtual bool is_view(OpKind /*op*/, const TensorType& /*result*/) const { return false; }
  /// Returns the backend's own timer of single steps; null if the default of measure.h applies.
  virtual const StepTimer* step_timer() const { return nullptr; }
};

} // namespace tg
