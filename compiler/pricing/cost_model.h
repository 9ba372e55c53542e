// A cost model from what the user chose (tangram/choices.h), as a value or as its text on the
// command line: `calibrated[:BACKEND]`, `analytic[:PROFILE]`, `measured[:BACKEND]`, `file:TABLE`.
#pragma once

#include "compiler/extract/cost/cost.h"
#include "compiler/ir/graph.h"
#include "lang/core/support/stop.h"
#include "runtime/measure/measure.h"
#include "tangram/choices.h"

#include <functional>
#include <memory>

namespace tg {

using tangram::CostSpec;

/// What Source::Default stands for: calibrated where this build has a backend that can be measured,
/// else analytic. Others are as they are.
CostSpec resolved(const CostSpec& spec);

/// A text as the user gives it to `option` ("--cost"). Errors: `usage`, with what there is.
Result<CostSpec> parse_cost_spec(llvm::StringRef text, llvm::StringRef option);

struct CostModelOptions {
  CostSpec spec;
  std::string cost_db;                      // of measured costs; "" = the user's cache folder
  int threads = 0;                          // of measurements; 0 = one for each core
  int64_t memory_limit_bytes = 0;           // of measurements; 0: none
  CacheState cache = CacheState::AsNetwork; // of measurements
  bool allow_tf32 = false;                  // of measurements
  StopToken stop = {}; // of measurements: what is not timed by then has no price
  /// Called while operators are timed: how many are done, of how many.
  std::function<void(size_t done, size_t total)> progress;
};

/// For the operators of `graph` and what rules make of it. Errors: `usage` for a device that is
/// none, those of cost tables, `no_backend`.
Result<std::unique_ptr<CostModel>> make_cost_model(const CostModelOptions& options,
                                                   const Graph& graph);

/// Whether the spec asks for measured costs: each operator is timed before it has a price.
bool is_measured(const CostSpec& spec);
/// Whether it asks for the price model of this machine.
bool is_calibrated(const CostSpec& spec);
/// Either: operators are timed for it, by now or on the way.
bool is_timed(const CostSpec& spec);
/// Whether what such prices choose is run whole, beside its source, before it is returned: where
/// they are measured, and by default, when they are guesses about this machine. A profile by name
/// (`analytic:cpu`) and a table stand for a machine that need not be here.
bool meets_source(const CostSpec& spec);
/// The backend that such prices are of, and that runs finalists:
/// the processor's where none is named.
tangram::Backend backend_of_costs(const CostSpec& spec);
/// The device profile that looks at its operators without timing them.
std::string profile_of_backend(llvm::StringRef backend);

} // namespace tg
