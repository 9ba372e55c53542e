// Products of a few rows with a matrix that is read once, in place: for attention of one place
// at a time, where packing would cost more than the product. AVX2 with FMA.
//
// Cost: a load and a multiply-add for eight elements of the matrix and each row;
// from memory, the time to read the matrix.
//
// Invariant: sums run along the depth in one order, independent of neighbouring rows.
#pragma once

#include <cstdint>

namespace tg::tile {

/// Dense rows of x, and the address of the sums. Steps in elements.
struct InPlaceRows {
  const float* x;
  int64_t x_row;
  float* y;
  int64_t y_row, rows;
};

/// Returns true if this processor can run them.
bool has_in_place_rows();

/// Computes y[r][j] = the sum of x[r][k] * w[j * w_row + k] over k < depth, for j in [first, last):
/// rows of w run along the depth.
void dot_rows(const InPlaceRows& rows, const float* w, int64_t w_row, int64_t depth, int64_t first,
              int64_t last);

/// Computes y[r][j] = the sum of x[r][k] * w[k * w_row + j] over k < depth, for j in [first, last):
/// rows of w run along the columns.
void add_rows(const InPlaceRows& rows, const float* w, int64_t w_row, int64_t depth, int64_t first,
              int64_t last);

} // namespace tg::tile
