// What a tree search can do in a state: the matches found on the way there, those of them that are
// still open, and actions made of them at three grains (a rule everywhere, everywhere where things
// look equal, at one place). Which come first is drawn by a policy's weights.
//
// Matches are numbered in the order in which they were found on the path from the root, so that a
// number means the same in a node and in all nodes below it. An action that was refused for good is
// never offered again, in any state: what looks equal is refused equally. What is refused in a
// simulation is noted here and known to others when the search says so.
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
  std::vector<uint32_t> matches; // numbers in the pool
  double share = 0;              // of the weights of all actions of the state
};

struct ActionOptions {
  bool widen = true;  // single places beside whole rules
  bool firing = true; // draw only what has matches
};

class ActionPool {
public:
  using Groups = llvm::DenseSet<uint64_t>;
  /// `refused`: before; stays where it is.
  ActionPool(const Explorer& explorer, size_t rules, ActionOptions options, const Groups& refused)
      : explorer_(explorer), options_(options), refused_before_(refused), open_(rules) {}

  // --- the path ---------------------------------------------------------------------------------
  /// For another simulation.
  void clear();
  /// The matches join the pool; they have to stay where they are.
  void add(llvm::ArrayRef<Match> found);
  /// The same for matches that belong to no node, in a rollout, and are not refused: open at once,
  /// and kept here.
  void add_open(std::vector<Match> found);
  const Match& match(uint32_t number) const { return *pool_[number]; }
  /// Whether the match belongs to a node.
  bool of_tree(uint32_t number) const { return number < of_tree_; }
  void spend(uint32_t number) { spent_[number] = true; }
  void refuse(uint64_t group) { refused_.insert(group); }
  bool refused(uint64_t group) const {
    return refused_before_.contains(group) || refused_.contains(group);
  }
  /// In this simulation.
  std::vector<uint64_t> refused_here() const { return {refused_.begin(), refused_.end()}; }

  // --- actions ----------------------------------------------------------------------------------
  /// Looks anew at what is open: neither spent nor refused.
  void collect();
  /// Of one rule, after some of its matches were spent.
  void forget_spent(RuleId rule);
  /// All actions of a state, in the order of their turns.
  std::vector<Action> list(const StateFeatures& state, const Policy& policy,
                           std::mt19937_64& rng) const;
  /// A random rule with matches, by weight, at a random grain. False if nothing fires.
  bool draw(const StateFeatures& state, const Policy& policy, std::mt19937_64& rng,
            Action& action) const;
  ActionFeatures features(RuleId rule, Grain grain, size_t places) const;
  /// In words, for people: "3 places like relu f32[4, 8] of conv1.weight";
  /// "" for a rule everywhere.
  std::string place_text(const Action& action) const;

private:
  void offer(RuleId rule, std::mt19937_64& rng, std::vector<Action>& actions) const;

  const Explorer& explorer_;
  ActionOptions options_;
  const Groups& refused_before_;
  Groups refused_; // here
  std::vector<const Match*> pool_;
  uint32_t of_tree_ = 0; // of them, the first
  std::vector<bool> spent_;
  std::deque<std::vector<Match>> rolled_;
  std::vector<std::vector<uint32_t>> open_; // by rule
};

} // namespace tg
