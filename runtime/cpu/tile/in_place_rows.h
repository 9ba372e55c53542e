// Products of a few rows with a matrix that is read once, where it lies: for attention of one place
// at a time, where packing would cost more than the product. AVX2 with FMA.
//
// Cost: a load and a multiply-add for eight elements of the matrix and each row; from memory, what
// reading the matrix takes.
//
// Invariant: sums go along the depth in one order, whatever stands beside a row.
#pragma once

#include <cstdint>

namespace tg::tile {

/// Rows of x, each side by side, and where sums go. Steps in elements.
struct InPlaceRows {
  const float* x;
  int64_t x_row;
  float* y;
  int64_t y_row, rows;
};

/// Whether this processor can run them.
bool has_in_place_rows();

/// y[r][j] = the sum of x[r][k] * w[j * w_row + k] over k < depth, for j in [first, last): rows of
/// w lie along the depth.
void dot_rows(const InPlaceRows& rows, const float* w, int64_t w_row, int64_t depth, int64_t first,
              int64_t last);

/// y[r][j] = the sum of x[r][k] * w[k * w_row + j] over k < depth, for j in [first, last): rows of
/// w lie along the columns.
void add_rows(const InPlaceRows& rows, const float* w, int64_t w_row, int64_t depth, int64_t first,
              int64_t last);

} // namespace tg::tile
