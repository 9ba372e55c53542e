// Random extraction problems with many edge cases, and their optimum by brute force.
#pragma once

#include "compiler/extract/problem.h"

#include <optional>
#include <random>

namespace tg {

struct ProblemShape {
  uint32_t classes = 6;
  uint32_t nodes = 14;  // at most; each class has at least one
  bool bytes = false;   // the last classes are computed at load, and storage is limited
  bool rewards = false; // some costs are negative
};

/// Returns a problem with cycles, self-loops, repeated children and roots, zero and infinite costs,
/// forbidden nodes, classes that cannot be extracted, and unreachable ones.
inline ExtractionProblem random_problem(std::mt19937_64& random, const ProblemShape& shape) {
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  ExtractionProblem problem;
  uint32_t classes = 1 + below(shape.classes);
  for (uint32_t c = 0; c < classes; ++c) problem.add_class();
  uint32_t first_load = shape.bytes ? below(classes + 1) : classes;
  uint32_t nodes = classes + below(shape.nodes - std::min(shape.nodes - 1, classes));
  for (uint32_t n = 0; n < nodes; ++n) {
    uint32_t cls = n < classes ? n : below(classes);
    std::vector<ClassIx> children;
    for (uint32_t i = below(4); i > 0; --i) {
      // Mostly later classes, so that many problems have a solution.
      bool forward = below(4) != 0;
      if (forward && cls + 1 == classes) continue;
      uint32_t first = forward ? cls + 1 : cls < first_load ? 0 : first_load;
      children.push_back({first + below(classes - first)});
    }
    double cost = below(10) == 0 ? kInfiniteCost : below(3) == 0 ? 0 : below(20);
    if (shape.rewards && below(4) == 0) cost = -static_cast<double>(1 + below(8));
    NodeIx node = problem.add_node({cls}, cost, children);
    if (below(10) == 0) problem.forbid(node);
    if (cls >= first_load) problem.set_load(node);
  }
  for (uint32_t i = 1 + below(3); i > 0; --i) problem.add_root({below(classes)});
  if (shape.bytes) {
    for (uint32_t c = 0; c < classes; ++c)
      if (below(2) == 0) problem.set_stored_bytes({c}, 1 + below(10));
    problem.set_byte_limit(below(20));
  }
  problem.seal();
  return problem;
}

/// Returns the same classes and nodes with other roots.
inline ExtractionProblem with_roots(const ExtractionProblem& problem,
                                    llvm::ArrayRef<ClassIx> roots) {
  ExtractionProblem out;
  for (uint32_t c = 0; c < problem.class_count(); ++c) out.add_class();
  for (uint32_t n = 0; n < problem.node_count(); ++n) {
    NodeIx added = out.add_node(problem.class_of({n}), problem.cost({n}), problem.children({n}));
    if (!problem.usable({n})) out.forbid(added);
  }
  for (ClassIx root : roots) out.add_root(root);
  out.seal();
  return out;
}

/// Returns the least DAG cost, or nullopt if there is no solution.
inline std::optional<double> brute_force(const ExtractionProblem& problem) {
  std::optional<double> best;
  Choice choice(problem.class_count());
  std::vector<size_t> digit(problem.class_count());
  while (true) {
    for (uint32_t c = 0; c < problem.class_count(); ++c)
      choice.node[c] = problem.nodes({c})[digit[c]];
    CheckedChoice checked = check_choice(problem, choice);
    if (checked.ok() && checked.stored_bytes <= problem.byte_limit() &&
        (!best || checked.dag_cost < *best))
      best = checked.dag_cost;
    uint32_t c = 0;
    while (c < problem.class_count() && ++digit[c] == problem.nodes({c}).size()) digit[c++] = 0;
    if (c == problem.class_count()) return best;
  }
}

/// Returns the cost of the tree that greedy must find for each class: the least over all trees,
/// by iteration to the fixpoint (Bellman and Ford).
inline std::vector<double> tree_costs(const ExtractionProblem& problem) {
  std::vector<double> cost(problem.class_count(), kInfiniteCost);
  for (size_t round = 0; round <= problem.class_count(); ++round) {
    for (uint32_t n = 0; n < problem.node_count(); ++n) {
      if (!problem.usable({n})) continue;
      double sum = problem.cost({n});
      for (ClassIx child : problem.children({n})) sum += cost[child.index];
      double& best = cost[problem.class_of({n}).index];
      best = std::min(best, sum);
    }
  }
  return cost;
}

} // namespace tg
