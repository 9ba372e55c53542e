// Prefixes of the rows of the cost database that hold whole runs of graphs,
// and search results based on them. These rows depend on all kernels that a graph uses,
// so a change of the chosen kernels must remove them.
#pragma once

#include "runtime/measure/cost_db.h"

namespace tg {

inline constexpr llvm::StringLiteral kWholeRunRow = "whole run of the ", kResultRow = "result of ";

/// Removes the rows of this processor in every environment.
inline void forget_whole_runs(CostDb& rows) {
  rows.forget(kWholeRunRow, "");
  rows.forget(kResultRow, "");
}

} // namespace tg
