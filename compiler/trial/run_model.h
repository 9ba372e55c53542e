// Loads and runs a model, for `tangram::compile` and Program, `tg run` and `:run`. Reports times,
// outputs, and the difference of outputs from a reference.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/trial/time_notes.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "runtime/measure/time_runs.h"
#include "tangram/tangram.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg {

/// A program, and the data needed to load another instance of it.
struct LoadedProgram {
  Graph graph;
  PrepareOptions options;
  Prepared prepared;
  double build_s = 0; // seconds from the graph to an executable, without reading or drawing weights
};

/// Errors: those of prepare().
Result<LoadedProgram> load_program(const Graph& graph, const PrepareOptions& options);

/// Times of runs, in microseconds.
struct RunTimes {
  Timing timing; // of rounds, if several instances run side by side
  size_t streams = 1;
  /// If requested: times of steps from separate runs, because timing them has a cost.
  std::vector<StepInfo> steps = {};
  double steps_us = 0;  // their sum
  double device_us = 0; // of a whole run on the device alone; 0: unknown

  double runs_per_s() const { return static_cast<double>(streams) * 1e6 / timing.median_us; }
};

/// Times a program on its bound inputs. Errors: `usage` for several instances on a backend that
/// supports one, those of prepare(), the device's.
Result<RunTimes> time_program(LoadedProgram& program, llvm::ArrayRef<Tensor> inputs,
                              const tangram::TimeOptions& options);

struct RunOutput {
  std::string name;
  Tensor tensor;
  TensorSummary summary;
  std::optional<double> max_rel_diff = {}; // against the reference
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
  /// Outputs were compared with those of the same graph, every step of which used the reference's
  /// own kernels.
  bool compared_with_itself = false;
  /// Times in the narrow float of the run and in f32, on the same backend; not set for `ref`.
  std::optional<DTypeTimes> beside_f32 = {};
};

/// Builds the report of runs with these `times`, which ended in the plan's `outputs`.
RunReport report_of_runs(const LoadedProgram& program, RunTimes times, std::vector<Tensor> outputs);

struct RunModelOptions {
  tangram::TimeOptions timing;
  /// Compare the outputs with those of the source on ref in f32. Otherwise, runs in a narrower
  /// float are compared with the same graph in f32.
  bool check = false;
};

/// `graph` is `source` or its optimised form. `inputs` creates the inputs for its plan. Errors:
/// those of load_program(), time_program() and of `inputs`.
Result<RunReport> run_model(const Graph& source, const Graph& graph, const PrepareOptions& options,
                            const RunModelOptions& run,
                            llvm::function_ref<Result<std::vector<Tensor>>(const Plan&)> inputs);

/// Reports outputs that are not finite (a warning, or an error if they were checked), or further
/// from the reference than their bound.
void judge_outputs(const RunReport& report, bool checked, DiagnosticSink& sink);

/// "3.1e-07", "not finite"
std::string difference_text(double difference);

// Runs several instances of one program at once, each with its own memory (on a GPU, its own
// stream), to measure the throughput of a server.

/// Times rounds in which every instance runs once; all start together, each in its own thread.
/// Errors: that of the first instance that fails.
Result<Timing> time_concurrently(llvm::ArrayRef<Executable*> instances,
                                 const TimingOptions& options);

} // namespace tg
