// From a graph to a program in memory: a backend by name, the plan, everything placed and loaded.
// And the FinalistRunner that times whole graphs on a backend.
#pragma once

#include "compiler/driver/optimize.h"
#include "runtime/backend.h"

namespace tg {

struct PrepareOptions {
  std::string backend = "cpu";
  int threads = 0;                // 0: one for each core
  int64_t memory_limit_bytes = 0; // 0: 80% of the machine's memory
  uint64_t seed = 1;
  bool allow_tf32 = false;  // cuda
  DType dtype = DType::F32; // that a run computes in: graphs are retyped
  std::string cost_db = {}; // of plans measured at load (cuda); "" = the user's cache folder
  WeightSource weights;
  std::shared_ptr<const ExternKernels> externs = {}; // of `extern op`s; null: none
  StopToken stop = {};                               // of BackendFinalists
  StopToken interrupt = {};                          // of loading and runs (CompileOptions::stop)
};

/// `ref`, `cpu`, `cuda`. Errors: `no_backend` names those of this build.
Result<std::unique_ptr<Backend>> make_backend(llvm::StringRef name,
                                              const std::string& cost_db = "");

/// The bytes that a limit given in MiB means; 0 MiB: 80% of the machine's memory.
int64_t memory_limit_bytes(int64_t limit_mb);

struct Prepared {
  std::unique_ptr<Backend> backend;
  Plan plan;
  std::unique_ptr<Executable> executable;
  int threads = 1;
};

/// Errors: `no_backend`, `memory_limit`, `no_kernel`, `device`, `limit_no_answer`, those of the
/// weight source and of retype().
Result<Prepared> prepare(const Graph& graph, const PrepareOptions& options);

/// The same, with random inputs from the seed bound.
Result<Prepared> prepare_with_inputs(const Graph& graph, const PrepareOptions& options);

/// Compares graphs on a backend, in turns, on equal random weights and inputs, in options.dtype.
class BackendFinalists : public FinalistRunner {
public:
  explicit BackendFinalists(PrepareOptions options, TimingOptions timing = {.min_runs = 15,
                                                                            .seconds = 1.5,
                                                                            .patience_seconds = 8})
      : options_(std::move(options)), timing_(timing) {
    timing_.stop = options_.stop;
  }
  Result<WholeRuns> compare(const Graph& first, const Graph& second) override;
  Result<std::vector<Screened>> screen(const Graph& source,
                                       llvm::ArrayRef<const Graph*> graphs) override;

  /// By how much a finalist's outputs may differ from the source's (max_rel_diff).
  double bound() const;

private:
  Result<Screened> screen_one(const Graph& graph, llvm::ArrayRef<Tensor> expected) const;

  PrepareOptions options_;
  TimingOptions timing_;
};

} // namespace tg
