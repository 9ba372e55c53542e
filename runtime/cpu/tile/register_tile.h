// Register tiles: machine code, emitted with Xbyak when it is first asked for, that multiplies a
// few rows of x by a panel of w with all sums in registers. One emitter serves AVX2 and AVX-512;
// lanes, registers and masks are all that differ. With AVX-512 BF16 both operands are bf16, whose
// products vdpbf16ps adds to sums in f32, two steps at once: a cell of four bytes, which with the
// others is a float, then is a pair of elements that follow each other along the depth.
//
// What a tile must cost, per step along the depth, of R rows by V vectors: V loads of the panel, R
// broadcasts of x, R * V multiply-adds. AVX2, 6 x 16: 8 loads for 12 multiply-adds, 6 cycles where
// two of these start in one; 12 sums, 2 vectors of the panel and a broadcast fill 15 of the 16
// registers. AVX-512, 14 x 32: 16 loads for 28, and 31 of 32 registers. A multiply-add takes 4
// cycles, so 8 sums or more keep two units busy: where there are few rows, a tile spans several
// panels.
//
// vdpbf16ps takes denormal numbers for zeros, and has none as results, whatever the processor's
// state says; it raises no flag. So does vcvtneps2bf16, which rounds results.
//
// Invariant: pages of emitted code are never writable and executable at once; a tile reads and
// writes no element beyond those that its call names.
#pragma once

#include "lang/core/result.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tg::tile {

enum class Isa : uint8_t { Avx2, Avx512, Avx512Bf16 };

/// "avx2", "avx512", "avx512_bf16".
const char* isa_name(Isa isa);
/// Whether the processor has it; what the user allows is the caller's to ask.
bool processor_has(Isa isa);
constexpr int64_t ceil_div(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }

/// Elements of a cell, and their bytes.
constexpr int64_t cell_elements(Isa isa) { return isa == Isa::Avx512Bf16 ? 2 : 1; }
constexpr int64_t element_bytes(Isa isa) { return 4 / cell_elements(isa); }

/// Cells of a vector, or sums.
constexpr int64_t lanes(Isa isa) { return isa == Isa::Avx2 ? 8 : 16; }
/// Columns of a panel: two vectors.
constexpr int64_t panel_columns(Isa isa) { return 2 * lanes(isa); }
/// The most rows of a tile.
constexpr int64_t most_rows(Isa isa) { return isa == Isa::Avx2 ? 6 : 14; }
/// The most panels that a tile of so many rows spans, and any tile.
constexpr int64_t kMostPanels = 4;
constexpr int64_t most_panels(Isa isa, int64_t rows) {
  int64_t fit = (isa == Isa::Avx2 ? 6 : 12) / rows; // with registers for the panels and x
  return fit < 1 ? 1 : fit > kMostPanels ? kMostPanels : fit;
}

/// One call of a tile: result = x * panels, over `depth` steps of a cell, then either the sums go
/// to `sums_out`, or, with `sums_in` added where it is not null, through bias, residual and relu to
/// `y`. Steps from row to row and from panel to panel are in bytes. Emitted code reads this struct.
struct TileCall {
  const void* x = nullptr; // rows whose elements lie side by side along the depth
  int64_t x_row = 0;
  const float* panel = nullptr; // [depth][panel_columns] cells
  int64_t panel_step = 0;
  int64_t depth = 0; // at least 1, or 0 with a last element alone
  const float* sums_in = nullptr;
  float* sums_out = nullptr; // [rows][panels][panel_columns], of both
  void* y = nullptr;
  int64_t y_row = 0;
  const float* bias = nullptr;    // of these columns, or null
  const void* residual = nullptr; // of the operands' dtype; null: none; may be y
  int64_t residual_row = 0;
  /// -1 for each column of the tile that exists, else 0; null: all do.
  const int32_t* mask = nullptr;
  int64_t last_columns = 0; // with a mask: columns of the last panel
  int64_t relu = 0;         // 1: negative results become 0 (NaN stays NaN)
  int64_t alone = 0;        // of bf16: 1: behind `depth` pairs x has an element more
  int64_t narrow = 0;       // of bf16: 1: y is bf16, else f32
  /// What a later call reads: asked for meanwhile, a line for every four steps. Need not exist.
  const float* ahead = nullptr;
};

/// Cells that a call of so many steps asks for ahead.
constexpr int64_t asked_ahead(int64_t depth) { return depth / 4 * 16; }

using TileFn = void (*)(const TileCall*);

/// How far a tile reaches: where the last panel has no more columns than a vector, half of it is
/// left out.
enum class Reach : uint8_t { Panels, HalfPanel };

/// All tiles of an instruction set: every number of rows, with as many panels as it may span, and
/// half a panel.
class TileKernels {
public:
  ~TileKernels();
  /// Errors: `device` where the processor lacks the instruction set, or gives no memory for code.
  static Result<std::unique_ptr<TileKernels>> make(Isa isa);

  Isa isa() const { return isa_; }
  /// panels: at most most_panels(rows); 1 where half a panel is wanted.
  TileFn tile(int64_t rows, int64_t panels, Reach reach = Reach::Panels) const {
    int64_t kind = reach == Reach::HalfPanel ? 0 : panels;
    return tiles_[static_cast<size_t>(kKinds * (rows - 1) + kind)];
  }
  /// Bytes of machine code.
  size_t code_bytes() const;

private:
  static constexpr int64_t kKinds = 1 + kMostPanels; // of tiles of so many rows
  struct Pages;
  explicit TileKernels(Isa isa);

  Isa isa_;
  std::unique_ptr<Pages> pages_;
  std::vector<TileFn> tiles_; // by rows: half a panel, then whole ones; null: beyond the most
};

} // namespace tg::tile
