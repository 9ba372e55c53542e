// Why a graph with a backend's kernels equals the one that names their
// operators one by one.
#pragma once

#include "compiler/egraph/derivation.h"
#include "compiler/egraph/rule.h"

namespace tg {

/// The chain from `plain` to `fused` (ExtractedGraph) by rules that put what
/// follows a convolution or product into it; both over the same symbols,
/// RuleIds as positions in `rules`. Rules of a class above `numerics` are left
/// out. Errors: `internal` where the rules at hand do not lead there: then the
/// kernels must not be used.
Result<Derivation> explain_kernels(const Graph& plain, const Graph& fused,
                                   llvm::ArrayRef<Rule> rules, Numerics numerics);

} // namespace tg
