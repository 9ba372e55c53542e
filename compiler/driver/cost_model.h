// A cost model from its name on the command line: `analytic[:PROFILE]`, `measured[:BACKEND]`,
// `file:TABLE`.
#pragma once

#include "compiler/extract/cost.h"

#include <memory>
#include <vector>

namespace tg {

struct CostModelOptions {
  std::string spec = "analytic";
  std::string cost_db; // of measured costs; "" = the user's cache folder
  int threads = 0;     // of measurements; 0 = one for each core
};

/// Errors: `usage` for a spec that is none, those of cost tables, `no_backend`.
Result<std::unique_ptr<CostModel>> make_cost_model(const CostModelOptions& options);

/// Whether the spec asks for measured costs.
bool is_measured(llvm::StringRef spec);

/// What a person should know about the prices that a model gave: a database that could not be used,
/// operators that a table lacks.
std::vector<std::string> cost_model_notes(const CostModel& model);

} // namespace tg
