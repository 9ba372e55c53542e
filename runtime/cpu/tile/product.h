// Products of matrices by register tiles: y = act(x @ w + bias + residual), one product or a batch.
// A schedule determines the tile, two levels of blocks, the order of the inner loops,
// the operand that is copied first, and the dimension that threads divide.
// The loops, outermost first:
//
//   parts (threads): products of the batch, rows, columns; for few results the depth
//     blocks of rows (row_block): x of a block and a depth block stays in the second-level cache
//       blocks of columns (column_block): unfinished sums, and results that `finish` reads again,
//       stay there, too
//         blocks of the depth (depth_block): a panel of w of that depth stays in the caches for
//         all rows
//           panels and rows, in the schedule's order: a tile, with its sums in registers
//
// Example: y = x @ w with 128 x 768 by 768 x 768 row-major floats, on the calling thread.
//
//   ProductShape shape;
//   shape.rows = 128;
//   shape.depth = shape.columns = 768;
//   shape.x_row = shape.depth;
//   shape.w_depth = shape.y_row = shape.columns;
//   std::unique_ptr<TileKernels> kernels = std::move(*TileKernels::make(Isa::Avx2));
//   Schedule schedule = default_schedule(shape, Isa::Avx2, /*threads=*/1, Caches());
//   Product product(shape, schedule, *kernels);
//   ProductData data; // data.scratch: product.scratch_elements() floats, aligned to 64 bytes
//   data.x = x, data.w = w, data.y = y, data.scratch = scratch;
//   product.run(data); // y[0] == 768, if all elements of x and w are 1
//
// The tile of the last depth block adds bias and residual, applies relu and writes y.
// `finish` applies other activations to the block while it is in the cache.
// Sums of earlier depth blocks are stored in a separate buffer, tile by tile,
// so rows of y whose distance is a multiple of 4 KiB, which share a few cache sets,
// are written once and never read.
//
// Cost of a block of R rows and C columns along depth D, AVX2 (6 x 16): R * C * D / 16 cycles
// of multiply-adds; w from memory or the third level once per row block, 4 * C * D bytes;
// x from the second level once per panel, R * D * C / 16 * 4 bytes, 4 bytes per cycle.
// A product of one row reads w once, 4 * C * D bytes, and all other costs are negligible.
//
// Operands and results are f32, or bf16 on tiles of bf16, whose depth is in cells of two elements;
// sums and the bias are always f32. Results for `finish` are f32 in scratch;
// `finish` rounds them to y.
//
// If the depth is divided, each part has its own results in scratch, which are added in order
// when all are complete: 4 bytes written and read for each result and part.
//
// Invariant: results depend only on shape, schedule and operands, not on the number of threads.
// Sums start at zero in each depth block and each part of the depth.
//
// Source: the blocking follows Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/pack.h"
#include "runtime/cpu/tile/register_tile.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <string>

namespace tg::tile {

/// The start of the matrices of one product of a batch, in elements, and its bias.
struct BatchStart {
  int64_t x = 0, w = 0, y = 0, residual = 0, bias = 0;
};

/// All steps are in elements; columns of y and of the residual are adjacent.
struct ProductShape {
  int64_t rows = 1, depth = 1, columns = 1;
  int64_t x_row = 0, x_depth = 1;
  int64_t w_depth = 0, w_column = 1; // of w as stored; ignored if it is packed
  bool w_is_packed = false;          // by pack_panels, for all products of the batch
  int64_t y_row = 0, residual_row = 0;
  std::vector<BatchStart> batch = {{}};
};

/// How a product is computed. One line of text describes all of it (`text`).
struct Schedule {
  int64_t tile_rows = 1, tile_panels = 1;
  int64_t row_block = 1;     // in tiles
  int64_t column_block = 1;  // in panels
  int64_t depth_block = 1;   // in cells
  bool rows_outside = false; // a tile's rows use all panels of the block, else a panel all rows
  bool copy_x = false;
  int64_t panels_ahead = 1; // the panel that is prefetched while one is used; 0: none
  int batch_parts = 1, row_parts = 1, column_parts = 1, depth_parts = 1;

