// The result of a search, before it is checked against the source. Other findings are kept for
// whole runs (finalists.h), because prices of single operators are noisy. With measured costs they
// include the choice of a second opinion.
#pragma once

#include "compiler/optimizer/optimize.h"

namespace tg {

struct Candidate {
  Graph graph;
  double cost_us = 0;
  /// With `explain`: the derivation from the source, or the reason why it is missing.
  std::optional<Derivation> chain = {};
  std::string unexplained = {};
  std::vector<RuleCount> rules = {}; // for those besides the best (finalists.h)
  /// The second opinion that chose it, if any; such a candidate is always measured.
  std::string chosen_by = {};

  void set_explanation(Result<Derivation> found);
};

/// The prices by which the candidate is chosen. `alternative_costs` may be null.
struct PricingContext {
  CostModel& costs;
  PriceCache& prices;                     // of `costs`
  CostModel* alternative_costs = nullptr; // only with whole runs
  /// Receives the other findings if they may be measured.
  std::vector<Candidate>* others = nullptr;
  /// Group prices for refining the candidate; null: no refinement.
  GroupPricer* groups = nullptr;
  /// Times operators within whole runs, for better prices; null: not available.
  FinalistRunner* runner = nullptr;
};

/// Uses single kernels of the device for parts of the candidate, if the strategy supports this and
/// `kernels` is set. Other operators are unchanged. Returns the rules that led there; empty if
/// nothing was gained.
std::vector<RuleCount> add_kernels(Candidate& candidate, llvm::ArrayRef<Rule> rules,
                                   PriceCache& prices, const OptimizeOptions& options);

/// Tolerates rounding differences between summation orders.
inline bool costs_more(double cost_us, double than_us) { return cost_us > than_us * (1 + 1e-9); }

} // namespace tg
