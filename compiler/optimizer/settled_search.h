// A search whose prices are guesses in part: what it finds says which of them matter. These are
// found out (CostModel::settle), and where they turn out to be others the search begins again,
// until what it finds hangs on no guess any more or the time for it is over. With prices that are
// known it is one search.
#pragma once

#include "compiler/optimizer/candidate.h"

namespace tg {

/// As the strategy of the options finds it, with the prices that it leaves in `judges.prices`; what
/// earlier searches found is among `judges.others`, where these are asked for, and the best if it
/// turns out to be. `report.cost_before_us` is by the prices of the end, too. Errors:
/// `no_solution`.
Result<Candidate> find_settled(const Graph& source, llvm::ArrayRef<Rule> rules,
                               const Judges& judges, const OptimizeOptions& options,
                               OptimizeReport& report);

} // namespace tg
