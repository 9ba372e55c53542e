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

void add_count(std::vector<RuleCount>& rules, const RuleCount& more) {
  auto known = llvm::find_if(rules, [&](const RuleCount& row) { return row.rule == more.rule; });
  if (known == rules.end())
    rules.push_back(more);
  else
    known->count += more.count;
}

std::vector<RuleCount> add_kernels(Candidate& candidate, llvm::ArrayRef<Rule> rules,
                                   PriceCache& prices, const OptimizeOptions& options) {
  if (!options.kernels || !strategy_of(options.search).takes_kernels()) return {};
  std::optional<WithKernels> with =
      use_kernels(candidate.graph, rules, prices, options.explore.numerics);
  if (!with) return {};
  std::vector<RuleCount> added = count_rules(with->chain, rules);
  for (const RuleCount& fusing : added) add_count(candidate.rules, fusing);
  candidate.graph = std::move(with->graph);
  candidate.cost_us = with->cost_us;
  if (candidate.chain) append(*candidate.chain, with->chain);
  return added;
}

} // namespace tg
