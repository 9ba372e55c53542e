// A kernel before it is text: loops, reductions, stores, and the numbers that were chosen for it.
// One of five schedules:
//
//   Map      one loop; each iteration makes `vector` neighbouring elements of every result
//   Rows     a row of elements is shared by `row_threads` threads of a block: they reduce it stage
//            by stage, keep what later stages read in registers, and store elements or one result
//   Columns  the same where elements of a row lie apart in memory, while those of neighbouring rows
//            lie together, and there are too few rows for a thread each (a product of one row):
//            neighbouring threads are of neighbouring rows
//   Serial   one thread does a whole row: where a row is short, or there are many of them
//   Tiles    one sum of products for each result, of which one factor knows its row and the other
//            its column (a matrix product, a convolution): a block makes a tile of results, brings
//            the factors' elements through shared memory, some terms at a time, and each thread
//            sums a part of the tile in registers. Where tiles are few and sums long, the blocks of
//            a cluster each take a part of the terms, and read each other's sums at the end
//
// Loop variable 0 is the iteration (Map), row, or batch (Tiles); 1 is the position in the row, in
// steps of `vector`; 2 and 3 are row and column of a result (Tiles).
#pragma once

#include "runtime/cuda/codegen/expression.h"
#include "runtime/plan.h"

#include <memory>
#include <string>

namespace tg::cuda {

struct KernelParameter {
  PlanValueId value = kNoValue;
  DType dtype{};
  bool written = false;
};

enum class ReduceOp : uint8_t { Sum, Max, Min };

struct Stage {
  ReduceOp op{};
  Scalar scalar{};
  llvm::SmallVector<ExprId, 8> values; // one for each lane: `vector` of them
};

struct Store {
  uint32_t parameter = 0;
  bool per_row = false;                  // once a row, else for each element
  llvm::SmallVector<IndexId, 8> indices; // one for each lane; one if per_row
  llvm::SmallVector<ExprId, 8> values;
};

enum class Schedule : uint8_t { Map, Rows, Columns, Serial, Tiles };

/// What may be tuned: any values that divide as they must give the same results.
struct Tunables {
  int threads = 256; // of a block
  int vector = 1;    // elements that a thread handles side by side
  /// Threads that share a row. Rows: a power of two,
  /// at least a warp; Columns: what divides `threads`.
  int row_threads = 1;
  /// Rows, Columns: elements of a row that a thread keeps in registers, in steps of `vector`; 0:
  /// the row is too long, and every stage reads it again.
  int kept = 0;
  /// Tiles: results of a block; terms that are in shared memory at a time; results of a thread,
  /// which divide the tile's.
  int tile_rows = 0, tile_columns = 0, depth = 0, own_rows = 0, own_columns = 0;
  /// Tiles: blocks of a cluster, among which the terms of its tile are divided. GPUs without
  /// clusters ignore it: a block has all terms.
  int splits = 1;
};

struct Kernel {
  Schedule schedule{};
  Tunables tunables;
  int64_t iterations = 1;                  // of variable 0: elements / vector, or rows
  int64_t row = 1;                         // of variable 1: elements of a row / vector
  int64_t rows = 1, columns = 1;           // Tiles: of variables 2 and 3
  ExprId left = 0, right = 0;              // Tiles: the factors, of row and of column
  std::vector<KernelParameter> parameters; // results first
  std::vector<Stage> stages;
  std::vector<Store> stores;
  IndexPool indices;
  ExprPool exprs{indices};
  bool wide_indices = false; // offsets beyond 2^31

  Kernel() = default;
  Kernel(const Kernel&) = delete; // exprs refers to indices
  Kernel& operator=(const Kernel&) = delete;

  int64_t tiles_down() const { return (rows + tunables.tile_rows - 1) / tunables.tile_rows; }
  int64_t tiles_across() const {
    return (columns + tunables.tile_columns - 1) / tunables.tile_columns;
  }
  bool shares_rows() const { return schedule == Schedule::Rows || schedule == Schedule::Columns; }
  int rows_per_block() const { return tunables.threads / tunables.row_threads; }
  int64_t tiles() const { return iterations * tiles_down() * tiles_across(); }
  /// Blocks that give every thread work once.
  int64_t full_blocks() const;
};

} // namespace tg::cuda
