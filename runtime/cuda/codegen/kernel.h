// A kernel before it is text: loops, reductions, stores, and its chosen parameters.
// It has one of five schedules:
//
//   Map      one loop; each iteration computes `vector` neighbouring elements of every result
//   Rows     `row_threads` threads of a block share a row of elements: they reduce it stage by
//            stage, keep the values of later stages in registers, and store elements or one result
//   Columns  the same if the elements of a row are not contiguous in memory, but those of
//            neighbouring rows are, and there are too few rows for one thread each (a product of
//            one row): neighbouring threads have neighbouring rows
//   Serial   one thread computes a whole row: for short rows, or many of them
//   Tiles    one sum of products for each result, of which one factor depends on its row and the
//            other on its column (a matrix product, a convolution): a block computes a tile of
//            results, stages the factors' elements in shared memory, some terms at a time, and
//            each thread sums a part of the tile in registers. If tiles are few and sums long, the
//            blocks of a cluster each take a part of the terms and read each other's sums at the
//            end
//
// Loop variable 0 is the iteration (Map), row, or batch (Tiles);
// 1 is the position in the row, in steps of `vector`; 2 and 3 are the row and column
// of a result (Tiles).
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
  llvm::SmallVector<ExprId, 8> values; // one per lane: `vector` of them
};

struct Store {
  uint32_t parameter = 0;
  bool per_row = false;                  // once per row, otherwise for each element
  llvm::SmallVector<IndexId, 8> indices; // one per lane; one if per_row
  llvm::SmallVector<ExprId, 8> values;
};

enum class KernelSchedule : uint8_t { Map, Rows, Columns, Serial, Tiles };

/// The parameters that may be tuned. All values that divide as required give the same results.
struct Tunables {
  int threads = 256; // of a block
  int vector = 1;    // neighbouring elements that a thread handles together
  /// The threads that share a row. Rows: a power of two, at least a warp; Columns:
  /// a divisor of `threads`.
  int row_threads = 1;
  /// Rows, Columns: elements of a row that a thread keeps in registers, in steps of `vector`; 0:
  /// the row is too long, and every stage reads it again.
  int kept = 0;
  /// Tiles: results of a block; terms that are in shared memory at a time;
  /// results of a thread, which divide the tile's.
  int tile_rows = 0, tile_columns = 0, depth = 0, own_rows = 0, own_columns = 0;
  /// Tiles: blocks of a cluster, among which the terms of its tile are divided.
  /// GPUs without clusters ignore it: a block then has all terms.
  int splits = 1;
};

struct Kernel {
  KernelSchedule schedule{};
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
  Kernel(const Kernel&) = delete; // exprs points to indices
  Kernel& operator=(const Kernel&) = delete;

  int64_t tiles_down() const { return (rows + tunables.tile_rows - 1) / tunables.tile_rows; }
  int64_t tiles_across() const {
    return (columns + tunables.tile_columns - 1) / tunables.tile_columns;
  }
  bool shares_rows() const {
    return schedule == KernelSchedule::Rows || schedule == KernelSchedule::Columns;
  }
  int rows_per_block() const { return tunables.threads / tunables.row_threads; }
  int64_t tiles() const { return iterations * tiles_down() * tiles_across(); }
  /// Returns the number of blocks that gives every thread work once.
  int64_t full_blocks() const;
};

} // namespace tg::cuda
