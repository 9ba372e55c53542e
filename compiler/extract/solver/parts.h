// A problem taken apart into problems that have nothing to do with each other: the optimum of the
// whole is the sum of the optima of the parts.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tg {

/// Some classes of a problem, as a problem of their own.
struct Part {
  ExtractionProblem problem;
  std::vector<NodeIx> origin; // by node

  /// Writes a choice for the part into one for the whole.
  void put_back(const ExtractionProblem& whole, const Choice& part, Choice& into) const;
  /// What a choice for the whole says of the part.
  Choice project(const ExtractionProblem& from, const Choice& whole) const;
};

/// Whether a bound proves a choice, but for sums in another order and the solver's own tolerance.
inline bool meets(double cost, double bound) {
  return cost - bound <= 1e-7 * std::max(1.0, std::abs(cost));
}

/// A part that is worked on, its best choice so far, and what is certain about it.
struct OpenPart {
  Part part;
  std::optional<Choice> best;
  double cost = kInfiniteCost, bound = -kInfiniteCost;
  std::string algorithm; // that found the best
  bool proven = false;

  const ExtractionProblem& problem() const { return part.problem; }
  /// Takes a choice that is sound, keeps to the byte limit and costs less than the best.
  void offer(std::optional<Choice> choice, llvm::StringRef by);
  void raise(double by) { bound = std::max(bound, std::min(by, cost)); }
  void prove() {
    proven = true;
    bound = cost;
  }
};

/// The independent parts; parts of together at most `small` nodes share a problem. A byte limit
/// ties all together: then there is one part.
std::vector<Part> take_apart(const ExtractionProblem& problem, size_t small);

} // namespace tg
