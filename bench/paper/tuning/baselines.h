// What reuse is compared with: tiles of another operator's best programs as they are (TopK), and
// clusters of operators with much of their search spaces in common, of which one is searched for in
// full (ST, selective tuning). Source: ETO (runtime/tune/README.md).
#pragma once

#include "runtime/tune/device.h"

namespace tg::paper {

/// A program of `target` with all factors of the reused one but those of blocks and fetches, which
/// take what is left; nullopt where they do not divide the loops.
std::optional<tune::Program> with_tiles_of(const tune::Operator& target,
                                           const tune::Program& reused);

struct TopResult {
  std::optional<tune::Measured> best;
  int64_t trials = 0;
};
/// Tries the first `count` of a ranking; if none runs, the next ones until one does.
TopResult tune_by_top(const tune::Operator& target, llvm::ArrayRef<tune::Measured> ranking,
                      size_t count, tune::Device& device);

/// The share of tile factors that two operators have in common: those that divide both, of those
/// that divide either; 0 if their types or sketches differ.
double overlap(const tune::Operator& a, const tune::Operator& b);
/// Groups of operators of which every two overlap by `least`: largest first, each the largest among
/// what is left.
std::vector<std::vector<size_t>> clusters(llvm::ArrayRef<tune::Operator> operators,
                                          double least = 0.01);

} // namespace tg::paper
