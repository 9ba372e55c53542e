// `--search pact24`: the published tree search as a strategy.
#pragma once

#include "compiler/api/own_search.h"

namespace tg::paper {

/// The price of a state in the rewards of the published search (published_costs.h). It also selects
/// the final extraction: the extractor of the options for Ilp, else the same greedy form.
enum class Reward : uint8_t { Greedy, GreedyShared, Ilp };

/// Returns the strategy with the budget, depth, exploration constant and extractor of the options.
std::shared_ptr<const tangram::OwnSearch>
published_tree_search(Reward reward, bool reuse_tree, const tangram::OptimizeOptions& options);

} // namespace tg::paper

template <> struct tangram::Words<tg::paper::Reward> {
  static constexpr std::string_view kRows[] = {"greedy", "greedy-shared", "ilp"};
};
