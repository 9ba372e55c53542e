// Convolution by minimal filtering (winograd_transforms.h). Included through impl.h.
#pragma once

#include "lang/core/semantics/products.h"
#include "lang/core/semantics/winograd_transforms.h"

namespace tg {

namespace semantics {

/// The number of tiles that are transformed together, so that sums run along them,
/// and of outputs that are summed together.
struct TileBlock {
  int64_t tiles = 32, outputs = kSumRows;
};

/// The transformed inputs of a block, and the products of its outputs.
/// u is [products, outputs, inputs].
inline int64_t winograd_scratch(llvm::ArrayRef<int64_t> u, TileBlock block = {}) {
  return u[0] * (u[2] + block.outputs) * block.tiles;
}

/// Returns the integer as a scalar; Math::integer takes no negative numbers.
template <class W> W signed_integer(int value) {
  W size = Math<W>::integer(value < 0 ? -value : value);
  return value < 0 ? -size : size;
}

/// A `rows` x `columns` matrix of integers over a denominator, as scalars.
/// A product with it does not read the operands of zero entries,
/// so that NaN and infinities do not spread.
template <class W> struct Transform {
  int64_t rows, columns;
  W at[Winograd::kMaxTile][Winograd::kMaxTile];
  bool used[Winograd::kMaxTile][Winograd::kMaxTile]; // entries that are not 0

  template <int columns_stored>
  Transform(const int (*matrix)[columns_stored], int64_t rows, int64_t columns, int denominator = 1)
      : rows(rows), columns(columns) {
    W one_of = Math<W>::integer(denominator);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        at[i][j] = signed_integer<W>(matrix[i][j]) / one_of;
        used[i][j] = matrix[i][j] != 0;
      }
  }

  /// Computes M x M' of a row-major `columns` x `columns` x, to a row-major `rows` x `rows` y.
  void apply(const W* x, W* y) const {
    W half[Winograd::kMaxTile][Winograd::kMaxTile]; // M x
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) half[i][j] = row_sum(i, x + j, columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < rows; ++j) y[i * rows + j] = row_sum(j, half[i], 1);
  }

private:
  /// Returns the sum of M[row][k] * x[k * pitch]; each row has a nonzero entry.
  W row_sum(int64_t row, const W* x, int64_t pitch) const {
    int64_t k = 0;
    while (!used[row][k]) ++k;
    W sum = at[row][k] * x[k * pitch];
    for (++k; k < columns; ++k)
      if (used[row][k]) sum += at[row][k] * x[k * pitch];
    return sum;
  }
};

template <class T> void winograd_weight(AttrValues attrs, const ConstView<T>& w, View<T> result) {
  using W = WideOf<T>;
  const Winograd& f = winograd_of_results(attrs[0]->number);
  Transform<W> g(f.weights, f.tile, Winograd::kKernel);
  W denominator = Math<W>::integer(int64_t{f.denominator} * f.denominator);
  int64_t kernels = w.shape[0] * w.shape[1], taps = Winograd::kKernel * Winograd::kKernel;
  for (int64_t k = 0; k < kernels; ++k) {
    W kernel[Winograd::kKernel * Winograd::kKernel], out[Winograd::kMaxTile * Winograd::kMaxTile];
    for (int64_t tap = 0; tap < taps; ++tap) kernel[tap] = static_cast<W>(w.data[k * taps + tap]);
    g.apply(kernel, out);
    for (int64_t p = 0; p < f.products(); ++p)
      result.data[p * kernels + k] = static_cast<T>(out[p] / denominator);
  }
}

