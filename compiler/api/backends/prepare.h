// From a graph to a program in memory: a backend by name, the plan, everything placed and loaded;
// and what each operator takes in its runs.
#pragma once

#include "compiler/emit/recompute.h"
#include "compiler/ir/graph.h"
#include "runtime/backend.h"
#include "runtime/measure/time_runs.h"

namespace tg {

class WeightFile;

struct PrepareOptions {
  std::string backend = "cpu";
  int threads = 0;                // 0: one for each core
  int64_t memory_limit_bytes = 0; // 0: 80% of the machine's memory
  uint64_t seed = 1;
  bool allow_tf32 = false;  // cuda
  double recompute = 0;     // share of the time by estimates that it may add (emit/recompute.h)
  DType dtype = DType::F32; // that a run computes in: graphs are retyped
  /// Of the yardstick of BackendFinalists,
  /// and of plans measured at load (cuda); "" = the user's cache folder.
  std::string cost_db = {};
  double tune_near_ms = 0; // BackendRequest
  WeightSource weights;
  /// That `weights` reads, if any: files that are written carry on its record of folded weights.
  std::shared_ptr<const WeightFile> weight_file = {};
  /// Of graphs loaded beside each other with the same options, which need not be the same graph.
  std::shared_ptr<SharedWeights> shared = {};
  std::shared_ptr<const ExternKernels> externs = {}; // of `extern op`s; null: none
  StopToken stop = {};                               // of BackendFinalists
  StopToken interrupt = {};                          // of loading and runs (CompileOptions::stop)
};

/// `ref`, `cpu`, `cuda`. Errors: `no_backend` names those of this build.
Result<std::unique_ptr<Backend>> make_backend(llvm::StringRef name, const std::string& cost_db = "",
                                              double tune_near_ms = 0);

/// The bytes that a limit given in MiB means; 0 MiB: 80% of the machine's memory.
int64_t memory_limit_bytes(int64_t limit_mb);

struct Prepared {
  std::unique_ptr<Backend> backend;
  Plan plan;
  std::vector<NodeId> nodes; // of each step, in retype(graph, options.dtype)
  Recomputed recomputed;     // what of it is done twice
  std::unique_ptr<Executable> executable;
  int threads = 1;
};

/// Errors: `no_backend`, `memory_limit`, `no_kernel`, `device`, `limit_no_answer`, those of the
/// weight source and of retype().
Result<Prepared> prepare(const Graph& graph, const PrepareOptions& options);

/// The same, with random inputs from the seed bound.
Result<Prepared> prepare_with_inputs(const Graph& graph, const PrepareOptions& options);

/// What an operator takes within whole runs of its graph.
struct NodeTime {
  NodeId node; // of retype(graph, options.dtype), which in f32 has the graph's own nodes
  /// In place: median over the runs, with what the backend put in before it (`reorders_us` of it).
  double microseconds = 0;
  double reorders_us = 0;
  std::string implementation;
};

/// Of each operator that a run computes, in the order in which they run; what the backend put in
/// behind the last counts there. Views are listed, at no cost; of operators that the backend runs
/// as one, one. Errors: the device's.
Result<std::vector<NodeTime>> time_nodes(Prepared& prepared, const TimingOptions& options);

/// The same of a graph on random inputs. Errors: also those of prepare().
Result<std::vector<NodeTime>> time_nodes(const Graph& graph, const PrepareOptions& options,
                                         const TimingOptions& timing);

} // namespace tg
