// What a search strategy is to those who run an optimisation. The rest of the program knows
// strategies by their rows in strategies.def alone.
#pragma once

#include "compiler/optimizer/candidate.h"

namespace tg {

/// What a strategy is asked. Everything outlives the search.
struct StrategyTask {
  const Graph& source;
  llvm::ArrayRef<Rule> rules;
  const PricingContext& pricing;
  const OptimizeOptions& options;
};

class SearchStrategy {
public:
  virtual ~SearchStrategy() = default;

  /// Searches as the options say, and notes what happened. Errors: `no_solution`.
  virtual Result<Candidate> find(const StrategyTask& task, OptimizeReport& report) const = 0;

  /// What suits it where nobody says otherwise: seconds, and live nodes of an e-graph. `guessed`:
  /// prices are found out between several searches.
  struct Limits {
    double time_limit_s = 60;
    size_t node_limit = 50'000;
  };
  virtual Limits limits(bool /*guessed*/) const { return {}; }

  /// Explores first and extracts afterwards, which takes its share of time and memory.
  virtual bool extracts_at_the_end() const { return false; }
  /// What it finds is completed by what the device does in one kernel (OptimizeOptions::kernels).
  /// Not what was published without.
  virtual bool takes_kernels() const { return false; }
};

/// The strategy that the options give or name, and its name.
const SearchStrategy& strategy_of(const OptimizeOptions& options);
llvm::StringRef search_name(const OptimizeOptions& options);

} // namespace tg
