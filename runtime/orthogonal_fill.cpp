// Uniformly distributed (Haar) matrices with orthonormal columns, m x n with m >= n,
// as a product of random Householder reflections.
// The result is the Q of the QR decomposition of a normal random matrix,
// with the diagonal of R made positive, but without the decomposition.
// The reflection that eliminates a column leaves the following columns normal and independent,
// so each reflection is drawn from m - j normal numbers of its own (Stewart, SIAM J. Numer. Anal.
// 17 (3), 1980; Mezzadri, Notices AMS 54 (5), 2007). Every vector defines an orthogonal reflection,
// so nothing can fail.
//
// The reflections are applied to the first n columns of the identity, the last one first,
// 32 at a time as I - V T V' (Schreiber and Van Loan 1989).
// This takes 2 m n^2 - 2/3 n^3 floating-point operations in double,
// nearly all in two matrix products.
// Numbers are summed in the same order for any number of threads,
// and no product is fused with a sum (CMakeLists.txt), so the bits are the same everywhere.
#include "lang/core/support/threads.h"
#include "runtime/random.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tg {

namespace {

constexpr size_t kReflections = 32;               // per block
constexpr size_t kChunk = 128;                    // rows that fit in the second-level cache
constexpr size_t kTileRows = 4, kTileColumns = 4; // tile whose sums fit in the registers

typedef double Doubles __attribute__((vector_size(16), may_alias, aligned(8)));

size_t round_up(size_t x, size_t unit) { return (x + unit - 1) / unit * unit; }

/// Row-major, padded with zero rows and columns to whole tiles.
struct Matrix {
  size_t rows, stride;
  std::vector<double> values;

  Matrix(size_t row_count, size_t row_stride)
      : rows(round_up(row_count, kTileRows)), stride(row_stride), values(rows * stride) {}
  double* at(size_t row, size_t column) { return &values[row * stride + column]; }
};

/// The first columns of a submatrix.
struct Columns {
  double* begin;
  size_t stride, rows, count;

  double* at(size_t row, size_t column) const { return begin + row * stride + column; }
};

/// Computes w[p][c] += sum over i of v[i][p] q[i][c] for a tile of w.
void add_to_tile(const double* v, size_t v_stride, const double* q, size_t q_stride, size_t rows,
                 double* w, size_t w_stride) {
  Doubles sum[kTileRows][2] = {};
  for (size_t i = 0; i < rows; ++i, v += v_stride, q += q_stride) {
    Doubles left = *(const Doubles*)q, right = *(const Doubles*)(q + 2);
    for (size_t p = 0; p < kTileRows; ++p) {
      sum[p][0] += v[p] * left;
      sum[p][1] += v[p] * right;
    }
  }
  for (size_t p = 0; p < kTileRows; ++p, w += w_stride) {
    *(Doubles*)w += sum[p][0];
    *(Doubles*)(w + 2) += sum[p][1];
  }
}

/// Computes q[i][c] -= sum over p of v[i][p] w[p][c] for a tile of q.
void take_from_tile(const double* v, size_t v_stride, const double* w, size_t w_stride,
                    size_t count, double* q, size_t q_stride) {
  Doubles sum[kTileRows][2] = {};
  for (size_t p = 0; p < count; ++p, w += w_stride) {
    Doubles left = *(const Doubles*)w, right = *(const Doubles*)(w + 2);
    for (size_t i = 0; i < kTileRows; ++i) {
      sum[i][0] += v[i * v_stride + p] * left;
      sum[i][1] += v[i * v_stride + p] * right;
    }
  }
  for (size_t i = 0; i < kTileRows; ++i, q += q_stride) {
    *(Doubles*)q -= sum[i][0];
    *(Doubles*)(q + 2) -= sum[i][1];
  }
}

/// Computes w += v' q.
void add_products(Columns v, Columns q, Columns w) {
  for (size_t i = 0; i < v.rows; i += kChunk)
    for (size_t c = 0; c < q.count; c += kTileColumns)
      for (size_t p = 0; p < v.count; p += kTileRows)
        add_to_tile(v.at(i, p), v.stride, q.at(i, c), q.stride, std::min(kChunk, v.rows - i),
                    w.at(p, c), w.stride);
}

/// Computes q -= v w.
void take_products(Columns v, Columns w, Columns q) {
  for (size_t chunk = 0; chunk < v.rows; chunk += kChunk)
    for (size_t c = 0; c < q.count; c += kTileColumns)
      for (size_t i = chunk; i < std::min(chunk + kChunk, v.rows); i += kTileRows)
        take_from_tile(v.at(i, 0), v.stride, w.at(0, c), w.stride, v.count, q.at(i, c), q.stride);
}

/// Reflections whose vectors are the columns of v; their product is I - v t v'.
struct Block {
  Matrix v;
  size_t count;
  double t[kReflections][kReflections] = {};

