// Splits a problem into independent problems: the optimum of the whole is the sum of the optima
// of the parts.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tg {

/// Some classes of a problem, as a separate problem.
struct Part {
  ExtractionProblem problem;
  std::vector<NodeIx> origin; // by node

  /// Writes a choice for the part into a choice for the whole.
  void copy_to_whole(const ExtractionProblem& whole, const Choice& part, Choice& into) const;
  /// Restricts a choice for the whole to the part.
  Choice project(const ExtractionProblem& from, const Choice& whole) const;
};

/// Returns true if a bound proves a choice, up to rounding and the solver's tolerance.
inline bool bound_proves(double cost, double bound) {
  return cost - bound <= 1e-7 * std::max(1.0, std::abs(cost));
}

/// A part in progress: its best choice so far, and its bound.
struct OpenPart {
  Part part;
  std::optional<Choice> best;
  double cost = kInfiniteCost, bound = -kInfiniteCost;
  std::string algorithm; // that found the best choice
  bool proven = false;

  const ExtractionProblem& problem() const { return part.problem; }
  /// Takes a choice if it is sound, keeps to the byte limit and costs less than the best.
  void offer(std::optional<Choice> choice, llvm::StringRef by);
  void raise(double by) { bound = std::max(bound, std::min(by, cost)); }
  void prove() {
    proven = true;
    bound = cost;
  }
};

/// Returns the independent parts. Small parts with at most `small` nodes together share a problem.
/// With a byte limit, which ties all classes together, there is one part.
std::vector<Part> split_into_parts(const ExtractionProblem& problem, size_t small);

} // namespace tg
