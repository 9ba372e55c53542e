// The applications from which the terms of a chain were made, beside those that prove it.
//
// A chain may use an application backwards, or a term that no application built as such but that
// is congruent to one (f(b), after f(a) and a = b). To repeat the chain at another size, each such
// term must be made again from the source by applications in their own direction.
#pragma once

#include "compiler/egraph/explain/explain_ledger.h"

namespace tg {

/// Returns the needed applications that `proof` does not contain, in the order of the ledger.
/// Incomplete if `stop` ended it; a term without makers is left to the caller.
std::vector<DerivationStep> makers(const ExplainLedger& ledger, const Derivation& chain,
                                   llvm::ArrayRef<TermClosure::Edge> proof, const StopToken& stop);

} // namespace tg
