// Threads that play the simulations of one tree search side by side. Each has a replica of the
// e-graph, over symbols of its own, and is brought to a leaf by the changes that the tree holds:
// the words as they were written, nothing is matched again. While helpers play, the search's own
// e-graph, its symbols and its tree stand still; helpers read all three.
//
// A simulation comes out the same on any helper (board.h), so it does not matter who plays which.
#pragma once

#include "compiler/search/mcts/board.h"
#include "compiler/search/mcts/search_tree.h"
#include "compiler/search/shared_cost.h"

#include <memory>

namespace tg {

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
