// The environment of a simulation: an e-graph with rules, the best choice of nodes in its current
// state, and the available actions. A tree search has one board over the e-graph that it grows.
// Each helper thread has a board over a replica (Helpers).
//
// Invariant: the result of a simulation depends on its start state, the policy, the known refusals
// and its random numbers, but not on the board or on earlier simulations on it.
#pragma once

#include "compiler/search/incumbent.h"
#include "compiler/search/mcts/actions.h"
#include "compiler/search/mcts/search_tree.h"
#include "compiler/search/shared_cost.h"

#include <functional>
#include <memory>

namespace tg {

/// An applied action, from which the search learns.
struct AppliedAction {
  StateFeatures state; // after the action
  ActionFeatures action;
  size_t matches = 0, applied = 0, cyclic = 0;
  double gain = 0; // relative reduction of the cost
};

/// One simulation: the path down the tree to a leaf, and the results of the rollout from there.
struct Simulation {
  std::vector<int32_t> path;     // nodes of the tree, root first
  uint64_t seed = 0;             // for the rollout
  std::vector<uint32_t> spent;   // matches that changed nothing at the leaf
  std::vector<uint64_t> refused; // groups of matches refused on the way
  std::vector<AppliedAction> actions;
  double least = kInfiniteCost; // lowest cost seen
};

struct BoardOptions {
  ExplorerOptions explore;
  ActionOptions actions;
  int depth = 10; // random steps per simulation
};

class Board {
public:
  /// `refused` holds the groups of matches refused so far. `from_tree` maps the symbols of the
  /// tree's matches to those of this e-graph, or is null if they are the same.
  Board(EGraph& egraph, llvm::ArrayRef<Rule> rules, PriceCache& prices, const BoardOptions& options,
        const ActionPool::Groups& refused, SymbolMap* from_tree = nullptr)
      : explorer(egraph, rules, options.explore), incumbent(egraph, prices),
        pool(explorer, rules.size(), options.actions, refused), egraph_(egraph), options_(options),
        from_tree_(from_tree) {}

  Explorer explorer;
  Incumbent incumbent;
  ActionPool pool;
  double source_cost = 0;                 // cost of the first state of the search
  RuleId last = kSourceRule;              // rule of the last action
  const Assessment* assessment = nullptr; // for the current state; may be null

  StateFeatures state(uint32_t depth) const;
  /// Applies the matches, prices the state and records the action. Returns the number of matches
  /// that changed the e-graph.
  size_t act(const Action& action, uint32_t depth, Simulation& simulation);
  /// Plays random actions from the current state. `see` is called with the cost of each state.
  void roll_out(uint32_t depth, const Policy& policy, Simulation& simulation,
                llvm::function_ref<void(double)> see, llvm::function_ref<bool()> stop);
  size_t memory_bytes() const;

private:
  EGraph& egraph_;
  BoardOptions options_;
  SymbolMap* from_tree_;
};

/// Threads that play the simulations of one tree search in parallel. Each has a replica of the
/// e-graph with its own symbols. A replica reaches a leaf by redoing the changes recorded in the
/// tree, without matching again. While helpers play, the search does not modify its e-graph,
/// symbols and tree, which all helpers read.
///
/// A simulation has the same result on any helper, so their assignment does not matter.
class Helpers {
public:
  /// Replicates `original`, which must be rebuilt. All threads query `costs` concurrently.
  Helpers(int threads, const EGraph& original, llvm::ArrayRef<Rule> rules, SharedCost& costs,
          const BoardOptions& options, const ActionPool::Groups& refused, double source_cost);
  ~Helpers();

  /// Plays all simulations on from their leaves.
  void play(const SearchTree& tree, llvm::MutableArrayRef<Simulation> simulations,
            const Policy& policy, llvm::function_ref<bool()> stop);
  /// Applies a committed change to all replicas.
  void follow(const Delta& change);
  size_t memory_bytes() const;

private:
  class Helper;
  SharedCost& costs_;
  std::vector<std::unique_ptr<Helper>> helpers_;
};

} // namespace tg
