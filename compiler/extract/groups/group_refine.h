// Extraction by the prices of groups of operators. The groups that a device fuses when it loads a
// graph have prices that are not a sum over nodes, so no extractor can minimise them. But the
// device can price whole graphs. So a local search (find_moves) starts from the choice by
// operators' prices and minimises the price of the graph by groups; operators' prices break ties.
// Moves are tried in batches, in the order of the cost that they add by operators' prices, so that
// a pricer that measures can time new groups together.
//
// The search is limited by a number of graphs to price and by time. If the number alone stops it,
// equal inputs have equal results.
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
  /// Graphs that cost more than this by operators' prices are not taken.
  double most_cost_us = kInfiniteCost;
  double max_weight_growth = 4; // as in ExtractOptions
  StopToken stop;
};

struct RefinedGraph {
  ExtractedGraph result; // equal to `start` if nothing was better
  GroupPrice before, after;
  size_t priced = 0, moves = 0; // graphs priced; moves made
  bool ended = false;           // by the time limit or the user
};

/// Returns the best graph found in the e-graph, starting from `start`; it never costs more by
/// groups. Inputs and names are those of `source`. nullopt if the e-graph does not contain `start`
/// or the device does not support it. Requires clean().
std::optional<RefinedGraph> refine_by_groups(const EGraph& egraph, const Graph& source,
                                             const Graph& start, PriceCache& prices,
                                             GroupPricer& groups, const RefineOptions& options);

/// A step from one choice to a neighbour, for a search whose objective is not a sum over nodes.
/// There are three kinds:
///
///   switch   a class takes another of its nodes
///   open     an unused class comes into use, and all classes that could use it switch to it
///            (one joined product instead of several)
///   close    all users of a class switch to nodes that do not need it (several products instead of
///            a joined one)
///
/// Networks repeat their layers, and a gain in one layer is a gain in all. Moves that change
/// the same operators on the same types, between the same neighbours, form one family and are
/// tried together.
struct GroupMove {
  /// Classes in use, each once, and the nodes to which they switch.
  llvm::SmallVector<std::pair<ClassIx, NodeIx>, 2> switches;
  double estimate = 0; // the cost that it adds by operators' prices
};
/// Moves that change the same things in different places, in the order in which they were found.
using MoveFamily = std::vector<GroupMove>;

/// Returns the cheapest trees of all classes when the nodes in use cost nothing.
GreedyResult marginal_trees(const ExtractionProblem& problem, const Choice& choice);

/// Returns at most `most` families of moves around a choice (trimmed, sound), those that add
/// least first.
std::vector<MoveFamily> find_moves(const EGraph& egraph, const EGraphProblem& problem,
                                   const Choice& choice, const GreedyResult& marginal, size_t most);

/// Returns the choice after a move, trimmed; nullopt if it has a cycle or exceeds the byte limit.
std::optional<Choice> after_move(const ExtractionProblem& problem, const Choice& choice,
                                 const GreedyResult& marginal,
                                 llvm::ArrayRef<std::pair<ClassIx, NodeIx>> switches);

} // namespace tg
