// Why the marks are sound together: a node that is marked because an alternative is strictly
// cheaper is in no best choice at all, and so is a node above the bound. These can be removed all
// at once. A node with an alternative of equal cost (whose children are among its landmarks, so
// that no tree is involved) is removed only while that alternative stays, one after the other. So
// some best choice is left each time.
//
// Why no cycle appears: landmarks of a node are below it in any choice, so they do not need its
// class. A tree that costs less than the cheapest of the class does not contain the class.
#include "compiler/extract/solver/reduce.h"

#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/problem.h"

namespace tg {

std::vector<llvm::BitVector> landmarks(const ExtractionProblem& problem) {
  Poll never({});
  return landmarks(problem, never);
}

std::vector<llvm::BitVector> landmarks(const ExtractionProblem& problem, Poll& poll) {
  auto size = static_cast<unsigned>(problem.class_count());
  uint64_t words = 1 + size / 64;
  std::vector<llvm::BitVector> needs(size, llvm::BitVector(size, true));
  std::vector<ClassIx> order = children_first(problem);
  std::vector<bool> dirty(size, true);
  llvm::BitVector all(size), one(size);
  for (bool changed = true; changed;) {
    changed = false;
    for (ClassIx cls : order) {
      if (!dirty[cls.index]) continue;
      dirty[cls.index] = false;
      if (poll.after(words * (4 + problem.nodes(cls).size()))) return needs;
      all.set();
      for (NodeIx n : problem.nodes(cls)) {
        if (!problem.usable(n)) continue;
        one.reset();
        for (ClassIx child : problem.children(n)) one |= needs[child.index];
        all &= one;
      }
      all.set(cls.index);
      if (all == needs[cls.index]) continue;
      needs[cls.index] = all;
      changed = true;
      for (NodeIx user : problem.users(cls)) dirty[problem.class_of(user).index] = true;
    }
  }
  return needs;
}

namespace {

class Pruning {
public:
  Pruning(const ExtractionProblem& problem, Poll& poll)
      : problem_(problem), poll_(poll), needs_(landmarks(problem, poll)),
        greedy_(greedy_trees(problem)), root_(problem.class_count()),
        least_(problem.class_count(), kInfiniteCost), own_(problem.class_count()),
        marked_(problem.node_count()), needed_(static_cast<unsigned>(problem.class_count())) {
    for (ClassIx root : problem.roots()) root_[root.index] = true;
    for (uint32_t n = 0; n < problem.node_count(); ++n) {
      double& least = least_[problem.class_of({n}).index];
      if (problem.usable({n})) least = std::min(least, problem.cost({n}));
    }
    for (ClassIx cls : children_first(problem)) set_own(cls);
  }

  /// Marks nodes. The marks are sound at any point, given the landmarks.
  std::vector<bool> run() {
    if (poll_.now()) return std::move(marked_);
    mark_expensive();
    for (uint32_t c = 0; c < problem_.class_count(); ++c)
      for (NodeIx n : problem_.nodes({c})) {
        if (marked_[n.index]) continue;
        if (poll_.after(problem_.class_count() / 64)) return std::move(marked_);
        find_needed(n);
        marked_[n.index] = !problem_.usable(n) || needed_.test(c) || replaceable(n);
      }
    return std::move(marked_);
  }

private:
  bool only_used_once(ClassIx cls) const {
    return !root_[cls.index] && problem_.users(cls).size() == 1;
  }

  /// Returns the node's cost plus the least cost of the classes that only it uses.
  double with_own(NodeIx node) const {
    double sum = problem_.cost(node);
    llvm::ArrayRef<ClassIx> children = problem_.children(node);
    for (size_t i = 0; i < children.size(); ++i)
      if (only_used_once(children[i]) && !llvm::is_contained(children.take_front(i), children[i]))
        sum += own_[children[i].index];
    return sum;
  }

  void set_own(ClassIx cls) {
    double best = kInfiniteCost;
    for (NodeIx n : problem_.nodes(cls))
      if (problem_.usable(n)) best = std::min(best, with_own(n));
    own_[cls.index] = best == kInfiniteCost ? 0 : best;
  }

  void find_needed(NodeIx node) {
    needed_.reset();
    for (ClassIx child : problem_.children(node)) needed_ |= needs_[child.index];
  }

  /// Marks nodes whose bound exceeds greedy's choice, part by part.
  void mark_expensive() {
    constexpr double kTolerance = 1e-9; // relative: rounding of sums in another order
    std::vector<uint32_t> part = independent_parts(problem_);
    std::vector<double> known(problem_.class_count()), floor(problem_.class_count());
    for (ClassIx cls : check_choice(problem_, greedy_.choice).order)
      known[part[cls.index]] += problem_.cost(greedy_.choice[cls]);
    llvm::BitVector forced(static_cast<unsigned>(problem_.class_count()));
    for (ClassIx root : problem_.roots()) forced |= needs_[root.index];
    for (unsigned c : forced.set_bits()) floor[part[c]] += least_[c];
    for (uint32_t n = 0; n < problem_.node_count(); ++n) {
      uint32_t c = problem_.class_of({n}).index;
      if (!problem_.usable({n})) continue;
      if (poll_.after(problem_.class_count() / 64)) return;
      find_needed({n});
      needed_.reset(forced);
      double bound = floor[part[c]] + problem_.cost({n}) - (forced.test(c) ? least_[c] : 0);
      for (unsigned other : needed_.set_bits())
        if (other != c) bound += least_[other];
      marked_[n] = bound > known[part[c]] * (1 + kTolerance);
    }
  }

  /// Returns true if another node of the class is as good. needed_ has the classes that
  /// `node` needs.
  bool replaceable(NodeIx node) const {
    constexpr size_t kMostCompared = 512; // nodes of a class, for the quadratic step
    constexpr double kTolerance = 1e-9;
    ClassIx cls = problem_.class_of(node);
    if (problem_.nodes(cls).size() > kMostCompared) return false;
    double cost = with_own(node);
    for (NodeIx other : problem_.nodes(cls)) {
      if (other == node || marked_[other.index] || !problem_.usable(other)) continue;
      double sum = problem_.cost(other);
      bool trees = false;
      for (ClassIx child : problem_.children(other)) {
        if (needed_.test(child.index)) continue;
        trees = true;
        double tree = greedy_.tree_cost[child.index];
        sum += tree < greedy_.tree_cost[cls.index] ? tree : kInfiniteCost;
      }
      if (trees ? sum < cost * (1 - kTolerance) : sum <= cost) return true;
    }
    return false;
  }

  const ExtractionProblem& problem_;
  Poll& poll_;
  std::vector<llvm::BitVector> needs_;
  GreedyResult greedy_;
  std::vector<bool> root_;
  std::vector<double> least_; // cost of a node, by class
  std::vector<double> own_;   // by class: the least of with_own
  std::vector<bool> marked_;  // by node
  llvm::BitVector needed_;    // of the current node
};

} // namespace

std::vector<bool> superfluous_nodes(const ExtractionProblem& problem, Poll& poll) {
  if (problem.class_count() > kMostForLandmarks || problem.has_rewards() ||
      problem.byte_limit() != kInfiniteCost)
    return std::vector<bool>(problem.node_count());
  return Pruning(problem, poll).run();
}

std::vector<bool> superfluous_nodes(const ExtractionProblem& problem) {
  Poll never({});
  return superfluous_nodes(problem, never);
}

} // namespace tg
