#include "compiler/optimizer/candidate.h"

#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/strategy/strategy.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

void Candidate::set_explanation(Result<Derivation> found) {
  if (found)
    chain = std::move(*found);
  else
    unexplained = found.error().message;
}

std::vector<RuleCount> add_kernels(Candidate& candidate, llvm::ArrayRef<Rule> rules,
                                   PriceCache& prices, const OptimizeOptions& options) {
  if (!options.kernels || !strategy_of(options).takes_kernels()) return {};
  std::optional<WithKernels> with =
      use_kernels(candidate.graph, rules, prices, options.explore.numerics);
  if (!with) return {};
  std::vector<RuleCount> added = count_rules(with->chain, rules);
  add_counts(candidate.rules, added);
  candidate.graph = std::move(with->graph);
  candidate.cost_us = with->cost_us;
  if (candidate.chain) append(*candidate.chain, with->chain);
  return added;
}

} // namespace tg
