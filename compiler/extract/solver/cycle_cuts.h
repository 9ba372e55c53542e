// Cuts that understand cycles. In an acyclic choice what is chosen is founded: of any set S of
// classes with a chosen member, some member's node needs nothing of S. So for every S and c in S
//
//   y(c) <= sum of x(n) over the nodes n of classes in S that have no child in S,
//
// y(c) = sum of x over the nodes of c. These are the loop formulas of answer set programming (Lin
// and Zhao 2004) as inequalities, and the directed cuts of Steiner arborescences where nodes have
// one child. They hold what a cyclic relaxation ("a is half a slice of b, b is half a concat of a")
// gets for nothing.
//
// Separation: in each strongly connected component a flow network, from what is founded outside to
// the class in question; a node with several children inside counts as an arc from that which is
// hardest to derive. A minimum cut smaller than y(c) is a violated S. With one child exact, with
// more a heuristic; on integral solutions it never misses.
#pragma once

#include "compiler/extract/problem.h"

namespace tg {

/// Least that a cut must be violated by to be taken.
inline constexpr double kViolation = 0.01;

struct FoundedCut {
  ClassIx target;
  std::vector<NodeIx> support; // y(target) <= sum of x over these
};

class CycleCutter {
public:
  explicit CycleCutter(const ExtractionProblem& problem);
  bool needed() const { return !components_.empty(); }
  /// Cuts that x (by node) violates, at most about `most`.
  std::vector<FoundedCut> separate(llvm::ArrayRef<double> x, size_t most) const;

private:
  struct Component {
    std::vector<ClassIx> classes;
  };
  const ExtractionProblem& problem_;
  std::vector<int32_t> component_of_; // by class, -1: on no cycle
  std::vector<uint32_t> place_;       // by class: its index in its component
  std::vector<Component> components_;

  friend class ComponentFlow;
};

} // namespace tg
