// Makes a cost model from the user's choice (tangram/choices.h), given as a value or as text on the
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

/// Resolves Source::Default: calibrated if this build has a backend that can be measured, otherwise
/// analytic. Other sources are returned unchanged.
CostSpec resolved(const CostSpec& spec);

/// Parses the value of `option` ("--cost"). Errors: `usage`, with the valid forms.
Result<CostSpec> parse_cost_spec(llvm::StringRef text, llvm::StringRef option);

struct CostModelOptions {
  CostSpec spec;
  std::string cost_db;                      // of measured costs; "": the user's cache folder
  int threads = 0;                          // for measuring; 0: one per core
  int64_t memory_limit_bytes = 0;           // for measuring; 0: no limit
  CacheState cache = CacheState::AsNetwork; // for measuring
  bool allow_tf32 = false;                  // for measuring
  StopToken stop = {}; // for measuring; operators not timed by then have no price
  /// Called during timing with the number of finished operators and their total.
  std::function<void(size_t done, size_t total)> progress;
};

/// Makes a cost model for the operators of `graph` and those that rules derive from it. Errors:
/// `usage` for an unknown device, those of cost tables, `no_backend`.
Result<std::unique_ptr<CostModel>> make_cost_model(const CostModelOptions& options,
                                                   const Graph& graph);

/// Returns true for measured costs: each operator is timed before it has a price.
bool is_measured(const CostSpec& spec);
/// Returns true for the price model of this machine.
bool is_calibrated(const CostSpec& spec);
/// Returns true for either: prices are based on timed operators.
bool is_timed(const CostSpec& spec);
/// Returns true if the result of a search is run as a whole and compared with its source before it
/// is returned: for measured prices and, by default, for estimates about this machine. A named
/// profile (`analytic:cpu`) and a table describe a machine that may not be present.
bool is_compared_with_source(const CostSpec& spec);
/// Returns the backend that such prices describe and that runs finalists: the processor's if
/// none is named.
tangram::Backend backend_of_costs(const CostSpec& spec);
/// Returns the device profile for a backend's operators before they are timed.
std::string profile_of_backend(llvm::StringRef backend);

} // namespace tg
