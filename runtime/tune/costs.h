// The two cost models that choose shapes, and what else is counted of a program without running it.
// Source: ETO (README), and the authors' code where it is vague.
//
// Units: elements of four bytes, lines of eight of them, requests of a warp of 32 threads.
#pragma once

#include "runtime/tune/program.h"

#include <map>

namespace tg::tune {

/// Elements of an input that a block holds in shared memory for one fetch.
double staged_elements(const Nest& nest, const Input& input, llvm::ArrayRef<int64_t> block,
                       llvm::ArrayRef<int64_t> fetched);
/// Of all inputs.
double staged_elements(const Nest& nest, llvm::ArrayRef<int64_t> block,
                       llvm::ArrayRef<int64_t> fetched);

/// Lines of memory that the first block reads of all inputs, in the order in which they lie, with
/// gaps; a line counts again unless it is the one read last.
class BlockCost {
public:
  explicit BlockCost(const Nest& nest);
  int64_t of(llvm::ArrayRef<int64_t> block);

private:
  const Nest& nest_;
  std::vector<Extents> whole_;                   // extents of each input
  std::vector<int64_t> base_;                    // where each input begins
  std::vector<std::map<Extents, int64_t>> seen_; // by box, for each input
};

/// How the points of a block fall to threads.
struct ThreadShape {
  Extents grid, virtuals, inner; // threads, virtual copies, points of a thread in each copy
  bool operator==(const ThreadShape&) const = default;
};

/// Requests of a block's threads to shared memory in one fetch: for each input, those of one load
/// by all threads (a warp waits for the bank that most different addresses want) times the elements
/// that a thread loads.
class ThreadCost {
public:
  ThreadCost(const Nest& nest, Extents block, Extents fetched);
  /// `at_most`: from there on an answer is only known to be no less.
  double of(const ThreadShape& shape, double at_most) const;

private:
  struct Staged {
    const Input* input;
    Extents pitch; // elements from one index of a dimension to the next
  };
  double requests(const Staged& staged, const ThreadShape& shape) const;
  double loads(const Staged& staged, const ThreadShape& shape) const;

  const Nest& nest_;
  Extents block_, fetched_;
  std::vector<Staged> staged_;
};

/// The block of `points` with the least cost, the first in lexicographical order among equals;
/// empty if there is none.
Extents best_block(const Nest& nest, int64_t points, BlockCost& cost);
/// The shape of `threads` threads with the least cost, the one with the fewest virtual copies
/// among equals; none if the block cannot be parted so.
std::optional<ThreadShape> best_threads(const Nest& nest, const Extents& block,
                                        const Extents& fetched, int64_t threads);

/// How many of a thread's loops an unroll step unrolls, from the innermost.
int unrolled_loops(const Tile& tile, int64_t step);
/// Registers that the unrolled loops want: elements read in them, and results of the thread.
double registers(const Nest& nest, const Tile& tile, int64_t step);
/// The unroll step whose registers come nearest to `target`, from below or just above; those that
/// unroll nothing are not asked.
int64_t default_unroll(const Nest& nest, const Tile& tile, double target);

} // namespace tg::tune
