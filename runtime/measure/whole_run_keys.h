// How the rows of the cost database begin that hold whole runs of graphs, and what a search found
// by them. They depend on all kernels that a graph runs on: whoever changes which these are drops
// them.
#pragma once

#include "runtime/measure/cost_db.h"

namespace tg {

inline constexpr llvm::StringLiteral kWholeRunRow = "whole run of the ", kResultRow = "result of ";

/// Of this processor, in whichever environment.
inline void forget_whole_runs(CostDb& rows) {
  rows.forget(kWholeRunRow, "");
  rows.forget(kResultRow, "");
}

} // namespace tg
