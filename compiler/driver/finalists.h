// The choice by whole runs: prices are sums of single operators, and err; of the best few graphs by
// price each is built, held against the source's outputs and timed, and the one that runs fastest
// goes on to be held against the source.
#pragma once

#include "compiler/driver/candidate.h"

namespace tg {

/// `best` by price, or one of `others` that runs faster beyond the noise. At most `most` distinct
/// graphs are measured, those that cost less than the source; of more the cheapest by `groups`,
/// where there are prices of groups (null: none). Where that fails, the price decides.
Candidate choose_finalist(const Graph& source, Candidate best, std::vector<Candidate> others,
                          FinalistRunner& runner, GroupPricer* groups, size_t most,
                          OptimizeReport& report);

} // namespace tg
