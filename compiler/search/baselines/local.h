// Searches over graphs, without an e-graph that grows: the baselines that recent work finds to be
// as good at times. A move is one rule at one place; moves are found and made by the same matcher
// and the same rules as everywhere, in an e-graph of the one graph that is taken back after each.
//
//   anneal   simulated annealing (Kirkpatrick et al. 1983): a random move is taken if it costs
//   less,
//            else with probability exp(-increase / temperature), which falls geometrically
//   taso     TASO's backtracking search (Jia et al., SOSP 2019, algorithm 2): a queue of graphs by
//            cost; of the cheapest all moves are made; those below alpha times the best are queued
#pragma once

#include "compiler/egraph/explain/explain.h"
#include "compiler/search/limits.h"
#include "compiler/search/mcts/mcts.h"

namespace tg {

struct LocalOptions : SearchLimits {
  size_t budget = 0;   // moves (anneal, 0: 4,000), graphs taken from the queue (taso, 0: 300)
  double alpha = 1.05; // taso
  double start_temperature = 0.02, end_temperature = 0.0002; // of the source's cost
  size_t most_queued = 2'000;                                // taso; the dearest go
  ExplorerOptions explore; // node_limit bounds the source's e-graph and what a move adds
  TellProgress progress;   // whenever the best falls, and now and then
  bool explain = false;    // with LocalReport::last_move
  size_t finalists = 0;    // graphs to keep beside the best (LocalReport::finalists)
};

/// A move of a local search, on the way to a graph; for explanations.
struct MoveMade {
  Graph before, after;
  History history; // of the e-graph in which it was made
  std::shared_ptr<MoveMade> earlier;

  /// Lets go of those before one by one: there may be very many.
  ~MoveMade() {
    for (std::shared_ptr<MoveMade> next = std::move(earlier); next && next.use_count() == 1;)
      next = std::move(next->earlier);
  }
};

/// A graph that was the best for a while, cheaper than the source.
struct LocalFinalist {
  Graph graph;
  double cost_us = 0;
  std::vector<std::pair<RuleId, size_t>> rules_applied; // on the way to it, in any order
  std::shared_ptr<MoveMade> last_move;                  // to it, where asked for
};

struct LocalReport {
  StopReason stop = StopReason::Iterations; // the budget; Saturated: nothing is left to do
  size_t moves = 0, graphs = 0;             // moves made; distinct graphs seen
  double start_cost = 0, best_cost = 0;
  Graph best; // the source if nothing was better
  double seconds = 0;
  size_t most_nodes = 0, memory_bytes = 0;
  std::vector<RuleStats> rules;                         // by RuleId
  std::vector<std::pair<RuleId, size_t>> rules_applied; // on the way to the best, in any order
  std::shared_ptr<MoveMade> last_move;                  // to the best, where asked for
  std::vector<LocalFinalist> finalists;                 // the cheapest first
};

LocalReport search_anneal(const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                          const LocalOptions& options);
LocalReport search_taso(const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                        const LocalOptions& options);

} // namespace tg