  Columns vectors() { return {v.at(0, 0), v.stride, v.rows, count}; }
};

/// Computes the upper triangle t from the dot products of the vectors.
void complete(Block& block) {
  Matrix dots(block.v.stride, block.v.stride);
  Columns all = {block.v.at(0, 0), block.v.stride, block.v.rows, block.v.stride};
  add_products(all, all, {dots.at(0, 0), dots.stride, dots.rows, dots.stride});
  for (size_t j = 0; j < block.count; ++j) {
    double dot = *dots.at(j, j), scale = dot > 0 ? 2 / dot : 0; // a zero vector makes no reflection
    block.t[j][j] = scale;
    for (size_t p = 0; p < j; ++p) {
      double sum = 0;
      for (size_t k = p; k < j; ++k) sum += block.t[p][k] * *dots.at(k, j);
      block.t[p][j] = -scale * sum;
    }
  }
}

/// Applies the block's reflections to columns.
void reflect(Block& block, Columns q) {
  Matrix products(block.count, q.count);
  Columns w = {products.at(0, 0), q.count, products.rows, q.count};
  add_products(block.vectors(), q, w);
  for (size_t p = 0; p < block.count; ++p) // w becomes t w: a row needs only the following rows
    for (size_t c = 0; c < q.count; ++c) {
      double sum = 0;
      for (size_t j = p; j < block.count; ++j) sum += block.t[p][j] * *w.at(j, c);
      *w.at(p, c) = sum;
    }
  take_products(block.vectors(), w, q);
}

/// Applies the reflections on several threads: columns are independent.
void reflect(Block& block, Columns q, int threads) {
  constexpr size_t kWorthAThread = 1 << 22; // multiplications
  size_t tiles = q.count / kTileColumns;
  size_t most = std::min(tiles, static_cast<size_t>(std::max(threads, 1)));
  size_t parts = std::clamp<size_t>(q.rows * q.count * block.count / kWorthAThread, 1, most);
  auto part_of = [&](size_t part) {
    size_t begin = tiles * part / parts, end = tiles * (part + 1) / parts;
    return Columns{q.at(0, begin * kTileColumns), q.stride, q.rows, (end - begin) * kTileColumns};
  };
  in_parts(parts, [&](size_t part) { reflect(block, part_of(part)); });
}

/// A matrix of floats with at least as many rows as columns, or the transpose of one.
struct Tall {
  llvm::MutableArrayRef<float> values;
  size_t rows, columns, row_stride, column_stride;

  float& at(size_t row, size_t column) { return values[row * row_stride + column * column_stride]; }
};

/// Draws the reflections that eliminate the entries below the diagonal in the columns
/// from `first` on, before other reflections are applied to them.
/// Puts on the diagonal of Q the signs that make the diagonal of R positive.
Block draw(Tall& normal, size_t first, Matrix& q) {
  size_t count = std::min(kReflections, normal.columns - first);
  Block block{Matrix(normal.rows - first, round_up(count, kTileColumns)), count};
  double squares[kReflections] = {};
  for (size_t i = first; i < normal.rows; ++i)
    for (size_t j = 0; j < count && j <= i - first; ++j) {
      double x = normal.at(i, first + j);
      *block.v.at(i - first, j) = x;
      squares[j] += x * x;
    }
  for (size_t j = 0; j < count; ++j) {
    double& x = *block.v.at(j, j);
    *q.at(first + j, first + j) = std::copysign(1.0, -x);
    x += std::copysign(std::sqrt(squares[j]), x);
  }
  complete(block);
  return block;
}

} // namespace

void fill_orthogonal(const RandomStream& stream, double gain, size_t rows, size_t columns,
                     llvm::MutableArrayRef<float> out, int threads) {
  fill_normal(stream, 1, out, threads);
  Tall matrix =
      rows >= columns ? Tall{out, rows, columns, columns, 1} : Tall{out, columns, rows, 1, columns};
  size_t width = round_up(matrix.columns, kTileColumns);
  // The row stride is an odd number of tiles, so that vertical neighbours are in different cache
  // sets.
  Matrix q(matrix.rows, width / kTileColumns % 2 == 0 ? width + kTileColumns : width);
  for (size_t end = round_up(matrix.columns, kReflections); end > 0; end -= kReflections) {
    size_t first = end - kReflections;
    Block block = draw(matrix, first, q);
    reflect(block, {q.at(first, first), q.stride, q.rows - first, width - first}, threads);
  }
  for (size_t i = 0; i < matrix.rows; ++i)
    for (size_t j = 0; j < matrix.columns; ++j)
      matrix.at(i, j) = static_cast<float>(gain * *q.at(i, j));
}

} // namespace tg
