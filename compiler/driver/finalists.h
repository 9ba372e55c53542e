// The choice by whole runs: prices are sums of single operators, and err; of the best few graphs by
// price each is built, held against the source's outputs and timed, and the one that runs fastest
// goes on to be held against the source.
#pragma once

#include "compiler/driver/candidate.h"

namespace tg {

/// A candidate, and why it cannot take the source's place, where that is known.
struct Finalist {
  Candidate candidate;
  std::string fault = {};
};

/// `best` by price, or one of `others` that runs faster beyond the noise. At most `most` distinct
/// graphs are measured, those that cost less than the source; of more the cheapest by `groups`,
/// where there are prices of groups (null: none). Of several only one that runs and whose outputs
/// are the source's is chosen: if none is, the cheapest has a fault. Where the source does not run,
/// the price decides. One alone is not run here: it still meets the source.
Finalist choose_finalist(const Graph& source, Candidate best, std::vector<Candidate> others,
                         FinalistRunner& runner, GroupPricer* groups, size_t most,
                         OptimizeReport& report);

} // namespace tg
