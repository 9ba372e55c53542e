// Random products and schedules for tests of register tiles.
#pragma once

#include "runtime/cpu/tile/product.h"

#include "tests/unit/random_draws.h"
#include "tests/unit/tile/guarded.h"

namespace tg::tile {

using Random = RandomDraws;

/// A product with its operands: all that determines it.
struct Case {
  ProductShape shape;
  int64_t x_size, w_size, y_size, residual_size;
  bool bias, residual, in_place, relu, at_end;
};

/// Draws the steps of a matrix: row-major or transposed, with or without gaps. Returns its size.
inline int64_t lie(Random& r, int64_t rows, int64_t columns, int64_t& row, int64_t& column) {
  int64_t gap = r.coin() ? 0 : r.in(1, 9);
  bool transposed = r.in(0, 3) == 0;
  row = transposed ? 1 : columns + gap;
  column = transposed ? rows + gap : 1;
  return (rows - 1) * row + (columns - 1) * column + 1;
}

inline Case random_case(Random& r, int64_t deepest) {
  Case c;
  ProductShape& s = c.shape;
  s.rows = r.coin() ? r.in(1, 7) : r.in(1, 45);
  s.depth = r.in(0, 4) == 0 ? 1 : r.in(1, r.coin() ? 40 : deepest);
  s.columns = r.coin() ? 16 * r.in(1, 6) : r.in(1, 90);
  s.w_is_packed = r.coin();
  int64_t x = lie(r, s.rows, s.depth, s.x_row, s.x_depth);
  int64_t w = lie(r, s.depth, s.columns, s.w_depth, s.w_column);
  s.y_row = s.columns + (r.coin() ? 0 : r.in(1, 9));
  c.in_place = r.in(0, 3) == 0;
  s.residual_row = c.in_place ? s.y_row : s.columns + (r.coin() ? 0 : r.in(1, 9));
  int64_t y = (s.rows - 1) * s.y_row + s.columns;
  int64_t residual = (s.rows - 1) * s.residual_row + s.columns;
  int64_t products = r.coin() ? 1 : r.in(2, 5);
  bool one_w = s.w_is_packed || r.coin(), one_bias = r.coin();
  s.batch.clear();
  for (int64_t i = 0; i < products; ++i)
    s.batch.push_back({i * x, one_w ? 0 : i * w, i * y, i * (c.in_place ? y : residual),
                       one_bias ? 0 : i * s.columns});
  c.x_size = products * x;
  c.w_size = one_w ? w : products * w;
  c.y_size = products * y;
  c.residual_size = products * residual;
  c.bias = r.coin();
  c.residual = c.in_place || r.coin();
  c.relu = r.coin();
  c.at_end = r.coin();
  return c;
}

inline Schedule random_schedule(Random& r, const ProductShape& shape, Isa isa) {
  Schedule s;
  s.tile_rows = std::min(r.in(1, most_rows(isa)), shape.rows);
  if (r.coin()) s.tile_panels = r.in(1, most_panels(isa, s.tile_rows));
  s.row_block = r.in(1, 5);
  s.column_block = r.in(1, 3) * s.tile_panels;
  s.depth_block = r.coin() ? shape.depth : r.in(1, shape.depth);
  s.rows_outside = r.coin();
  s.copy_x = shape.x_depth != 1 || r.coin();
  s.batch_parts = static_cast<int>(r.in(1, 3));
  s.row_parts = static_cast<int>(r.in(1, 3));
  s.column_parts = static_cast<int>(r.in(1, 3));
  if (r.coin()) s.depth_parts = static_cast<int>(r.in(1, std::min<int64_t>(3, shape.depth)));
  s.panels_ahead = r.in(0, 2);
  return s;
}

/// Runs the parts in reverse order, since they do not depend on each other.
inline void backwards(int count, llvm::function_ref<void(int)> work) {
  while (count-- > 0) work(count);
}

} // namespace tg::tile
