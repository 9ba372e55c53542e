// Register tiles: machine code, emitted with Xbyak on first use, that multiplies a few rows of x
// by a panel of w with all sums in registers. A panel is the columns of two vectors of w,
// packed as [depth][column] (pack.h), so that a step along the depth is one contiguous read.
//
// Example: a tile of 6 rows by 1 panel on AVX2 computes 6 x 16 results in 12 registers:
//
//   std::unique_ptr<TileKernels> kernels = std::move(*TileKernels::make(Isa::Avx2));
//   int64_t depth = 768;
//   TileCall call; // x[6][depth], panel[depth][16], y[6][16]
//   call.x = x, call.x_row = 4 * depth;
//   call.panel = panel, call.depth = depth;
//   call.y = y, call.y_row = 4 * 16;
//   kernels->tile(/*rows=*/6, /*panels=*/1)(&call); // y[95] == 768, if x and panel are all 1
//
// One emitter serves AVX2 and AVX-512, which differ only in lanes, registers and masks.
// With AVX-512 BF16 both operands are bf16, and vdpbf16ps adds their products to sums in f32,
// two steps at once. A four-byte cell, which is a float otherwise, is then a pair of elements
// that are consecutive along the depth.
//
// Minimum cost per step along the depth of a tile of R rows by V vectors: V loads of the panel,
// R broadcasts of x, R * V multiply-adds. AVX2, 6 x 16: 8 loads for 12 multiply-adds,
// 6 cycles if two of these start per cycle; 12 sums, 2 vectors of the panel
// and a broadcast fill 15 of the 16 registers. AVX-512, 14 x 32: 16 loads for 28 multiply-adds,
// and 31 of 32 registers. A multiply-add takes 4 cycles, so 8 or more sums keep two units busy;
// with few rows, a tile spans several panels.
//
// vdpbf16ps treats denormal numbers as zeros, in operands and results, whatever the processor's
// state; it raises no flag. The same holds for vcvtneps2bf16, which rounds results.
//
// Invariants: pages of emitted code are never writable and executable at once;
// a tile reads and writes no element beyond those that its call names.
#pragma once

#include "lang/core/result.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tg::tile {

enum class Isa : uint8_t { Avx2, Avx512, Avx512Bf16 };

/// Returns "avx2", "avx512", "avx512_bf16".
const char* isa_name(Isa isa);
/// Returns true if the processor has it; the caller checks whether the user allows it.
bool processor_has(Isa isa);
constexpr int64_t ceil_div(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

/// Elements of a cell, and their bytes.
constexpr int64_t cell_elements(Isa isa) { return isa == Isa::Avx512Bf16 ? 2 : 1; }
constexpr int64_t element_bytes(Isa isa) { return 4 / cell_elements(isa); }

/// Cells of a vector, or sums.
constexpr int64_t lanes(Isa isa) { return isa == Isa::Avx2 ? 8 : 16; }
/// Columns of a panel: two vectors.
constexpr int64_t panel_columns(Isa isa) { return 2 * lanes(isa); }
/// The maximum number of rows of a tile.
constexpr int64_t most_rows(Isa isa) { return isa == Isa::Avx2 ? 6 : 14; }
/// The maximum number of panels of any tile, and of a tile with this number of rows.
constexpr int64_t kMostPanels = 4;
constexpr int64_t most_panels(Isa isa, int64_t rows) {
  int64_t fit = (isa == Isa::Avx2 ? 6 : 12) / rows; // with registers for the panels and x
  return fit < 1 ? 1 : fit > kMostPanels ? kMostPanels : fit;
}

/// One call of a tile: result = x * panels, over `depth` steps of a cell.
/// Then the sums either go to `sums_out` or, with `sums_in` added if it is not null, through bias,
/// residual and relu to `y`. Steps between rows and between panels are in bytes.
/// Emitted code reads this struct.
struct TileCall {
  const void* x = nullptr; // rows whose elements are adjacent along the depth
  int64_t x_row = 0;
  const float* panel = nullptr; // [depth][panel_columns] cells
  int64_t panel_step = 0;
  int64_t depth = 0; // at least 1, or 0 with `alone`
  const float* sums_in = nullptr;
  float* sums_out = nullptr; // [rows][panels][panel_columns], like sums_in
  void* y = nullptr;
  int64_t y_row = 0;
  const float* bias = nullptr;    // of these columns, or null
  const void* residual = nullptr; // in the operands' dtype; null: none; may be y
  int64_t residual_row = 0;
  /// -1 for each existing column of the tile, else 0; null: all exist.
  const int32_t* mask = nullptr;
  int64_t last_columns = 0; // with a mask: columns of the last panel
  int64_t relu = 0;         // 1: negative results become 0 (NaN stays NaN)
  int64_t alone = 0;        // for bf16: 1: x has one more element after `depth` pairs
  int64_t narrow = 0;       // for bf16: 1: y is bf16, else f32
  /// Address that a later call reads: prefetched, one line for every four steps. It need not exist.
  const float* ahead = nullptr;
};

/// The number of cells that a call of `depth` steps prefetches.
constexpr int64_t prefetched_cells(int64_t depth) { return depth / 4 * 16; }

using TileFn = void (*)(const TileCall*);

/// The width of a tile: if the last panel has no more columns than one vector,
/// half of it is omitted.
enum class Reach : uint8_t { Panels, HalfPanel };

/// All tiles of an instruction set: every number of rows, with each number of panels
/// that it may span, and with half a panel.
class TileKernels {
public:
  ~TileKernels();
  /// Errors: `device` if the processor lacks the instruction set, or no memory for code
  /// is available.
  static Result<std::unique_ptr<TileKernels>> make(Isa isa);

  Isa isa() const { return isa_; }
  /// panels: at most most_panels(rows); 1 for half a panel.
  TileFn tile(int64_t rows, int64_t panels, Reach reach = Reach::Panels) const {
    int64_t kind = reach == Reach::HalfPanel ? 0 : panels;
    return tiles_[static_cast<size_t>(kKinds * (rows - 1) + kind)];
  }
  /// Returns the bytes of machine code.
  size_t code_bytes() const;

private:
  static constexpr int64_t kKinds = 1 + kMostPanels; // of tiles with one number of rows
  struct Pages;
  explicit TileKernels(Isa isa);

  Isa isa_;
  std::unique_ptr<Pages> pages_;
  std::vector<TileFn> tiles_; // by rows: half a panel, then whole ones; null: beyond the maximum
};

} // namespace tg::tile
