// What simulations are played on: an e-graph with the rules to act on it, the best choice of nodes
// in its present state, and what can be done there. A tree search has one over the e-graph that it
// grows; each of its helpers has one over a replica (Helpers).
//
// What comes of a simulation depends on the state that it starts from, the policy, the refusals
// that are known and its random numbers, not on the board or on what was played there before.
#pragma once

#include "compiler/search/incumbent.h"
#include "compiler/search/mcts/actions.h"
#include "compiler/search/mcts/search_tree.h"
#include "compiler/search/shared_cost.h"

#include <functional>
#include <memory>

namespace tg {

/// Something that was done, for the search to learn from.
struct AppliedAction {
  StateFeatures state; // after it
  ActionFeatures action;
  size_t matches = 0, applied = 0, cyclic = 0;
  double gain = 0; // relative
};

/// One simulation: the way down the tree to a leaf, and what came of going on from there.
struct Simulation {
  std::vector<int32_t> path;     // nodes of the tree, the root first
  uint64_t seed = 0;             // of the random numbers beyond the leaf
  std::vector<uint32_t> spent;   // matches that were tried at the leaf and changed nothing
  std::vector<uint64_t> refused; // groups of matches, on the way
  std::vector<AppliedAction> actions;
  double least = kInfiniteCost; // cost
};

struct BoardOptions {
  ExplorerOptions explore;
  ActionOptions actions;
  int depth = 10; // random steps of a simulation
};

class Board {
public:
  /// `refused`: groups of matches that were refused for good, before. `from_tree`: what the symbols
  /// of the tree's matches are here; null where they are the same.
  Board(EGraph& egraph, llvm::ArrayRef<Rule> rules, PriceCache& prices, const BoardOptions& options,
        const ActionPool::Groups& refused, SymbolMap* from_tree = nullptr)
      : explorer(egraph, rules, options.explore), incumbent(egraph, prices),
        pool(explorer, rules.size(), options.actions, refused), egraph_(egraph), options_(options),
        from_tree_(from_tree) {}

  Explorer explorer;
  Incumbent incumbent;
  ActionPool pool;
  double source_cost = 0;           // of the first state of the search
  RuleId last = kSourceRule;        // of the action that led here
  const Opinion* opinion = nullptr; // that holds here; may be null

  StateFeatures state(uint32_t depth) const;
  /// Applies the matches and prices the state. How many changed something; the action is noted.
  size_t act(const Action& action, uint32_t depth, Simulation& simulation);
  /// On at random from the present state. `see` is called with the cost of each state.
  void roll_out(uint32_t depth, const Policy& policy, Simulation& simulation,
                llvm::function_ref<void(double)> see, llvm::function_ref<bool()> stop);
  size_t memory_bytes() const;

private:
  EGraph& egraph_;
  BoardOptions options_;
  SymbolMap* from_tree_;
};

/// Threads that play the simulations of one tree search side by side. Each has a replica of the
/// e-graph, over symbols of its own, and is brought to a leaf by the changes that the tree holds:
/// the words as they were written, nothing is matched again. While helpers play, the search's own
/// e-graph, its symbols and its tree stand still; helpers read all three.
///
/// A simulation comes out the same on any helper, so it does not matter who plays which.
class Helpers {
public:
  /// In the state of `original`, which must be rebuilt. `costs` is asked by all threads at once.
  Helpers(int threads, const EGraph& original, llvm::ArrayRef<Rule> rules, SharedCost& costs,
          const BoardOptions& options, const ActionPool::Groups& refused, double source_cost);
  ~Helpers();

  /// Plays on from the leaves of all simulations.
  void play(const SearchTree& tree, llvm::MutableArrayRef<Simulation> simulations,
            const Policy& policy, llvm::function_ref<bool()> stop);
  /// The change was made for good.
  void follow(const Delta& change);
  size_t memory_bytes() const;

private:
  class Helper;
  SharedCost& costs_;
  std::vector<std::unique_ptr<Helper>> helpers_;
};

} // namespace tg
