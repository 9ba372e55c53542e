// The three prices of a state that the published tree search gives rewards by.
#pragma once

#include "compiler/optimizer/optimize.h"
#include "compiler/search/baselines/published_costs.h"

namespace tg {

/// References are kept. Integer programs are solved once for each distinct state, and cost infinity
/// where they fail; so do greedy ones once `stop` is asked.
std::unique_ptr<StatePrice> make_state_price(Reward reward, const EGraph& egraph,
                                             const Graph& source, PriceCache& prices,
                                             const ExtractOptions& extract, const StopToken& stop);

/// The greedy form that a reward uses; for Ilp the sharing-aware one.
PublishedCost published_cost(Reward reward, const EGraph& egraph, PriceCache& prices,
                             const StopToken& stop);

} // namespace tg
