#include "compiler/search/mcts/board.h"

#include <algorithm>

namespace tg {

StateFeatures Board::state(uint32_t depth) const {
  return {node_count(egraph_),
          class_count(egraph_),
          options_.explore.node_limit,
          incumbent.cost(),
          source_cost,
          depth,
          last,
          assessment};
}

size_t Board::act(const Action& action, uint32_t depth, Simulation& simulation) {
  double before = incumbent.cost();
  AppliedAction done;
  done.matches = action.matches.size();
  for (uint32_t number : action.matches) {
    if (explorer.full()) break;
    pool.spend(number);
    Outcome outcome =
        explorer.apply(pool.match(number), pool.of_tree(number) ? from_tree_ : nullptr);
    if (outcome == Outcome::Refused) pool.refuse(pool.match(number).group);
    done.applied += outcome == Outcome::Applied;
    done.cyclic += outcome == Outcome::Cyclic;
  }
  explorer.rebuild();
  double after = done.applied > 0 ? incumbent.update() : before;
  done.state = state(depth);
  done.action = pool.features(action.rule, action.grain, done.applied);
  if (done.applied > 0) done.gain = std::max(1 - after / before, 0.0), last = action.rule;
  simulation.actions.push_back(done);
  simulation.least = std::min(simulation.least, after);
  return done.applied;
}

void Board::roll_out(uint32_t depth, const Policy& policy, Simulation& simulation,
                     llvm::function_ref<void(double)> see, llvm::function_ref<bool()> stop) {
  std::mt19937_64 rng(simulation.seed);
  pool.collect();
  for (int i = 0; i < options_.depth && !explorer.full() && !stop(); ++i) {
    Action action;
    if (!pool.draw(state(depth), policy, rng, action)) {
      if (options_.actions.firing) break;
      continue;
    }
    uint32_t mark = egraph_.change_mark();
    size_t applied = act(action, depth++, simulation);
    pool.remove_spent_matches(action.rule);
    if (applied == 0) {
      if (options_.actions.firing) --i; // no change: the pool shrank, so the loop ends
      continue;
    }
    see(incumbent.cost());
    std::vector<Match> found;
    explorer.find_new(mark, found, [this](uint64_t group) { return !pool.refused(group); });
    pool.add_open(std::move(found));
  }
  simulation.refused = pool.refused_here();
}

size_t Board::memory_bytes() const {
  return egraph_.memory_bytes() + explorer.memory_bytes() + incumbent.memory_bytes();
}

} // namespace tg
