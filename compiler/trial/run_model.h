// A model loaded and run: `tangram::compile` and Program, `tg run` and `:run` come this way. How
// long runs take, what the outputs are, and how far they are from those of a reference.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/trial/time_notes.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "runtime/measure/time_runs.h"
#include "tangram/tangram.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg {

/// A program, and what it takes to load another instance of it.
struct LoadedProgram {
  Graph graph;
  PrepareOptions options;
  Prepared prepared;
  double build_s = 0; // from the graph to what can run, but for reading or drawing weights
};

/// Errors: those of prepare().
Result<LoadedProgram> load_program(const Graph& graph, const PrepareOptions& options);

/// How long runs take, in microseconds.
struct RunTimes {
  Timing timing; // of rounds, where several instances run side by side
  size_t streams = 1;
  /// Where steps were asked for, from runs of their own, since taking their times costs a little.
  std::vector<StepInfo> steps = {};
  double steps_us = 0;  // their sum
  double device_us = 0; // of a whole run on the device alone; 0 where that is not known

  double runs_per_s() const { return static_cast<double>(streams) * 1e6 / timing.median_us; }
};

/// On the inputs that are bound. Errors: `usage` for several instances on a backend that runs one,
/// those of prepare(), the device's.
Result<RunTimes> time_program(LoadedProgram& program, llvm::ArrayRef<Tensor> inputs,
                              const tangram::TimeOptions& options);

struct RunOutput {
  std::string name;
  Tensor tensor;
  TensorSummary summary;
  std::optional<double> max_rel_diff = {}; // from the reference
  double bound = 0;                        // of max_rel_diff
};

struct RunReport {
  std::string model, backend, device;
  int threads = 1;
  double build_s = 0;
  RunTimes times;
  MemoryUse memory;
  Recomputed recomputed;
  std::vector<std::string> notes; // of the backend
  std::vector<RunOutput> outputs;
  /// Outputs were compared with those of the same graph, every step of which ran by the kernels of
  /// the reference itself.
  bool compared_with_itself = false;
  /// Times in the narrow float of the run and in f32, on the same backend; not set for `ref`.
  std::optional<DTypeTimes> beside_f32 = {};
};

/// What is reported of runs that took `times` and ended in `outputs`, the plan's.
RunReport report_of_runs(const LoadedProgram& program, RunTimes times, std::vector<Tensor> outputs);

struct RunModelOptions {
  tangram::TimeOptions timing;
  /// Outputs are compared with those of the source on ref in f32. Else, where runs compute in
  /// another type than f32, against those of the same graph in f32.
  bool check = false;
};

/// `graph` is `source`, perhaps optimised; `inputs` makes them for its plan. Errors: those of
/// load_program(), time_program() and of `inputs`.
Result<RunReport> run_model(const Graph& source, const Graph& graph, const PrepareOptions& options,
                            const RunModelOptions& run,
                            llvm::function_ref<Result<std::vector<Tensor>>(const Plan&)> inputs);

/// What is wrong with the outputs: not finite (a warning, or an error where they were checked), or
/// further from the reference than their bound.
void judge_outputs(const RunReport& report, bool checked, DiagnosticSink& sink);

/// "3.1e-07", "not finite"
std::string difference_text(double difference);

// Several instances of one program at once, each with memory of its own (on a GPU, on a stream of
// its own): what the device carries beside each other, as a server would run it.

/// Rounds in which every instance runs once, all begun together, each from a thread of its own;
/// the times are those of rounds. Errors: the first instance's that fails.
Result<Timing> time_side_by_side(llvm::ArrayRef<Executable*> instances,
                                 const TimingOptions& options);

} // namespace tg
