// Searches over graphs, without a growing e-graph: baselines that recent work finds competitive in
// some cases. A move is one rule at one place. Moves use the same matcher and rules as the other
// searches, in an e-graph of a single graph that is rolled back after each move.
//
//   anneal   simulated annealing (Kirkpatrick et al. 1983): a random move is accepted if it lowers
//            the cost, otherwise with probability exp(-increase / temperature); the temperature
//            falls geometrically
//   taso     TASO's backtracking search (Jia et al., SOSP 2019, algorithm 2): a queue of graphs
//            ordered by cost; the cheapest one is expanded by all moves, and results below alpha
//            times the best cost are queued
#pragma once

#include "compiler/egraph/explain/explain.h"
#include "compiler/search/limits.h"
#include "compiler/search/mcts/mcts.h"

namespace tg {

struct LocalOptions : SearchLimits {
  size_t budget = 0;   // moves (anneal, 0: 4,000) or graphs taken from the queue (taso, 0: 300)
  double alpha = 1.05; // taso
  double start_temperature = 0.02, end_temperature = 0.0002; // relative to the source's cost
  size_t most_queued = 2'000;                                // taso; the most expensive are dropped
  ExplorerOptions explore; // node_limit bounds the source's e-graph and the nodes that a move adds
  NotifyProgress progress; // called on each improvement and periodically
  bool explain = false;    // fill LocalReport::last_move
  size_t finalists = 0;    // number of graphs to keep besides the best (LocalReport::finalists)
};

/// One move on the path of a local search, kept for explanations.
struct LocalMove {
  Graph before, after;
  History history; // history of the e-graph in which the move was made
  std::shared_ptr<LocalMove> earlier;

  /// Releases the chain iteratively, because a long one would overflow the stack.
  ~LocalMove() {
    for (std::shared_ptr<LocalMove> next = std::move(earlier); next && next.use_count() == 1;)
      next = std::move(next->earlier);
  }
};

/// A graph, cheaper than the source, that was the best for some time.
struct LocalFinalist {
  Graph graph;
  double cost_us = 0;
  std::vector<RuleUse> rules_applied;   // on the path to this graph, in any order
  std::shared_ptr<LocalMove> last_move; // with LocalOptions::explain
};

struct LocalReport {
  StopReason stop = StopReason::Iterations; // Iterations: the budget; Saturated: no move is left
  size_t moves = 0, graphs = 0;             // moves made; distinct graphs seen
  double start_cost = 0, best_cost = 0;
  Graph best; // the source if nothing better was found
  double seconds = 0;
  size_t most_nodes = 0, memory_bytes = 0;
  std::vector<RuleStats> rules;         // by RuleId
  std::vector<RuleUse> rules_applied;   // on the path to the best graph, in any order
  std::shared_ptr<LocalMove> last_move; // made the best graph; with LocalOptions::explain
  std::vector<LocalFinalist> finalists; // cheapest first
};

LocalReport search_anneal(const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                          const LocalOptions& options);
LocalReport search_taso(const Graph& source, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                        const LocalOptions& options);

} // namespace tg
