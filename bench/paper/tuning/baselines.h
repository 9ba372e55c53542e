// Baselines for reuse: the tiles of another operator's best programs, unchanged (TopK), and
// selective tuning (ST): clusters of operators whose search spaces overlap, of which one is
// searched in full. Source: ETO (runtime/tune/README.md).
#pragma once

#include "runtime/tune/device.h"

namespace tg::paper {

/// Returns a program of `target` with all factors of the reused one except those of blocks
/// and fetches, which take the remainder; nullopt if the factors do not divide the loops.
std::optional<tune::Program> with_tiles_of(const tune::Operator& target,
                                           const tune::Program& reused);

struct TopResult {
  std::optional<tune::Measured> best;
  int64_t trials = 0;
};
/// Tries the first `count` programs of a ranking; if none runs, the following ones until one does.
TopResult tune_by_top(const tune::Operator& target, llvm::ArrayRef<tune::Measured> ranking,
                      size_t count, tune::Device& device);

/// Returns the share of tile factors that two operators have in common: those that divide both,
/// among those that divide either. Returns 0 if their types or sketches differ.
double overlap(const tune::Operator& a, const tune::Operator& b);
/// Returns groups of operators whose pairwise overlap is at least `least`, largest first:
/// each is the largest group among the remaining operators.
std::vector<std::vector<size_t>> clusters(llvm::ArrayRef<tune::Operator> operators,
                                          double least = 0.01);

} // namespace tg::paper
