// What a search comes to, before it is held against the source: one way for the searches that grow
// one e-graph, one for the portfolio, one for those over graphs. Where costs are measured there are
// two finalists, since single prices carry noise: what measured prices choose, and what a second
// opinion does; the one that runs faster goes on.
#pragma once

#include "compiler/driver/optimize.h"

namespace tg {

struct Candidate {
  Graph graph;
  double cost_us = 0;
  /// Where asked for: how it follows from the source; or why that cannot be told.
  std::optional<Derivation> chain = {};
  std::string unexplained = {};
  std::vector<RuleCount> rules = {}; // of those beside the best (finalists.h)

  void tell(Result<Derivation> found);
};

/// What the candidate is chosen by. `finalists` and `second_opinion` may be null.
struct Judges {
  CostModel& costs;
  PriceCache& prices; // of `costs`
  FinalistRunner* finalists = nullptr;
  CostModel* second_opinion = nullptr;
  /// Receives what else was found, where it may be measured.
  std::vector<Candidate>* others = nullptr;
  /// Prices of groups that the candidate is refined by; null: it is not.
  GroupPricer* groups = nullptr;
};

/// Searches as the options say, and notes what happened. Errors: `no_solution`.
Result<Candidate> find_candidate(const Graph& source, llvm::ArrayRef<Rule> rules,
                                 const Judges& judges, const OptimizeOptions& options,
                                 OptimizeReport& report);

/// Sums in another order may differ in the last digits.
inline bool costs_more(double cost_us, double than_us) { return cost_us > than_us * (1 + 1e-9); }

} // namespace tg
