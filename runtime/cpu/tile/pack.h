// Brings operands into the order in which tiles read them. w becomes panels
// of a few vectors' columns, [panel][depth][column], with zeros beyond the last column.
// x, if its rows do not have the required layout, is copied to dense rows whose distance
// is not a multiple of 4 KiB, so that rows of one block do not share a few cache sets.
// For bf16, cells of panels are pairs of elements that are consecutive along the depth,
// the last with a zero if the depth is odd.
//
// Cost: each element is read and written once, 64 bytes at a time if columns are adjacent,
// else in transposed squares of 8 x 8.
#pragma once

#include <cstdint>

namespace tg::tile {

/// A matrix in its memory layout, in elements.
template <class T> struct MatrixOf {
  const T* at = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_step = 0, column_step = 1;
};
using Matrix = MatrixOf<float>;
using Bf16Matrix = MatrixOf<uint16_t>;

constexpr int64_t panel_count(int64_t columns, int64_t width) {
  return (columns + width - 1) / width;
}

/// Packs panels [begin, end) of a matrix whose rows run along the depth;
/// `to` is the address of panel `begin`.
void pack_panels(float* to, const Matrix& w, int64_t width, int64_t begin, int64_t end);
void pack_panels(float* to, const Bf16Matrix& w, int64_t width, int64_t begin, int64_t end);

/// Returns the cells between rows of a copy: a multiple of a line, an odd number of lines.
constexpr int64_t copied_row(int64_t columns) { return (columns + 15) / 16 / 2 * 32 + 16; }
/// `to_row` is in elements.
void copy_rows(float* to, int64_t to_row, const Matrix& x);
void copy_rows(uint16_t* to, int64_t to_row, const Bf16Matrix& x);

} // namespace tg::tile
