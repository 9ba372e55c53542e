// The actions of a tree search in a state. Matches found on the path to the state are kept in a
// pool; those still open are offered at three grains: a rule everywhere, everywhere in one group of
// similar places, or at one place. A policy's weights determine the order by a random draw.
//
// Invariants: matches are numbered in the order in which they were found on the path from the root,
// so a number means the same in a node and in all nodes below it. A group of matches that was
// refused permanently is never offered again in any state, because similar matches are refused
// alike. Refusals in a simulation are recorded here and take effect elsewhere only when the search
// publishes them.
#pragma once

#include "compiler/search/explorer.h"
#include "compiler/search/mcts/policy.h"

#include <llvm/ADT/DenseSet.h>

#include <deque>
#include <random>

namespace tg {

struct Action {
  RuleId rule{};
  Grain grain{};
  std::vector<uint32_t> matches; // indices in the pool
  double share = 0;              // of the total weight of the state's actions
};

struct ActionOptions {
  bool widen = true;  // offer single places besides whole rules
  bool firing = true; // draw only rules that have matches
};

class ActionPool {
public:
  using Groups = llvm::DenseSet<uint64_t>;
  /// `refused` holds groups refused earlier; it must outlive the pool.
  ActionPool(const Explorer& explorer, size_t rules, ActionOptions options, const Groups& refused)
      : explorer_(explorer), options_(options), refused_before_(refused), open_(rules) {}

  // --- the path ---------------------------------------------------------------------------------
  /// Resets the pool for another simulation.
  void clear();
  /// Adds matches to the pool. They are stored by pointer and must not move.
  void add(llvm::ArrayRef<Match> found);
  /// Adds matches of a rollout, which belong to no node of the tree. They must not be refused, are
  /// open at once, and are owned by the pool.
  void add_open(std::vector<Match> found);
  const Match& match(uint32_t number) const { return *pool_[number]; }
  /// Returns true if the match belongs to a node of the tree.
  bool of_tree(uint32_t number) const { return number < of_tree_; }
  void spend(uint32_t number) { spent_[number] = true; }
  void refuse(uint64_t group) { refused_.insert(group); }
  bool refused(uint64_t group) const {
    return refused_before_.contains(group) || refused_.contains(group);
  }
  /// Groups refused in this simulation.
  std::vector<uint64_t> refused_here() const { return {refused_.begin(), refused_.end()}; }

  // --- actions ----------------------------------------------------------------------------------
  /// Recomputes the open matches: those neither spent nor refused.
  void collect();
  /// Removes the spent matches of one rule from the open ones.
  void remove_spent_matches(RuleId rule);
  /// Returns all actions of a state in the order in which they are to be tried.
  std::vector<Action> list(const StateFeatures& state, const Policy& policy,
                           std::mt19937_64& rng) const;
  /// Draws a rule with matches by weight, and a random grain. Returns false if no rule has a match.
  bool draw(const StateFeatures& state, const Policy& policy, std::mt19937_64& rng,
            Action& action) const;
  ActionFeatures features(RuleId rule, Grain grain, size_t places) const;
  /// Describes the places of an action, for example "3 places like relu f32[4, 8] of conv1.weight".
  /// Returns "" for a rule everywhere.
  std::string place_text(const Action& action) const;

private:
  void offer(RuleId rule, std::mt19937_64& rng, std::vector<Action>& actions) const;

  const Explorer& explorer_;
  ActionOptions options_;
  const Groups& refused_before_;
  Groups refused_; // refused in this simulation
  std::vector<const Match*> pool_;
  uint32_t of_tree_ = 0; // the first so many matches belong to nodes of the tree
  std::vector<bool> spent_;
  std::deque<std::vector<Match>> rolled_;
  std::vector<std::vector<uint32_t>> open_; // by rule
};

} // namespace tg
