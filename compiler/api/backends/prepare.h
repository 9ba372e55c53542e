// Prepares a graph as a program in memory: makes the backend and the plan, places and loads
// everything. Also times operators within runs of the program.
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
  double recompute = 0;     // share of the time it may add, by estimates (emit/recompute.h)
  DType dtype = DType::F32; // in which a run computes: graphs are retyped
  /// For the yardstick of BackendFinalists, and for plans measured at load (cuda); "" = the user's
  /// cache folder.
  std::string cost_db = {};
  double tune_near_ms = 0; // BackendRequest
  WeightSource weights;
  /// The file that `weights` reads, if any. Written files preserve its record of folded weights.
  std::shared_ptr<const WeightFile> weight_file = {};
  /// Shared by graphs loaded at the same time with the same options; the graphs may differ.
  std::shared_ptr<SharedWeights> shared = {};
  std::shared_ptr<const ExternKernels> externs = {}; // for `extern op`s; null: none
  StopToken stop = {};                               // for BackendFinalists
  StopToken interrupt = {};                          // for loading and runs (CompileOptions::stop)
};

/// `ref`, `cpu`, `cuda`. Errors: `no_backend` lists those of this build.
Result<std::unique_ptr<Backend>> make_backend(llvm::StringRef name, const std::string& cost_db = "",
                                              double tune_near_ms = 0);

/// Converts a limit in MiB to bytes; 0 MiB: 80% of the machine's memory.
int64_t memory_limit_bytes(int64_t limit_mb);

struct Prepared {
  std::unique_ptr<Backend> backend;
  Plan plan;
  std::vector<NodeId> nodes; // by step; in retype(graph, options.dtype)
  Recomputed recomputed;     // operators that are computed twice
  std::unique_ptr<Executable> executable;
  int threads = 1;
};

/// Errors: `no_backend`, `memory_limit`, `no_kernel`, `device`, `limit_no_answer`, those of the
/// weight source and of retype().
Result<Prepared> prepare(const Graph& graph, const PrepareOptions& options);

/// The same; also binds random inputs from the seed.
Result<Prepared> prepare_with_inputs(const Graph& graph, const PrepareOptions& options);

/// The time of an operator within whole runs of its graph.
struct NodeTime {
  NodeId node; // in retype(graph, options.dtype), which is the graph itself for f32
  /// In place: median over the runs, including conversions before it (`reorders_us` of it).
  double microseconds = 0;
  double reorders_us = 0;
  std::string implementation;
};

/// Returns the time of each operator of a run, in execution order. Conversions after the last
/// operator count for that one. Views are listed with time 0. Operators that the backend runs as
/// one have one entry. Errors: the device's.
Result<std::vector<NodeTime>> time_nodes(Prepared& prepared, const TimingOptions& options);

/// The same for a graph on random inputs. Errors: also those of prepare().
Result<std::vector<NodeTime>> time_nodes(const Graph& graph, const PrepareOptions& options,
                                         const TimingOptions& timing);

} // namespace tg
