#include "compiler/extract/solver/local_bounds.h"

#include <deque>

namespace tg {

namespace {
constexpr size_t kMostClasses = 8'000; // 8 MB of bits
}

LocalBounds::LocalBounds(const ExtractionProblem& problem) {
  if (problem.class_count() > kMostClasses || problem.has_rewards()) return;
  find_below(problem);
  find_bounds(problem);
}

/// Computes the least sets with below(c) = {c} + union over children d of nodes of c of below(d). A
/// class is visited again when a child's set has grown.
void LocalBounds::find_below(const ExtractionProblem& problem) {
  auto size = static_cast<unsigned>(problem.class_count());
  below_.assign(size, llvm::BitVector(size));
  std::vector<bool> queued(size, true);
  std::deque<uint32_t> queue;
  for (uint32_t c = 0; c < size; ++c) {
    below_[c].set(c);
    queue.push_back(c);
  }
  while (!queue.empty()) {
    uint32_t c = queue.front();
    queue.pop_front();
    queued[c] = false;
    for (NodeIx user : problem.users({c})) {
      uint32_t above = problem.class_of(user).index;
      if (!problem.usable(user) || !below_[c].test(below_[above])) continue;
      below_[above] |= below_[c];
      if (!queued[above]) queue.push_back(above);
      queued[above] = true;
    }
  }
}

/// Returns the node's own cost plus the bounds of children that are disjoint below, the most
/// expensive first. It includes at least the most expensive child, so that nodes cost no less than
/// their children, as the proof of greedy requires.
double LocalBounds::bound_of(const ExtractionProblem& problem, NodeIx node) const {
  llvm::SmallVector<ClassIx, 4> children(problem.children(node).begin(),
                                         problem.children(node).end());
  llvm::stable_sort(children, [&](ClassIx a, ClassIx b) { return of(a) > of(b); });
  double bound = problem.cost(node);
  llvm::BitVector taken(static_cast<unsigned>(problem.class_count()));
  for (ClassIx child : children) {
    if (of(child) == kInfiniteCost) return kInfiniteCost;
    if (taken.anyCommon(below(child))) continue;
    bound += of(child);
    taken |= below(child);
  }
  return bound;
}

/// Lowers bounds from infinity with a worklist, like greedy. Every class ends at or below the value
/// of each of its nodes, so by induction over a derivation none costs less.
void LocalBounds::find_bounds(const ExtractionProblem& problem) {
  class_bound_.assign(problem.class_count(), kInfiniteCost);
  node_bound_.assign(problem.node_count(), kInfiniteCost);
  std::vector<bool> queued(problem.node_count());
  std::deque<NodeIx> queue;
  auto push = [&](NodeIx node) {
    if (problem.usable(node) && !queued[node.index]) queue.push_back(node);
    queued[node.index] = true;
  };
  for (uint32_t n = 0; n < problem.node_count(); ++n)
    if (problem.children({n}).empty()) push({n});
  while (!queue.empty()) {
    NodeIx node = queue.front();
    queue.pop_front();
    queued[node.index] = false;
    double bound = bound_of(problem, node);
    node_bound_[node.index] = std::min(bound, node_bound_[node.index]);
    double& best = class_bound_[problem.class_of(node).index];
    if (!(bound < best)) continue;
    best = bound;
    for (NodeIx user : problem.users(problem.class_of(node))) push(user);
  }
}

} // namespace tg
