// Matmul and conv2d with their bias, residual and activation. Included through impl.h.
#pragma once

#include "lang/core/semantics/pointwise.h"
#include "lang/core/shape_rules.h"

namespace tg {

namespace semantics {

/// Rows of results that are summed together, so that each element read serves all of them.
inline constexpr int64_t kSumRows = 4;

/// sums[r][i] += scale[r] * x[i * step] for r < rows; row r is at sums + r * pitch.
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

/// act(sum + bias + residual) for one result of matmul and conv2d.
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

/// `f(left, right, base)` for each product of a batch: the matrices, and where the result begins.
template <class T, class F>
void each_product(llvm::ArrayRef<ConstView<T>> operands, llvm::ArrayRef<int64_t> out, F f) {
  llvm::ArrayRef<int64_t> x = operands[0].shape, y = operands[1].shape;
  int64_t m = out[out.size() - 2], n = out.back(), k = x.back();
  // Two more axes of size 1 make the batch a broadcast of whole matrices.
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

/// Geometry of a window along one axis, and the results whose window element k lies inside.
struct Sliding {
  int64_t size, out, stride, dilation, before;
  int64_t first(int64_t k) const {
    int64_t missing = before - k * dilation;
    return missing <= 0 ? 0 : std::min(out, (missing + stride - 1) / stride);
  }
  int64_t last(int64_t k) const { // excluded
    int64_t room = size - 1 + before - k * dilation;
    return room < 0 ? 0 : std::min(out, room / stride + 1);
  }
  int64_t input(int64_t result, int64_t k) const { return result * stride - before + k * dilation; }
};

inline Sliding sliding(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                       const Value& pad, int axis) {
  std::optional<Window> w = window(size, kernel, stride, dilation, pad, axis);
  assert(w && "infer admits no window that does not fit");
  return {size, w->out, stride, dilation, w->before};
}

/// Adds one input plane, under element (i, j) of the window, to the sums of a block of channels.
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
        }
      for (int64_t r = 0; r < block; ++r)
        for (int64_t p = 0; p < plane; ++p) {
          int64_t position = (image * out[1] + o + r) * plane + p;
          result.data[position] = epilogue(sums[r * plane + p], o + r, position);
        }
      o += block;
    }
}

} // namespace semantics

} // namespace tg
