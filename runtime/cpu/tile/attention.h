// Attention by register tiles: y = softmax(q @ keys + mask) @ values for a batch of heads,
// one block of query rows at a time, whose scores never leave the cache.
// If `seen` is false, `otherwise` replaces the score. The loops, outermost first:
//
//   parts (threads): groups of heads that share keys and values, then blocks of rows
//     keys and values packed into panels, once per group (or read in place, for few rows)
//       blocks of rows: their scores, and copies of their queries, stay in the second level
//         panels of keys and tiles of rows: scores
//         rows: mask, softmax
//         panels of values and tiles of rows: results
//
// Places that no row of a block sees (beyond the diagonal of causal attention) are skipped,
// for scores and results, if their share of the softmax is 0 in floats and values are finite.
//
// Cost of a block of R rows over L places, width W, values of V, AVX2 (6 x 16): R * L * (W + V)
// / 16 cycles of multiply-adds, and R * L exponentials (2 to 3 cycles each,
// including the surrounding work). It reads 4 * L * (W + V) bytes of panels
// from the second level or beyond.
// Packing moves L * (W + V) elements once per group, so it pays off only for several rows:
// up to kFewRows rows read keys and values once, in place. This is 4 * L * (W + V) bytes,
// and all other costs are negligible.
//
// Invariant: a row of the result depends only on shape and operands, not on threads,
// blocks or neighbouring rows.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/register_tile.h"

namespace tg::tile {

/// The start of the matrices of one head, in elements.
struct HeadOffsets {
  int64_t q = 0, keys = 0, values = 0, y = 0, mask = 0, seen = 0;
};

/// All steps are in elements; columns of y are adjacent. A mask has a step of 0 along an axis
/// on which it is repeated.
struct AttentionShape {
  int64_t rows = 1, places = 1, width = 1, value_width = 1; // S, L, W, V
  int64_t q_row = 0, q_width = 1;
  int64_t key_width = 0, key_place = 1; // of keys[W, L]
  int64_t value_place = 0, value_column = 1;
  int64_t y_row = 0;
  int64_t mask_row = 0, mask_place = 1, seen_row = 0, seen_place = 1;
  std::vector<HeadOffsets> heads = {{}};
};

/// The addresses of one run; `mask` and `seen` may be null. `scratch` is aligned to 64 bytes.
/// The functions process a row of n numbers: `max` is NaN if any number is,
/// `softmax` may work in place, and `mask_row` adds the mask and then sets unseen places;
/// either may be null.
struct AttentionData {
  const float *q = nullptr, *keys = nullptr, *values = nullptr, *mask = nullptr;
  const uint8_t* seen = nullptr;
  float *y = nullptr, *scratch = nullptr;
  float otherwise = -1e9F;
  float (*max)(const float* a, int64_t n) = nullptr;
  void (*softmax)(float* out, const float* a, int64_t n) = nullptr;
  void (*mask_row)(float* row, const float* mask, const uint8_t* seen, float otherwise,
                   int64_t n) = nullptr;
};

class Attention {
public:
  /// The maximum number of rows of a group that read keys and values in place.
  static constexpr int64_t kFewRows = 4;

  /// Without kernels, it runs compiled loops on any processor.
  Attention(AttentionShape shape, const TileKernels* kernels, int threads, const Caches& caches);

  const AttentionShape& shape() const { return shape_; }
  int parts() const { return parts_; }
  /// The scratch of all parts together.
  int64_t scratch_elements() const { return parts_ * part_scratch_; }
  /// Returns "6x16 by 24 rows", "in place by 1 row".
  std::string text() const;
  /// Parts may run in any order, on any threads, sequentially or concurrently.
  void run(int part, const AttentionData& data) const;

private:
  /// Heads [first, last) share keys and values.
  struct Group {
    size_t first, last;
  };
  /// The scratch of one part, and its contents.
  struct Work {
    const AttentionData& data;
    float *queries, *scores, *keys, *values;
    bool finite_values = false; // computed only if places may be skipped
  };
  /// Rows of one head, and the places [first, last) that any of them sees.
  struct Block {
    const HeadOffsets& head;
    int64_t row, rows;
    int64_t first, last;
  };

  void run_group(const Group& group, int64_t first_block, int64_t last_block, Work& work) const;
  void run_few(const Group& group, Work& work) const;
  void pack(const HeadOffsets& head, Work& work) const;
  void run_block(Block block, const Work& work) const;
  void score(const Block& block, const Work& work) const;
  bool soften(const Block& block, const Work& work) const;
  void mask_row(float* row, int64_t index, const Block& block, const Work& work) const;
  bool soften_row(float* row, int64_t index, const Block& block, const Work& work) const;
  void sum_values(const Block& block, const Work& work) const;
  void find_seen(Block& block, const Work& work) const;
  bool may_skip(const AttentionData& data) const { return data.seen && shape_.seen_place == 1; }
  /// Calls tile(first row, rows, first panel, panels) for all tiles of a block and these panels.
  template <class Tile> void each_tile(int64_t rows, int64_t first, int64_t last, Tile tile) const;
  void call(int64_t rows, int64_t panels, int64_t columns, const TileCall& call) const;

  AttentionShape shape_;
  const TileKernels* kernels_;
  bool few_ = false;
  int parts_ = 1;
  int64_t width_, tile_rows_;     // of a panel; the maximum of a tile
  int64_t block_rows_, blocks_;   // of a head
  int64_t query_row_, score_row_; // steps in scratch
  int64_t queries_ = 0, scores_ = 0, keys_ = 0, values_ = 0, part_scratch_ = 0; // elements
  std::vector<Group> groups_;
  std::vector<int32_t> mask_; // of the last panel of values, after full ones; empty: it is full
};

} // namespace tg::tile
