// Cuts for alternatives that come down to one class. Where every way from p leads to d, whichever
// nodes are taken in between, d is there whenever p is; the rows of the program say so only step by
// step, and a relaxation takes half of one alternative and half of another, each of which needs but
// half of d. Choices are founded (cycle_cuts.h) in any set of classes, not only in cyclic ones: for
// the set S of p, d and the classes between
//
//   y(p) <= sum of x(n) over the nodes n of classes in S that have no child in S,
//
// which are the nodes of d, and what leads out of S past it. Where nodes have one child these are
// the directed cuts of Steiner arborescences.
//
// Separation: for each class d that is there in part, the share of each class above it whose nodes
// lead to d; p is the class whose share exceeds y(d) most, and S the classes between with shares
// above a threshold, the best of a few. A heuristic; every cut that it finds is sound.
#pragma once

#include "compiler/extract/solver/cycle_cuts.h"

namespace tg {

class FunnelCutter {
public:
  explicit FunnelCutter(const ExtractionProblem& problem);
  /// Cuts that x (by node) violates, the most violated first, at most `most`. Looks at as many
  /// classes as it has time for, the next time at others. Deterministic.
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
  /// The child of the node whose share is largest; invalid if none has any.
  ClassIx way_down(NodeIx node) const;

  const ExtractionProblem& problem_;
  std::vector<ClassIx> order_;   // children first
  std::vector<uint32_t> number_; // by class: its place in present_
  llvm::ArrayRef<double> x_;     // of separate()
  std::vector<double> there_;    // y, by class
  std::vector<ClassIx> present_; // classes with y > 0, children first
  std::vector<double> share_;    // by class: of y, what leads to the bottom that is looked at
  std::vector<bool> in_;         // by class: in the set that is tried
  uint32_t next_ = 0;            // class to begin with
  uint64_t steps_ = 0;           // of this separation
};

} // namespace tg
