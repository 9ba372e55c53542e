// Tuning an operator by what the best program of another takes: Algorithm 1. For every number of
// blocks in range, cost models choose the shapes of blocks and threads, and measuring decides over
// threads, rounds of fetching, unrolling and vectors, one after the other. Source: ETO
// (README), Algorithm 1.
#pragma once

#include "runtime/tune/costs.h"
#include "runtime/tune/device.h"
#include "runtime/tune/ranges.h"

namespace tg::tune {

struct ReuseOptions {
  /// Ablations: a shape drawn at random instead of the one of least cost.
  bool use_block_cost = true, use_thread_cost = true;
  uint64_t seed = 1;
  bool to_the_end = false; // also where a program is fast enough (Device::enough_us)
  /// Ends after so many trials without a gain of a hundredth; 0: never. Then the likeliest numbers
  /// of blocks, in the middle of their range, come first.
  int64_t patience = 0;
  /// Measured first, if it is there and legal: so that reuse is no worse than a guess.
  std::optional<Program> start = {};
  /// A program that was measured before (Trials::remember).
  std::optional<Measured> remembered = {};
};

/// What was chosen for one number of blocks, for tests and reports.
struct BlockTrace {
  int64_t points = 0;
  Extents block;
  int64_t rounds = 1;                              // by default
  std::vector<int64_t> threads;                    // tried
  std::vector<int64_t> other_rounds;               // tried
  std::vector<int64_t> unrolls;                    // tried
  std::vector<std::pair<size_t, int64_t>> vectors; // tried: input and length
  std::string skipped;                             // why nothing was tried
};

struct ReuseResult {
  std::optional<Measured> best;
  int64_t trials = 0, filtered = 0;
  std::vector<Measured> ranking; // the fastest first, at most 16
  std::vector<BlockTrace> blocks;
};

/// Programs of `target` with the sketch of `reused`, the best program of an operator that it can
/// reuse (`can_reuse`).
ReuseResult tune_by_reuse(const Operator& target, const Program& reused, Device& device,
                          const ReuseOptions& options = {});

/// A program of these shapes with no unrolling and no vectors: what is inside a thread or a fetch
/// is split by its least prime.
Tile tile_of(const Nest& nest, const ThreadShape& shape, const Extents& block, int64_t rounds);

} // namespace tg::tune
