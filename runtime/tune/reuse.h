// Tunes an operator by reusing the resource use of another operator's best program: Algorithm 1.
// For every number of blocks in range, cost models choose the shapes of blocks and threads.
// Measurements then choose threads, rounds of fetching, unrolling and vectors, one after the other.
//
// The publication's example (tests/unit/tune/reuse_test.cpp):
// the reused program of C2D [1, 128, 28, 28 | 512, 1, 1] has 56 blocks of 224 threads
// and 4 fetches.
// For a target with half the reduction, blocks may be 0.5 to 2 times as many, so 28, 32, 49, 56,
// 64, 98 and 112 blocks are tried; threads and shared memory may be 0.5 to 1 times as many.
// For 56 blocks the cost model chooses blocks of 1 x 32 x 2 x 28 points.
//
// Source: ETO (README), Algorithm 1.
#pragma once

#include "runtime/tune/costs.h"
#include "runtime/tune/device.h"
#include "runtime/tune/ranges.h"

namespace tg::tune {

struct ReuseOptions {
  /// Ablations: if false, a shape is drawn at random instead of the one of least cost.
  bool use_block_cost = true, use_thread_cost = true;
  uint64_t seed = 1;
  bool to_the_end = false; // continues when a program is fast enough (Device::enough_us)
  /// Ends after this number of trials without a gain of a hundredth; 0: never.
  /// The likeliest numbers of blocks, in the middle of their range, then come first.
  int64_t patience = 0;
  /// Measured first if it is set and legal, so that reuse is no worse than a guess.
  std::optional<Program> start = {};
  /// A program that was measured before (Trials::remember).
  std::optional<Measured> remembered = {};
};

/// The choices for one number of blocks, for tests and reports.
struct BlockTrace {
  int64_t points = 0;
  Extents block;
  int64_t rounds = 1;                              // by default
  std::vector<int64_t> threads;                    // tried
  std::vector<int64_t> other_rounds;               // tried
  std::vector<int64_t> unrolls;                    // tried
  std::vector<std::pair<size_t, int64_t>> vectors; // tried: input and length
  std::string skipped;                             // reason if nothing was tried
};

struct ReuseResult {
  std::optional<Measured> best;
  int64_t trials = 0, filtered = 0;
  std::vector<Measured> ranking; // fastest first, at most 16
  std::vector<BlockTrace> blocks;
};

/// Tries programs of `target` with the sketch of `reused`, the best program of an operator
/// that it can reuse (`can_reuse`).
ReuseResult tune_by_reuse(const Operator& target, const Program& reused, Device& device,
                          const ReuseOptions& options = {});

/// Returns a program of these shapes without unrolling and vectors:
/// the factors inside a thread or a fetch are split by their least prime.
Tile tile_of(const Nest& nest, const ThreadShape& shape, const Extents& block, int64_t rounds);

} // namespace tg::tune
