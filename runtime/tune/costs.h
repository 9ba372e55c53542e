// The two cost models that choose shapes, and other quantities that are counted without running a
// program.
// Source: ETO (README), and the authors' code where the paper is vague.
//
// Units: elements of four bytes, lines of eight elements, requests of a warp of 32 threads.
#pragma once

#include "runtime/tune/program.h"

#include <map>

namespace tg::tune {

/// Returns the number of elements of an input that a block stages in shared memory for one fetch.
double staged_elements(const Nest& nest, const Input& input, llvm::ArrayRef<int64_t> block,
                       llvm::ArrayRef<int64_t> fetched);
/// The same, summed over all inputs.
double staged_elements(const Nest& nest, llvm::ArrayRef<int64_t> block,
                       llvm::ArrayRef<int64_t> fetched);

/// The number of memory lines that the first block reads of all inputs, in address order,
/// including gaps. A line is counted again unless it is the line read last.
class BlockCost {
public:
  explicit BlockCost(const Nest& nest);
  int64_t of(llvm::ArrayRef<int64_t> block);

private:
  const Nest& nest_;
  std::vector<Extents> whole_;                   // extents of each input
  std::vector<int64_t> base_;                    // start of each input
  std::vector<std::map<Extents, int64_t>> seen_; // by box, for each input
};

/// The distribution of the points of a block over threads.
struct ThreadShape {
  Extents grid, virtuals, inner; // threads, virtual copies, points of a thread in each copy
  bool operator==(const ThreadShape&) const = default;
};

/// The shared-memory requests of a block's threads in one fetch.
/// For each input, this is the number of requests of one load by all threads (a warp waits
/// for the bank with the most different addresses) times the number of elements
/// that a thread loads.
class ThreadCost {
public:
  ThreadCost(const Nest& nest, Extents block, Extents fetched);
  /// The result is exact below `at_most`; otherwise it is only known to be at least `at_most`.
  double of(const ThreadShape& shape, double at_most) const;

private:
  struct Staged {
    const Input* input;
    Extents pitch; // elements between consecutive indices of a dimension
  };
  double requests(const Staged& staged, const ThreadShape& shape) const;
  double loads(const Staged& staged, const ThreadShape& shape) const;

  const Nest& nest_;
  Extents block_, fetched_;
  std::vector<Staged> staged_;
};

/// Returns the block of `points` points with the least cost, the first in lexicographical order
/// among equals. Returns an empty list if there is none.
Extents best_block(const Nest& nest, int64_t points, BlockCost& cost);
/// Returns the shape of `threads` threads with the least cost,
/// the one with the fewest virtual copies among equals. Returns nullopt if the block cannot be
/// divided into this number of threads.
std::optional<ThreadShape> best_threads(const Nest& nest, const Extents& block,
                                        const Extents& fetched, int64_t threads);

/// Returns the number of innermost loops of a thread that an unroll step unrolls.
int unrolled_loops(const Tile& tile, int64_t step);
/// Returns the number of registers that the unrolled loops need:
/// the elements read in them and the results of the thread.
double registers(const Nest& nest, const Tile& tile, int64_t step);
/// Returns the unroll step whose registers are nearest to `target`, from below or just above.
/// Steps that unroll nothing are not considered.
int64_t default_unroll(const Nest& nest, const Tile& tile, double target);

} // namespace tg::tune
