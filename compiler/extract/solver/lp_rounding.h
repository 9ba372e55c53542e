// Extraction by the linear relaxation: solved by CLP, then rounded. It takes a fraction of the time
// of the integer program, and its objective is a certified bound.
//
// Randomised rounding (Princeton COS 521 report on e-graph extraction): from the roots down, each
// class that is reached takes a node with the probability that the relaxation gives it. Its
// approximation ratio is unbounded, so it is tried often, and beside it stands a deterministic
// rounding: greedy under costs that are small for what the relaxation chose. Choices that close a
// cycle are repaired by greedy near them, so every answer is sound.
#pragma once

#include "compiler/extract/solver/ilp.h"

namespace tg {

/// The best choice that both roundings of the relaxation's solution `x` (by node) come to: the
/// deterministic one, then `tries` random ones of this seed, fewer where the seconds are over.
/// nullopt if a root cannot be extracted, or no rounding keeps to the byte limit.
std::optional<Choice> round_relaxation(const ExtractionProblem& problem, llvm::ArrayRef<double> x,
                                       uint64_t seed, int tries, double seconds = 1e9);

} // namespace tg
