// What reuse is compared with: tiles of another operator's best programs as they are (TopK), and
// clusters of operators with much of their search spaces in common, of which one is searched for in
// full (ST, selective tuning). Source: ETO (README).
#pragma once

#include "runtime/tune/device.h"

namespace tg::tune {

/// A program of `target` with all factors of the reused one but those of blocks and fetches, which
/// take what is left; nullopt where they do not divide the loops.
std::optional<Program> with_tiles_of(const Operator& target, const Program& reused);

struct TopResult {
  std::optional<Measured> best;
  int64_t trials = 0;
};
/// Tries the first `count` of a ranking; if none runs, the next ones until one does.
TopResult tune_by_top(const Operator& target, llvm::ArrayRef<Measured> ranking, size_t count,
                      Device& device);

/// The share of tile factors that two operators have in common: those that divide both, of those
/// that divide either; 0 if their types or sketches differ.
double overlap(const Operator& a, const Operator& b);
/// Groups of operators of which every two overlap by `least`: largest first, each the largest among
/// what is left.
std::vector<std::vector<size_t>> clusters(llvm::ArrayRef<Operator> operators, double least = 0.01);

} // namespace tg::tune
