// The choice by whole runs: prices are sums of single operators, and err; of the best few graphs by
// price each is built, checked against the source's outputs and timed, and the one that runs
// fastest goes on to be checked against the source.
#pragma once

#include "compiler/optimizer/candidate.h"

#include <functional>

namespace tg {

/// A candidate, and why it cannot take the source's place, where that is known.
struct Finalist {
  Candidate candidate;
  std::string fault = {};
};

struct FinalistOptions {
  size_t most = 8;               // to be measured
  GroupPricer* groups = nullptr; // prices of groups, where there are any
  /// Does to those beside the best what was done to the best; may be empty.
  std::function<void(Candidate&)> complete = {};
};

/// `best` by price, or one of `others` that runs faster beyond the noise. Measured are distinct
/// graphs that cost no more than the source: the best, what a second opinion chose, and of the
/// others the cheapest, by groups where that is known. Of several only one that runs and whose
/// outputs are the source's is chosen: if none is, the cheapest has a fault. Where the source does
/// not run, the price decides. One alone is not run here: it still meets the source.
Finalist choose_finalist(const Graph& source, Candidate best, std::vector<Candidate> others,
                         FinalistRunner& runner, const FinalistOptions& options,
                         OptimizeReport& report);

} // namespace tg
