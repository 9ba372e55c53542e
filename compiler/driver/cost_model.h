// A cost model from its name on the command line: `calibrated[:BACKEND]`, `analytic[:PROFILE]`,
// `measured[:BACKEND]`, `file:TABLE`.
#pragma once

#include "compiler/extract/cost/cost.h"
#include "compiler/ir/graph.h"
#include "lang/core/stop.h"
#include "runtime/measure.h"

#include <functional>
#include <memory>

namespace tg {

/// `calibrated` where this build has a backend that can be measured, else `analytic`.
std::string default_cost_spec();

struct CostModelOptions {
  std::string spec = default_cost_spec();
  std::string cost_db;                      // of measured costs; "" = the user's cache folder
  int threads = 0;                          // of measurements; 0 = one for each core
  int64_t memory_limit_bytes = 0;           // of measurements; 0: none
  CacheState cache = CacheState::AsNetwork; // of measurements
  bool allow_tf32 = false;                  // of measurements
  StopToken stop = {}; // of measurements: what is not timed by then has no price
  /// Called while operators are timed: how many are done, of how many.
  std::function<void(size_t done, size_t total)> progress;
};

/// For the operators of `graph` and what rules make of it. Errors: `usage` for a spec that is none,
/// those of cost tables, `no_backend`.
Result<std::unique_ptr<CostModel>> make_cost_model(const CostModelOptions& options,
                                                   const Graph& graph);

/// Whether the spec asks for measured costs: each operator is timed before it has a price.
bool is_measured(llvm::StringRef spec);
/// Whether it asks for the price model of this machine.
bool is_calibrated(llvm::StringRef spec);
/// Whether what such prices choose is run whole, beside its source, before it is returned: where
/// they are measured, and by default, when they are guesses about this machine. A profile by name
/// (`analytic:cpu`) and a table stand for a machine that need not be here.
bool meets_source(llvm::StringRef spec);
/// The backend that such prices are of, and that runs finalists: "cuda", or "cpu" for all others.
std::string backend_of_costs(llvm::StringRef spec);
/// The device profile that looks at its operators without timing them.
std::string profile_of_backend(llvm::StringRef backend);

} // namespace tg
