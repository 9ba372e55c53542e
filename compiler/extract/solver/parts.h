// A problem taken apart into problems that have nothing to do with each other: the optimum of the
// whole is the sum of the optima of the parts.
#pragma once

#include "compiler/extract/problem.h"

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

/// The independent parts; parts of together at most `small` nodes share a problem. A byte limit
/// ties all together: then there is one part.
std::vector<Part> take_apart(const ExtractionProblem& problem, size_t small);

} // namespace tg
