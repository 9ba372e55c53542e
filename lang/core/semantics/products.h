// Matmul and conv2d with bias, residual and activation, and the other convolutions.
// Included through impl.h.
#pragma once

#include "lang/core/semantics/pointwise.h"
#include "lang/core/shape_rules.h"

namespace tg {

namespace semantics {

/// The number of result rows that are summed together, so that each element
/// that is read serves all of them.
inline constexpr int64_t kSumRows = 4;

/// Computes sums[r][i] += scale[r] * x[i * step] for r < rows; row r is at sums + r * pitch.
template <class T, class W>
void accumulate(W* __restrict sums, int64_t pitch, const W* scale, int64_t rows,
                const T* __restrict x, int64_t step, int64_t count) {
  if (rows == kSumRows && step == 1) {
    W *s0 = sums, *s1 = s0 + pitch, *s2 = s1 + pitch, *s3 = s2 + pitch;
    const W a = scale[0], b = scale[1], c = scale[2], d = scale[3];
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      W value = static_cast<W>(x[i]);
      s0[i] += a * value;
      s1[i] += b * value;
      s2[i] += c * value;
      s3[i] += d * value;
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; ++i)
      sums[r * pitch + i] += scale[r] * static_cast<W>(x[i * step]);
}

/// Computes act(sum + bias + residual) for one result of matmul and conv2d.
template <class T> struct Epilogue {
  using W = WideOf<T>;
  const T* bias = nullptr;     // by channel
  const T* residual = nullptr; // by result
  std::optional<OpKind> act;

  Epilogue(llvm::ArrayRef<ConstView<T>> operands, const Value& act_value)
      : bias(operands[2].data), residual(operands[3].data),
        act(act_op(parse_act(act_value.text).value_or(Act::None))) {}

  T operator()(W sum, int64_t channel, int64_t position) const {
    if (bias) sum = sum + static_cast<W>(bias[channel]);
    if (residual) sum = sum + static_cast<W>(residual[position]);
    if (act) sum = pointwise<W>(*act, &sum);
    return static_cast<T>(sum);
  }
};

/// Calls `f(left, right, base)` for each product of a batch: the matrices,
/// and the start of the result.
template <class T, class F>
void each_product(llvm::ArrayRef<ConstView<T>> operands, llvm::ArrayRef<int64_t> out, F f) {
  llvm::ArrayRef<int64_t> x = operands[0].shape, y = operands[1].shape;
  int64_t m = out[out.size() - 2], n = out.back(), k = x.back();
  // Two additional axes of size 1 make the batch a broadcast of whole matrices.
  Dims batch(out.drop_back(2).begin(), out.drop_back(2).end());
  Rows rows(batch, {x.drop_back(2), y.drop_back(2)});
  rows.for_each([&](int64_t first) {
    for (int64_t b = 0; b < rows.length(); ++b)
      f(operands[0].data + (rows.offset(0) + b * rows.step(0)) * m * k,
        operands[1].data + (rows.offset(1) + b * rows.step(1)) * k * n, (first + b) * m * n);
  });
}

template <class T>
void matmul(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
            llvm::MutableArrayRef<WideOf<T>> sums) {
  using W = WideOf<T>;
  Epilogue<T> epilogue(operands, *attrs[0]);
  llvm::ArrayRef<int64_t> out = result.shape;
  int64_t m = out[out.size() - 2], n = out.back(), k = operands[0].shape.back();
  each_product(operands, out, [&](const T* left, const T* right, int64_t base) {
    for (int64_t i = 0; i < m; i += kSumRows) {
      int64_t block = std::min(kSumRows, m - i);
      std::fill_n(sums.begin(), block * n, W{});
      for (int64_t l = 0; l < k; ++l) {
        std::array<W, kSumRows> scale{};
        for (int64_t r = 0; r < block; ++r) scale[r] = static_cast<W>(left[(i + r) * k + l]);
        accumulate(sums.data(), n, scale.data(), block, right + l * n, 1, n);
      }
      for (int64_t r = 0; r < block; ++r)
        for (int64_t j = 0; j < n; ++j) {
          int64_t position = base + (i + r) * n + j;
          result.data[position] = epilogue(sums[r * n + j], j, position);
        }
    }
  });
}

/// The geometry of a window along one axis, and the results whose window element k
/// is inside the image.
struct Sliding {
  int64_t size, out, stride, dilation, before;
  int64_t first(int64_t k) const {
    int64_t missing = before - k * dilation;
    return missing <= 0 ? 0 : std::min(out, (missing + stride - 1) / stride);
  }
  int64_t last(int64_t k) const { // exclusive
    int64_t room = size - 1 + before - k * dilation;
    return room < 0 ? 0 : std::min(out, room / stride + 1);
  }
  int64_t input(int64_t result, int64_t k) const { return result * stride - before + k * dilation; }
  bool in_padding(int64_t result, int64_t k) const {
    return result < first(k) || result >= last(k);
  }
};

inline Sliding sliding(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                       const Value& pad, int axis) {
  std::optional<Window> w = window(size, kernel, stride, dilation, pad, axis);
  assert(w && "type inference checks that windows fit");
  return {size, w->out, stride, dilation, w->before};
}

/// Along the three axes of conv3d.
inline std::array<Sliding, 3> sliding3d(AttrValues attrs, llvm::ArrayRef<int64_t> x,
                                        llvm::ArrayRef<int64_t> w) {
  std::array<Sliding, 3> along{};
  for (size_t i = 0; i < 3; ++i) {
    int64_t stride = attrs[0]->ints[i], before = attrs[1]->ints[i], dilation = attrs[2]->ints[i];
    std::optional<Window> window_of =
        window(x[2 + i], w[2 + i], stride, dilation, before, attrs[1]->ints[3 + i]);
    assert(window_of && "type inference checks that windows fit");
    along[i] = {x[2 + i], window_of->out, stride, dilation, before};
  }
  return along;
}

/// Adds one input plane, at element (i, j) of the window, to the sums of a block of channels.
template <class T, class W>
void accumulate_plane(W* sums, int64_t pitch, const W* scale, int64_t rows, const T* plane,
                      const Sliding& h, const Sliding& w, int64_t i, int64_t j) {
  int64_t y0 = h.first(i), y1 = h.last(i), x0 = w.first(j), x1 = w.last(j);
  if (y0 >= y1 || x0 >= x1) return;
  bool whole_rows = w.stride == 1 && h.stride == 1 && x0 == 0 && x1 == w.out && w.size == w.out &&
                    w.input(0, j) == 0;
  if (whole_rows) {
    accumulate(sums + y0 * w.out, pitch, scale, rows, plane + h.input(y0, i) * w.size, 1,
               (y1 - y0) * w.out);
    return;
  }
  for (int64_t y = y0; y < y1; ++y)
    accumulate(sums + y * w.out + x0, pitch, scale, rows,
               plane + h.input(y, i) * w.size + w.input(x0, j), w.stride, x1 - x0);
}

/// Adds the contribution of the padding at element (i, j) of the window:
/// a zero times the weight, which is NaN if the weight is infinite or NaN,
/// and otherwise has no effect. `outside`: the whole plane is padding.
template <class W>
void accumulate_padding(W* sums, int64_t pitch, const W* scale, int64_t rows, bool outside,
                        const Sliding& h, const Sliding& w, int64_t i, int64_t j) {
  if constexpr (std::is_floating_point_v<W>)
    for (int64_t r = 0; r < rows; ++r) {
      W zero = scale[r] * W{};
      if (zero == W{}) continue;
      for (int64_t y = 0; y < h.out; ++y)
        for (int64_t x = 0; x < w.out; ++x)
          if (outside || h.in_padding(y, i) || w.in_padding(x, j))
            sums[r * pitch + y * w.out + x] += zero;
    }
}

template <class T>
void conv2d(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
            llvm::MutableArrayRef<WideOf<T>> sums) {
  using W = WideOf<T>;
  llvm::ArrayRef<int64_t> x = operands[0].shape, w = operands[1].shape, out = result.shape;
  const Value &stride = *attrs[0], &pad = *attrs[1], &dilation = *attrs[2];
  Epilogue<T> epilogue(operands, *attrs[3]);
  Sliding rows = sliding(x[2], w[2], stride.ints[0], dilation.ints[0], pad, 0);
  Sliding columns = sliding(x[3], w[3], stride.ints[1], dilation.ints[1], pad, 1);
  int64_t inputs = w[1], per_group = out[1] / (x[1] / inputs), plane = out[2] * out[3];
  int64_t taps = w[2] * w[3];
  for (int64_t image = 0; image < out[0]; ++image)
    for (int64_t o = 0; o < out[1];) {
      int64_t group = o / per_group;
      int64_t block = std::min(kSumRows, (group + 1) * per_group - o);
      std::fill_n(sums.begin(), block * plane, W{});
      for (int64_t c = 0; c < inputs; ++c)
        for (int64_t tap = 0; tap < taps; ++tap) {
          std::array<W, kSumRows> scale{};
          for (int64_t r = 0; r < block; ++r)
            scale[r] = static_cast<W>(operands[1].data[((o + r) * inputs + c) * taps + tap]);
          const T* from = operands[0].data + (image * x[1] + group * inputs + c) * x[2] * x[3];
          accumulate_plane(sums.data(), plane, scale.data(), block, from, rows, columns, tap / w[3],
                           tap % w[3]);
          accumulate_padding(sums.data(), plane, scale.data(), block, false, rows, columns,
                             tap / w[3], tap % w[3]);
        }
      for (int64_t r = 0; r < block; ++r)
        for (int64_t p = 0; p < plane; ++p) {
          int64_t position = (image * out[1] + o + r) * plane + p;
          result.data[position] = epilogue(sums[r * plane + p], o + r, position);
        }
      o += block;
    }
}

/// Sums over channels and window elements, one plane of results at a time,
/// for each depth element of the window.
template <class T>
void conv3d(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
            llvm::MutableArrayRef<WideOf<T>> sums) {
  using W = WideOf<T>;
  llvm::ArrayRef<int64_t> x = operands[0].shape, w = operands[1].shape, out = result.shape;
  std::array<Sliding, 3> along = sliding3d(attrs, x, w);
  int64_t inputs = w[1], per_group = out[1] / (x[1] / inputs), plane = out[3] * out[4];
  int64_t volume = out[2] * plane, taps = w[2] * w[3] * w[4], image_elements = x[3] * x[4];
  for (int64_t image = 0; image < out[0]; ++image)
    for (int64_t o = 0; o < out[1];) {
      int64_t group = o / per_group;
      int64_t block = std::min(kSumRows, (group + 1) * per_group - o);
      std::fill_n(sums.begin(), block * volume, W{});
      for (int64_t c = 0; c < inputs; ++c)
        for (int64_t tap = 0; tap < taps; ++tap) {
          int64_t depth = tap / (w[3] * w[4]), row = tap / w[4] % w[3];
          std::array<W, kSumRows> scale{};
          for (int64_t r = 0; r < block; ++r)
            scale[r] = static_cast<W>(operands[1].data[((o + r) * inputs + c) * taps + tap]);
          const T* from =
              operands[0].data + (image * x[1] + group * inputs + c) * x[2] * image_elements;
          for (int64_t z = along[0].first(depth); z < along[0].last(depth); ++z)
            accumulate_plane(sums.data() + z * plane, volume, scale.data(), block,
                             from + along[0].input(z, depth) * image_elements, along[1], along[2],
                             row, tap % w[4]);
          for (int64_t z = 0; z < out[2]; ++z)
            accumulate_padding(sums.data() + z * plane, volume, scale.data(), block,
                               along[0].in_padding(z, depth), along[1], along[2], row, tap % w[4]);
        }
      for (int64_t r = 0; r < block; ++r)
        for (int64_t p = 0; p < volume; ++p) {
          W sum = sums[r * volume + p];
          if (operands[2].data) sum = sum + static_cast<W>(operands[2].data[o + r]);
          result.data[(image * out[1] + o + r) * volume + p] = static_cast<T>(sum);
        }
      o += block;
    }
}

/// One axis of a transposed convolution: the position of a window element in the result.
struct Spreading {
  int64_t size, out, stride, dilation, before;
  int64_t result(int64_t input, int64_t k) const { return input * stride - before + k * dilation; }
  /// The input elements whose window element k is inside the result.
  int64_t first(int64_t k) const {
    int64_t missing = before - k * dilation;
    return missing <= 0 ? 0 : std::min(size, (missing + stride - 1) / stride);
  }
  int64_t last(int64_t k) const { // exclusive
    int64_t room = out - 1 + before - k * dilation;
    return room < 0 ? 0 : std::min(size, room / stride + 1);
  }
};

inline Spreading spreading(AttrValues attrs, int64_t size, int64_t kernel, int axis) {
  int64_t stride = attrs[0]->ints[axis], dilation = attrs[3]->ints[axis];
  std::optional<Window> w =
      transposed_window(size, kernel, stride, dilation, *attrs[1], attrs[2]->ints[axis], axis);
  assert(w && "type inference checks that windows fit");
  return {size, w->out, stride, dilation, w->before};
}

/// Processes one plane of the result at a time: adds each input plane,
/// times each element of its window, at that element's position.
template <class T>
void conv_transpose2d(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                      llvm::MutableArrayRef<WideOf<T>> sums) {
  using W = WideOf<T>;
  llvm::ArrayRef<int64_t> x = operands[0].shape, w = operands[1].shape, out = result.shape;
  Spreading rows = spreading(attrs, x[2], w[2], 0), columns = spreading(attrs, x[3], w[3], 1);
  int64_t groups = attrs[4]->number, inputs = x[1] / groups, plane = out[2] * out[3];
  for (int64_t image = 0; image < out[0]; ++image)
    for (int64_t o = 0; o < out[1]; ++o) {
      std::fill_n(sums.begin(), plane, W{});
      for (int64_t c = o / w[1] * inputs, end = c + inputs; c < end; ++c)
        for (int64_t tap = 0; tap < w[2] * w[3]; ++tap) {
          int64_t i = tap / w[3], j = tap % w[3];
          W scale = static_cast<W>(operands[1].data[(c * w[1] + o % w[1]) * w[2] * w[3] + tap]);
          const T* from = operands[0].data + (image * x[1] + c) * x[2] * x[3];
          for (int64_t y = rows.first(i); y < rows.last(i); ++y) {
            int64_t to = rows.result(y, i) * out[3];
            for (int64_t column = columns.first(j); column < columns.last(j); ++column)
              sums[to + columns.result(column, j)] +=
                  scale * static_cast<W>(from[y * x[3] + column]);
          }
        }
      for (int64_t p = 0; p < plane; ++p) {
        W sum = sums[p];
        if (operands[2].data) sum = sum + static_cast<W>(operands[2].data[o]);
        result.data[(image * out[1] + o) * plane + p] = static_cast<T>(sum);
      }
    }
}

TG_MEANING(Matmul) { matmul(in.attrs, in.operands, in.result, in.scratch); }
TG_MEANING(Conv2d) { conv2d(in.attrs, in.operands, in.result, in.scratch); }
TG_MEANING(Conv3d) { conv3d(in.attrs, in.operands, in.result, in.scratch); }
TG_MEANING(ConvTranspose2d) { conv_transpose2d(in.attrs, in.operands, in.result, in.scratch); }

} // namespace semantics

} // namespace tg
