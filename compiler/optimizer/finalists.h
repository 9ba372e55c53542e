// Chooses by whole runs, because sums of operators' prices are inexact. The best few graphs by
// price are built, checked against the source's outputs and timed. The fastest is then checked
// against the source.
#pragma once

#include "compiler/optimizer/candidate.h"

#include <functional>

namespace tg {

/// A candidate, and the reason why it cannot replace the source, if known.
struct Finalist {
  Candidate candidate;
  std::string fault = {};
  bool is_cheapest = true; // no other ran faster
};

struct FinalistOptions {
  size_t most = 8;               // number to measure
  double source_us = 0;          // cost of the source; candidates that cost more are dropped
  GroupPricer* groups = nullptr; // group prices, if available
  /// Applies the completion of the best candidate to another one; may be empty.
  std::function<void(Candidate&)> complete = {};
};

/// Returns `best` by price, or one of `others` that runs faster beyond the noise. Measures distinct
/// graphs that cost no more than the source: the best, the choice of a second opinion, and the
/// cheapest others (by groups if known). Of several, only one that runs and has the source's
/// outputs is chosen; if there is none, the cheapest gets the fault. If the source does not run,
/// the price decides. A single candidate is not run here, because it is compared with the source
/// later. Explains the choice in `notes`.
Finalist choose_finalist(const Graph& source, Candidate best, std::vector<Candidate> others,
                         FinalistRunner& runner, const FinalistOptions& options,
                         RunsSection& report, std::vector<std::string>& notes);

} // namespace tg
