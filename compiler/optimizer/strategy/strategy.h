// The interface of search strategies. The remaining program knows strategies only by their rows in
// strategies.def.
#pragma once

#include "compiler/optimizer/candidate.h"

namespace tg {

/// The inputs of a strategy. Everything outlives the search.
struct StrategyTask {
  const Graph& source;
  llvm::ArrayRef<Rule> rules;
  const PricingContext& pricing;
  const OptimizeOptions& options;
};

class SearchStrategy {
public:
  virtual ~SearchStrategy() = default;

  /// Searches as the options specify, and records the statistics. Errors: `no_solution`.
  virtual Result<Candidate> find(const StrategyTask& task, FindingReport& report) const = 0;

  /// Default limits: seconds, and live nodes of an e-graph. `guessed`: prices are measured between
  /// several searches.
  struct Limits {
    double time_limit_s = 60;
    size_t node_limit = 50'000;
  };
  virtual Limits limits(bool /*guessed*/) const { return {}; }

  /// True if the strategy explores first and extracts afterwards, which takes time and memory as
  /// well.
  virtual bool extracts_after_exploring() const { return false; }
  /// True if single kernels of the device are added to its result (OptimizeOptions::kernels). False
  /// for searches that were published without.
  virtual bool takes_kernels() const { return false; }
};

/// Returns the strategy that the options give or name, and its name.
const SearchStrategy& strategy_of(const OptimizeOptions& options);
llvm::StringRef search_name(const OptimizeOptions& options);

} // namespace tg
