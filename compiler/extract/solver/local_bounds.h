// Lower bounds that count work which cannot be shared. A node costs at least its own cost plus the
// bounds of any of its children that have nothing in common below them. If nothing can be shared at
// all, this is the tree cost, and exact. The linear relaxation lets half a class serve two halves
// of other choices, and can be far below.
//
// In the relaxation, for a class c with R(c) all nodes that can be below it:
//
//   sum over n in R(c) of cost(n) x(n) >= sum over m in c of bound(m) x(m).
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/BitVector.h>

namespace tg {

class LocalBounds {
public:
  /// Problems with rewards are not supported. Empty beyond some thousand classes (sets are
  /// kept as bits).
  explicit LocalBounds(const ExtractionProblem& problem);
  bool empty() const { return below_.empty(); }
  /// A lower bound on all derivations of the class, or of the class by this node.
  double of(ClassIx cls) const { return class_bound_[cls.index]; }
  double of(NodeIx node) const { return node_bound_[node.index]; }
  /// The classes that derivations of the class can contain, including itself.
  const llvm::BitVector& below(ClassIx cls) const { return below_[cls.index]; }

private:
  void find_below(const ExtractionProblem& problem);
  void find_bounds(const ExtractionProblem& problem);
  double bound_of(const ExtractionProblem& problem, NodeIx node) const;

  std::vector<llvm::BitVector> below_;
  std::vector<double> class_bound_, node_bound_;
};

} // namespace tg