/// winograd_conv2d of one image and group. Tiles are numbered row by row over the result.
template <class T> class WinogradImage {
public:
  using W = WideOf<T>;

  WinogradImage(const Winograd& f, const Sliding& rows, const Sliding& columns, int64_t inputs,
                TileBlock block, llvm::MutableArrayRef<W> scratch)
      : f_(f), rows_(rows), columns_(columns), inputs_(inputs), block_(block),
        across_((columns.out + f.results - 1) / f.results),
        to_inputs_(f.inputs, f.tile, f.tile, f.inputs_denominator),
        to_results_(f.outputs, f.results, f.tile, f.outputs_denominator),
        inputs_at_(scratch.data()), sums_(inputs_at_ + f.products() * inputs * block.tiles) {}

  int64_t tiles() const { return (rows_.out + f_.results - 1) / f_.results * across_; }

  /// Transforms tiles `first` to first + count (at most a block) of all input channels.
  void read(const T* x, int64_t first, int64_t count) {
    for (int64_t c = 0; c < inputs_; ++c)
      for (int64_t t = 0; t < count; ++t) {
        W in[Winograd::kMaxTile * Winograd::kMaxTile], out[Winograd::kMaxTile * Winograd::kMaxTile];
        gather(x + c * rows_.size * columns_.size, first + t, in);
        to_inputs_.apply(in, out);
        for (int64_t p = 0; p < f_.products(); ++p)
          inputs_at_[(p * inputs_ + c) * block_.tiles + t] = out[p];
      }
  }

  /// Computes the products of these tiles with `rows` (at most a block) outputs.
  /// u points to the first of them, and its products are `pitch` apart.
  /// sum(u, rows, inputs, x, count, block.tiles, sums) computes one product of all tiles.
  template <class Sum>
  void multiply(const T* u, int64_t pitch, int64_t rows, int64_t count, Sum sum) {
    for (int64_t p = 0; p < f_.products(); ++p)
      sum(u + p * pitch, rows, inputs_, inputs_at_ + p * inputs_ * block_.tiles, count,
          block_.tiles, sums_ + p * block_.outputs * block_.tiles);
  }

  /// Calls f(sum, offset in the plane) for each result of output row r in these tiles.
  template <class F> void write(int64_t r, int64_t first, int64_t count, F f) {
    for (int64_t t = 0; t < count; ++t) {
      W in[Winograd::kMaxTile * Winograd::kMaxTile], out[Winograd::kMaxTile * Winograd::kMaxTile];
      for (int64_t p = 0; p < f_.products(); ++p)
        in[p] = sums_[(p * block_.outputs + r) * block_.tiles + t];
      to_results_.apply(in, out);
      int64_t y0 = top(first + t), x0 = left(first + t);
      for (int64_t y = y0; y < std::min(y0 + f_.results, rows_.out); ++y)
        for (int64_t x = x0; x < std::min(x0 + f_.results, columns_.out); ++x)
          f(out[(y - y0) * f_.results + x - x0], y * columns_.out + x);
    }
  }

private:
  int64_t top(int64_t tile) const { return tile / across_ * f_.results; }
  int64_t left(int64_t tile) const { return tile % across_ * f_.results; }

  /// Reads the inputs of a tile, with zeros outside the image.
  void gather(const T* plane, int64_t tile, W* in) const {
    for (int64_t i = 0; i < f_.tile; ++i)
      for (int64_t j = 0; j < f_.tile; ++j) {
        int64_t y = rows_.input(top(tile), i), x = columns_.input(left(tile), j);
        bool inside = y >= 0 && y < rows_.size && x >= 0 && x < columns_.size;
        in[i * f_.tile + j] = inside ? static_cast<W>(plane[y * columns_.size + x]) : W{};
      }
  }

  const Winograd& f_;
  Sliding rows_, columns_;
  int64_t inputs_;
  TileBlock block_;
  int64_t across_;
  Transform<W> to_inputs_, to_results_;
  W *inputs_at_, *sums_;
};

/// Computes sums[r][t] = sum over inputs c of u[r][c] * x[c][t], for up to kSumRows outputs;
/// rows of x and sums are `pitch` apart.
template <class T, class W>
void tile_products(const T* u, int64_t rows, int64_t inputs, const W* x, int64_t count,
                   int64_t pitch, W* sums) {
  std::fill_n(sums, rows * pitch, W{});
  for (int64_t c = 0; c < inputs; ++c) {
    std::array<W, kSumRows> scale{};
    for (int64_t r = 0; r < rows; ++r) scale[r] = static_cast<W>(u[r * inputs + c]);
    accumulate(sums, pitch, scale.data(), rows, x + c * pitch, 1, count);
  }
}

/// Computes the operator in blocks, whose products `sum` computes like tile_products.
template <class T, class Sum>
void winograd_conv2d_in(TileBlock block, Sum sum, AttrValues attrs,
                        llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                        llvm::MutableArrayRef<WideOf<T>> scratch) {
  using W = WideOf<T>;
  llvm::ArrayRef<int64_t> x = operands[0].shape, u = operands[1].shape, out = result.shape;
  Epilogue<T> epilogue(operands, *attrs[1]);
  int64_t inputs = u[2], groups = x[1] / inputs, per_group = out[1] / groups;
  int64_t plane = out[2] * out[3];
  WinogradImage<T> image(winograd_of_products(u[0]), sliding(x[2], 3, 1, 1, *attrs[0], 0),
                         sliding(x[3], 3, 1, 1, *attrs[0], 1), inputs, block, scratch);
  for (int64_t i = 0; i < out[0] * groups; ++i) // of an image, consecutively
    for (int64_t first = 0; first < image.tiles(); first += block.tiles) {
      int64_t count = std::min(block.tiles, image.tiles() - first), group = i % groups;
      image.read(operands[0].data + i * inputs * x[2] * x[3], first, count);
      for (int64_t o = group * per_group; o < (group + 1) * per_group; o += block.outputs) {
        int64_t rows = std::min(block.outputs, (group + 1) * per_group - o);
        image.multiply(operands[1].data + o * inputs, u[1] * inputs, rows, count, sum);
        for (int64_t r = 0; r < rows; ++r) {
          int64_t base = (i / groups * out[1] + o + r) * plane;
          image.write(r, first, count, [&](W value, int64_t at) {
            result.data[base + at] = epilogue(value, o + r, base + at);
          });
        }
      }
    }
}

template <class T>
void winograd_conv2d(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                     llvm::MutableArrayRef<WideOf<T>> scratch) {
  winograd_conv2d_in<T>(TileBlock{}, tile_products<T, WideOf<T>>, attrs, operands, result, scratch);
}

TG_MEANING(WinogradWeight) { winograd_weight(in.attrs, in.x(), in.result); }
TG_MEANING(WinogradConv2d) { winograd_conv2d(in.attrs, in.operands, in.result, in.scratch); }

} // namespace semantics

} // namespace tg
