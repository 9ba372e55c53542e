// The result of a search, before it is checked against the source. What else was found goes to
// those that are measured whole (finalists.h), since single prices carry noise; where costs are
// measured what a second opinion chooses is among them.
#pragma once

#include "compiler/optimizer/optimize.h"

namespace tg {

struct Candidate {
  Graph graph;
  double cost_us = 0;
  /// Where asked for: how it follows from the source; or why that is not known.
  std::optional<Derivation> chain = {};
  std::string unexplained = {};
  std::vector<RuleCount> rules = {}; // of those beside the best (finalists.h)
  /// The name of the second opinion that chose it: it is measured in any case.
  std::string chosen_by = {};

  void set_explanation(Result<Derivation> found);
};

/// What the candidate is chosen by. `second_opinion` may be null.
struct PricingContext {
  CostModel& costs;
  PriceCache& prices;                  // of `costs`
  CostModel* second_opinion = nullptr; // only where whole graphs are run
  /// Receives what else was found, where it may be measured.
  std::vector<Candidate>* others = nullptr;
  /// Prices of groups that the candidate is refined by; null: it is not.
  GroupPricer* groups = nullptr;
  /// Times operators within whole runs, for prices that are better for it; null: nobody does.
  FinalistRunner* runner = nullptr;
};

/// What the device does in one kernel and the search has not found, where it is one that
/// `kernels` of the options is for; the other operators stay. The rules that led there; none:
/// nothing gained.
std::vector<RuleCount> add_kernels(Candidate& candidate, llvm::ArrayRef<Rule> rules,
                                   PriceCache& prices, const OptimizeOptions& options);

/// Sums in another order may differ in the last digits.
inline bool costs_more(double cost_us, double than_us) { return cost_us > than_us * (1 + 1e-9); }

} // namespace tg
