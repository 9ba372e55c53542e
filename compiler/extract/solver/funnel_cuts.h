// Cuts for alternatives that share one class. If every way from p leads to d, whichever nodes are
// taken in between, then d is used whenever p is. The rows of the program say so only step by step,
// so a relaxation can take half of one alternative and half of another, each of which needs only
// half of d. Choices are founded (cycle_cuts.h) in any set of classes, not only in cyclic ones. So
// for the set S of p, d and the classes between
//
//   y(p) <= sum of x(n) over the nodes n of classes in S that have no child in S,
//
// that is, over the nodes of d and those that lead out of S past d. If nodes have one child, these
// are the directed cuts of Steiner arborescences.
//
// Separation: for each partly used class d, computes the share of each class above it whose nodes
// lead to d. p is the class whose share exceeds y(d) most; S is the set of classes between with
// shares above a threshold, the best of a few thresholds. This is a heuristic; every cut that it
// finds is sound.
#pragma once

#include "compiler/extract/solver/cycle_cuts.h"

namespace tg {

class FunnelCutter {
public:
  explicit FunnelCutter(const ExtractionProblem& problem);
  /// Returns at most `most` cuts that x (by node) violates, the most violated first. A call
  /// examines a limited number of classes, and the next call continues after them. Deterministic.
  std::vector<FoundedCut> separate(llvm::ArrayRef<double> x, size_t most);

private:
  struct Found {
    double violation = 0;
    FoundedCut cut;
  };

  void take_present();
  uint32_t find_top(uint32_t bottom);
  Found best_cut(uint32_t bottom, uint32_t top);
  Found cut_above(double threshold, uint32_t bottom, uint32_t top);
  /// Returns the child of the node with the largest share; invalid if no child has any.
  ClassIx largest_child(NodeIx node) const;

  const ExtractionProblem& problem_;
  std::vector<ClassIx> order_;   // children first
  std::vector<uint32_t> number_; // by class: index in present_
  llvm::ArrayRef<double> x_;     // of separate()
  std::vector<double> there_;    // y, by class
  std::vector<ClassIx> present_; // classes with y > 0, children first
  std::vector<double> share_;    // by class: the part of y that leads to the current bottom
  std::vector<bool> in_;         // by class: in the current set
  uint32_t next_ = 0;            // first class of the next call
  uint64_t steps_ = 0;           // of this separation
};

} // namespace tg
