// The published variants of the tuner, by the words of `tg-paper tune --reuse` and `--tuner`.
#pragma once

#include "runtime/tune/plan_session.h"

#include <llvm/ADT/ArrayRef.h>

#include <memory>
#include <string>

namespace tg::paper {

/// A baseline of ETO's comparison:
///   top        the tiles of the three best programs of the operator that is reused, as they are
///   selective  the same within clusters of operators whose spaces overlap
///   full       no reuse: a full search of every operator
///   random     no reuse: random programs
/// Null for `eto` and `no-bridges`, which reuse by Algorithm 1.
std::unique_ptr<tune::ReuseBaseline> published_baseline(llvm::StringRef reuse);

/// Applies `--reuse no-bridges` and the words of `--tuner` that only `tg-paper` has.
void apply_variants(llvm::StringRef reuse, llvm::ArrayRef<std::string> words,
                    tune::PlanTuneOptions& options);

} // namespace tg::paper
