// Cuts for cycles. An acyclic choice is founded: in any set S of classes with a chosen member, the
// node of some member needs nothing in S. So for every S and every c in S
//
//   y(c) <= sum of x(n) over the nodes n of classes in S that have no child in S,
//
// where y(c) is the sum of x over the nodes of c. These are the loop formulas of answer set
// programming (Lin and Zhao 2004) as inequalities; if nodes have one child, they are the directed
// cuts of Steiner arborescences. They cut off free support on a cycle of the relaxation ("a is half
// a slice of b, b is half a concat of a").
//
// Separation: each strongly connected component gives a flow network, from classes founded
// outside to the class in question. A node with several children inside counts as an arc from
// the child that is hardest to derive. A minimum cut below y(c) is a violated S. With one child
// per node separation is exact; with more it is a heuristic, but on integral solutions it finds
// every violation.
#pragma once

#include "compiler/extract/problem.h"

namespace tg {

/// Least violation of a cut that is added.
inline constexpr double kViolation = 0.01;

struct FoundedCut {
  ClassIx target;
  std::vector<NodeIx> support; // y(target) <= sum of x over these
};

class CycleCutter {
public:
  explicit CycleCutter(const ExtractionProblem& problem);
  bool needed() const { return !components_.empty(); }
  /// Returns cuts that x (by node) violates, about `most` at most.
  std::vector<FoundedCut> separate(llvm::ArrayRef<double> x, size_t most) const;

private:
  struct Component {
    std::vector<ClassIx> classes;
  };
  const ExtractionProblem& problem_;
  std::vector<int32_t> component_of_; // by class; -1 for classes on no cycle
  std::vector<uint32_t> place_;       // by class: index in its component
  std::vector<Component> components_;

  friend class ComponentFlow;
};

} // namespace tg
