// Extraction by prices of groups. What a device fuses when it loads a graph is no sum over nodes,
// so no extractor can minimise it; but it can be asked for whole graphs. So the choice that
// operators' prices gave is the start of a local search (find_moves) whose objective is the
// price of the graph by groups, ties going to operators' prices. Moves are tried in the order of
// what they would add by operators, in batches, so that a pricer that measures can take new groups
// together.
//
// Bounded by a number of graphs to price and by time; stopped by the number alone, equal inputs
// have equal results.
#pragma once

#include "compiler/extract/cost/cost.h"
#include "compiler/extract/extract.h"
#include "compiler/extract/greedy/greedy.h"
#include "lang/core/support/stop.h"

namespace tg {

struct RefineOptions {
  size_t most_priced = 200; // graphs
  size_t batch = 8;
  double time_limit_s = 10;
  /// No graph that costs more than this by operators is taken.
  double most_cost_us = kInfiniteCost;
  double max_weight_growth = 4; // as in ExtractOptions
  StopToken stop;
};

struct RefinedGraph {
  ExtractedGraph result; // `start` itself if nothing was better
  GroupPrice before, after;
  size_t priced = 0, moves = 0; // graphs asked for; moves made
  bool ended = false;           // by the clock, or the user
};

/// The best graph found in the e-graph, from `start` on: never dearer by groups. Inputs and names
/// as in `source`. nullopt where the e-graph does not hold `start`, or the device does not take it.
/// Requires clean().
std::optional<RefinedGraph> refine_by_groups(const EGraph& egraph, const Graph& source,
                                             const Graph& start, PriceCache& prices,
                                             GroupPricer& groups, const RefineOptions& options);

/// Steps from one choice to its neighbours, for a search whose objective is not a sum over nodes
/// (group_refine.h). Three kinds:
///
///   switch   a class takes another of its nodes
///   open     a class that is not used comes into use, and all classes that could use it change
///   over
///            (one joined product instead of several)
///   close    all users of a class make do without it (several products instead of a joined one)
///
/// Networks repeat themselves, and what gains in one layer gains in all: moves that change the same
/// operators on the same types, between the same neighbours, are one family, to be tried together.
struct GroupMove {
  /// Classes in use, each once, and the nodes that they take.
  llvm::SmallVector<std::pair<ClassIx, NodeIx>, 2> switches;
  double estimate = 0; // by operators' prices, of what is added
};
/// Moves alike, the first found first.
using MoveFamily = std::vector<GroupMove>;

/// What unused classes would take: with nodes in use for nothing.
GreedyResult marginal_trees(const ExtractionProblem& problem, const Choice& choice);

/// The families around a choice (trimmed, sound), at most so many, those that add least first.
std::vector<MoveFamily> find_moves(const EGraph& egraph, const EGraphProblem& problem,
                                   const Choice& choice, const GreedyResult& marginal, size_t most);

/// The choice after a move, trimmed; nullopt where it has a circle or stores too much.
std::optional<Choice> after_move(const ExtractionProblem& problem, const Choice& choice,
                                 const GreedyResult& marginal,
                                 llvm::ArrayRef<std::pair<ClassIx, NodeIx>> switches);

} // namespace tg