  int parts() const { return batch_parts * row_parts * column_parts * depth_parts; }
};

/// Returns "6x16", "1x64": rows and columns of the tile.
std::string tile_text(const Schedule& schedule, Isa isa);
/// Returns the whole schedule: "6x16 rows 120 columns 256 depth 256, panels outside, x copied,
/// 2 by columns".
std::string text(const Schedule& schedule, Isa isa);

/// Returns the schedule that measurements on AVX2 suggest (DECISIONS.md), with fewer parts
/// than `threads` if they would be uneven.
Schedule default_schedule(const ProductShape& shape, Isa isa, int threads, const Caches& caches);

/// A block of y that is complete except for its activation. For bf16 it is in scratch,
/// and the finisher has to round it to `rounded`.
struct FinishedBlock {
  float* y;
  int64_t y_row, rows, columns;
  uint16_t* rounded = nullptr;
  int64_t rounded_row = 0;
};

/// The addresses of one run. `bias` and `residual` may be null; `residual` may be `y`.
/// `scratch` is aligned to 64 bytes.
struct ProductData {
  const void *x = nullptr, *w = nullptr, *residual = nullptr;
  const float* bias = nullptr;
  void* y = nullptr;
  float* scratch = nullptr;
  bool relu = false;
  llvm::function_ref<void(const FinishedBlock&)> finish = {};
};

/// The cells of the panels that pack_panels() fills.
inline int64_t packed_cells(int64_t depth, int64_t columns, Isa isa) {
  return panel_count(columns, panel_columns(isa)) * panel_columns(isa) *
         ceil_div(depth, cell_elements(isa));
}

class Product {
public:
  Product(ProductShape shape, const Schedule& schedule, const TileKernels& kernels);

  const ProductShape& shape() const { return shape_; }
  const Schedule& schedule() const { return schedule_; }
  /// The number of floats for all parts together.
  int64_t scratch_elements() const {
    return schedule_.parts() * part_scratch_ + schedule_.depth_parts * partial_;
  }
  /// Runs work(0) to work(count - 1) in any order, on any threads, sequentially or concurrently,
  /// and returns when all are done.
  using Each = llvm::function_ref<void(int count, llvm::function_ref<void(int)> work)>;
  void run(const ProductData& data, Each each) const;
  /// Runs on this thread.
  void run(const ProductData& data) const {
    run(data, [](int count, llvm::function_ref<void(int)> work) {
      for (int i = 0; i < count; ++i) work(i);
    });
  }

private:
  struct Span {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };
  /// The work of one part.
  struct Work {
    const ProductData& data;
    BatchStart start;                 // of the current product
    Span tiles, panels, depth;        // of the part
    const float* panel;               // of panels.begin
    float *copied, *sums, *unrounded; // scratch
    float* partial; // results of this part of the depth of the current product, or null
  };
  /// One block of rows, and the address of its x.
  struct RowBlock {
    Span tiles;
    const std::byte* x; // of its first row
    int64_t x_row;      // bytes
  };

  static Span share(int64_t count, int64_t part, int64_t parts) {
    return {count * part / parts, count * (part + 1) / parts};
  }
  /// The position of a tile: a block of rows, of panels and of the depth.
  struct Block {
    const Work& work;
    const RowBlock& rows;
    Span panels, depth;
  };
  /// The panels of the tile that begins at this panel.
  int64_t panels_at(int64_t panel, Span panels) const {
    return std::min(panels.end - panel, schedule_.tile_panels);
  }
  void run_part(int part, const ProductData& data) const;
  void run_rows(const Work& work) const;
  void run_columns(const Work& work, const RowBlock& rows, Span panels) const;
  void run_tiles(const Work& work, const RowBlock& rows, Span panels, Span depth) const;
  template <class T> void copy_x(const Work& work, RowBlock& rows, int64_t count) const;
  template <class T> void pack_w(float* packed, const Work& work) const;
  bool is_narrow() const { return element_ != sizeof(float); }
  TileCall call_of(const Work& work, int64_t panel, int64_t count, Span panels, Span depth) const;
  void run_tile(const Block& block, int64_t tile, int64_t panel, TileCall call) const;
  void finish(const Work& work, Span tiles, Span panels) const;
  float* partial(const ProductData& data, int64_t depth_part, int64_t product) const;
  void join_row(const ProductData& data, int64_t product, int64_t row) const;

  ProductShape shape_;
  Schedule schedule_;
  const TileKernels& kernels_;
  int64_t width_;           // of a panel
  int64_t element_, steps_; // bytes of an element; cells of the depth
  int64_t tiles_, panels_;
  int64_t copied_ = 0, packed_ = 0, sums_ = 0, unrounded_ = 0, part_scratch_ = 0; // floats
  int64_t partial_ = 0;             // of the results of one part of the depth
  std::vector<int64_t> first_rows_; // of each tile, and the number of rows
  std::vector<int32_t> mask_;       // of the last panel, after full ones; empty: it is full
};

} // namespace tg::tile
