// Implements the layers of the standard library again, in plain loops over doubles,
// by the definitions in the papers and in PyTorch's documentation. The file uses nothing
// of Tangram, so that a mistake in an operator's meaning cannot affect both sides.
#pragma once

#include <cassert>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <vector>

namespace tg::test {

/// A row-major array.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> data;

  static Array zeros(std::vector<int64_t> shape) {
    int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    return {std::move(shape), std::vector<double>(static_cast<size_t>(n))};
  }
  int64_t dim(size_t axis) const { return shape[axis]; }
  template <class... Ix> double& operator()(Ix... at) { return data[offset({int64_t{at}...})]; }
  template <class... Ix> double operator()(Ix... at) const {
    return data[offset({int64_t{at}...})];
  }
  Array map(const std::function<double(double)>& f) const {
    Array out = *this;
    for (double& x : out.data) x = f(x);
    return out;
  }
  Array with(const Array& other, const std::function<double(double, double)>& f) const {
    assert(shape == other.shape);
    Array out = *this;
    for (size_t i = 0; i < data.size(); ++i) out.data[i] = f(data[i], other.data[i]);
    return out;
  }
  Array plus(const Array& other) const { return with(other, std::plus<>()); }
  Array times(const Array& other) const { return with(other, std::multiplies<>()); }

private:
  size_t offset(std::initializer_list<int64_t> at) const {
    assert(at.size() == shape.size());
    int64_t flat = 0;
    size_t axis = 0;
    for (int64_t i : at) {
      assert(i >= 0 && i < shape[axis]);
      flat = flat * shape[axis++] + i;
    }
    return static_cast<size_t>(flat);
  }
};

// --- activations ---------------------------------------------------------------------------------

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double silu(double x) { return x / (1 + std::exp(-x)); }
inline double gelu(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
inline double gelu_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
}
inline double relu(double x) { return x > 0 ? x : 0; }
inline double hard_sigmoid(double x) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + 0.5; }

// --- rows ----------------------------------------------------------------------------------------

/// y[.., o] = sum over i of x[.., i] w[i, o], plus b[o].
inline Array affine(const Array& x, const Array& w, const Array* b = nullptr) {
  int64_t inner = w.dim(0), outer = w.dim(1);
  int64_t rows = static_cast<int64_t>(x.data.size()) / inner;
  Array y = Array::zeros(x.shape);
  y.shape.back() = outer;
  y.data.resize(static_cast<size_t>(rows * outer));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < outer; ++o) {
      double sum = b ? (*b)(o) : 0;
      for (int64_t i = 0; i < inner; ++i)
        sum += x.data[static_cast<size_t>(r * inner + i)] * w(i, o);
      y.data[static_cast<size_t>(r * outer + o)] = sum;
    }
  return y;
}

/// Applies `f` to each row of the last axis.
inline Array by_row(const Array& x, const std::function<void(double* row, int64_t size)>& f) {
  Array y = x;
  int64_t size = x.shape.back();
  for (size_t at = 0; at < y.data.size(); at += static_cast<size_t>(size)) f(&y.data[at], size);
  return y;
}

inline Array layer_norm(const Array& x, const Array& scale, const Array& shift, double eps) {
  return by_row(x, [&](double* row, int64_t size) {
    double mean = std::accumulate(row, row + size, 0.0) / static_cast<double>(size), variance = 0;
    for (int64_t i = 0; i < size; ++i) variance += std::pow(row[i] - mean, 2);
    variance /= static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i)
      row[i] = (row[i] - mean) / std::sqrt(variance + eps) * scale(i) + shift(i);
  });
}

inline Array rms_norm(const Array& x, const Array& scale, double eps) {
  return by_row(x, [&](double* row, int64_t size) {
    double squares = std::inner_product(row, row + size, row, 0.0) / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) row[i] *= scale(i) / std::sqrt(squares + eps);
  });
}

// --- images --------------------------------------------------------------------------------------

struct Window {
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;

  /// Returns "SAME" padding: results at all multiples of the stride, an odd line of padding
  /// at the bottom and right.
  Window same(const Array& x) const {
    auto total = [](int64_t size, int64_t kernel, int64_t stride) {
      return std::max<int64_t>(((size + stride - 1) / stride - 1) * stride + kernel - size, 0);
    };
    Window w = *this;
    int64_t h = total(x.dim(2), kernel_h, stride_h), v = total(x.dim(3), kernel_w, stride_w);
    w.top = h / 2, w.bottom = h - h / 2, w.left = v / 2, w.right = v - v / 2;
    return w;
  }
  int64_t height(const Array& x) const {
    return (x.dim(2) + top + bottom - kernel_h) / stride_h + 1;
  }
  int64_t width(const Array& x) const {
    return (x.dim(3) + left + right - kernel_w) / stride_w + 1;
  }
};

/// Calls f(row of kernel, column of kernel, value, inside) for each place of a window.
template <class F>
void over_window(const Array& x, const Window& w, int64_t n, int64_t c, int64_t oh, int64_t ow,
                 F f) {
  for (int64_t i = 0; i < w.kernel_h; ++i)
    for (int64_t j = 0; j < w.kernel_w; ++j) {
      int64_t h = oh * w.stride_h - w.top + i, v = ow * w.stride_w - w.left + j;
      bool inside = h >= 0 && h < x.dim(2) && v >= 0 && v < x.dim(3);
      f(i, j, inside ? x(n, c, h, v) : 0.0, inside);
    }
}

/// Returns the image of the values f(n, c, oh, ow).
template <class F> Array image(int64_t n, int64_t c, int64_t h, int64_t w, F f) {
  Array y = Array::zeros({n, c, h, w});
  for (int64_t in = 0; in < n; ++in)
    for (int64_t ic = 0; ic < c; ++ic)
      for (int64_t ih = 0; ih < h; ++ih)
        for (int64_t iw = 0; iw < w; ++iw) y(in, ic, ih, iw) = f(in, ic, ih, iw);
  return y;
}

/// torch.nn.functional.conv2d: filter o uses the channels of its group.
inline Array conv(const Array& x, const Array& k, Window w, const Array* bias = nullptr) {
  w.kernel_h = k.dim(2), w.kernel_w = k.dim(3);
  int64_t per_group = k.dim(1), groups = x.dim(1) / per_group, filters = k.dim(0) / groups;
  return image(x.dim(0), k.dim(0), w.height(x), w.width(x),
               [&](int64_t n, int64_t o, int64_t oh, int64_t ow) {
                 double sum = bias ? (*bias)(o) : 0;
                 for (int64_t c = 0; c < per_group; ++c)
                   over_window(x, w, n, o / filters * per_group + c, oh, ow,
                               [&](int64_t i, int64_t j, double value, bool) {
                                 sum += value * k(o, c, i, j);
                               });
                 return sum;
               });
}

inline Array max_pool(const Array& x, const Window& w) {
  return image(x.dim(0), x.dim(1), w.height(x), w.width(x),
               [&](int64_t n, int64_t c, int64_t oh, int64_t ow) {
                 double most = -INFINITY;
                 over_window(x, w, n, c, oh, ow, [&](int64_t, int64_t, double value, bool inside) {
                   if (inside) most = std::fmax(most, value);
                 });
                 return most;
               });
}

inline Array avg_pool(const Array& x, const Window& w, bool count_padding) {
  return image(x.dim(0), x.dim(1), w.height(x), w.width(x),
               [&](int64_t n, int64_t c, int64_t oh, int64_t ow) {
                 double sum = 0, count = 0;
                 over_window(x, w, n, c, oh, ow, [&](int64_t, int64_t, double value, bool inside) {
                   sum += value;
                   count += inside || count_padding;
                 });
                 return sum / count;
               });
}

inline Array batch_norm(const Array& x, const Array& scale, const Array& shift, const Array& mean,
                        const Array& variance, double eps) {
  return image(
      x.dim(0), x.dim(1), x.dim(2), x.dim(3), [&](int64_t n, int64_t c, int64_t h, int64_t w) {
        return (x(n, c, h, w) - mean(c)) / std::sqrt(variance(c) + eps) * scale(c) + shift(c);
      });
}

/// torch.nn.GroupNorm.
inline Array group_norm(const Array& x, int64_t groups, const Array& scale, const Array& shift,
                        double eps) {
  Array y = x;
  int64_t per_group = x.dim(1) / groups;
  auto over_group = [&](int64_t n, int64_t g, auto f) {
    for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c)
      for (int64_t h = 0; h < x.dim(2); ++h)
        for (int64_t w = 0; w < x.dim(3); ++w) f(n, c, h, w);
  };
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t g = 0; g < groups; ++g) {
      double sum = 0, squares = 0, count = static_cast<double>(per_group * x.dim(2) * x.dim(3));
      over_group(n, g, [&](auto... at) { sum += x(at...); });
      over_group(n, g, [&](auto... at) { squares += std::pow(x(at...) - sum / count, 2); });
      over_group(n, g, [&](int64_t i, int64_t c, int64_t h, int64_t w) {
        y(i, c, h, w) =
            (x(i, c, h, w) - sum / count) / std::sqrt(squares / count + eps) * scale(c) + shift(c);
      });
    }
  return y;
}

inline Array channel_means(const Array& x) {
  Array y = Array::zeros({x.dim(0), x.dim(1)});
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t c = 0; c < x.dim(1); ++c) {
      for (int64_t h = 0; h < x.dim(2); ++h)
        for (int64_t w = 0; w < x.dim(3); ++w) y(n, c) += x(n, c, h, w);
      y(n, c) /= static_cast<double>(x.dim(2) * x.dim(3));
    }
  return y;
}

// --- sequences -----------------------------------------------------------------------------------

/// Rotary positions by complex numbers: elements i and i + D / 2 of x[N, S,
/// heads * D] form one number of each head, rotated by place / base ** (2 i / D).
inline Array rotary(const Array& x, int64_t heads, double base) {
  Array y = x;
  int64_t width = x.dim(2) / heads;
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t s = 0; s < x.dim(1); ++s)
      for (int64_t head = 0; head < heads; ++head)
        for (int64_t i = 0; i < width / 2; ++i) {
          int64_t a = head * width + i, b = a + width / 2;
          double turn = static_cast<double>(s) *
                        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
          auto z = std::complex<double>(x(n, s, a), x(n, s, b)) * std::polar(1.0, turn);
          y(n, s, a) = z.real(), y(n, s, b) = z.imag();
        }
  return y;
}

/// Attention of q[N, S, heads * W] over k and v[N, M, kv_heads * W]. Head h uses the keys
/// of head h / (heads / kv_heads). Heads are adjacent in the last axis throughout.
inline Array attend(const Array& q, const Array& k, const Array& v, int64_t heads, int64_t kv_heads,
                    bool causal) {
  int64_t width = q.dim(2) / heads;
  Array out = Array::zeros(q.shape);
  for (int64_t n = 0; n < q.dim(0); ++n)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < q.dim(1); ++s) {
        int64_t from = h * width, shared = h / (heads / kv_heads) * width;
        int64_t seen = causal ? s + 1 : k.dim(1);
        std::vector<double> share(static_cast<size_t>(seen));
        double total = 0;
        for (int64_t t = 0; t < seen; ++t) {
          double score = 0;
          for (int64_t i = 0; i < width; ++i) score += q(n, s, from + i) * k(n, t, shared + i);
          total += share[static_cast<size_t>(t)] = std::exp(score / std::sqrt(width));
        }
        for (int64_t t = 0; t < seen; ++t)
          for (int64_t i = 0; i < width; ++i)
            out(n, s, from + i) += share[static_cast<size_t>(t)] / total * v(n, t, shared + i);
      }
  return out;
}

/// Returns one element of Vaswani et al.'s table.
inline double sinusoid(int64_t place, int64_t element, int64_t width, double base) {
  double pair = static_cast<double>(element - element % 2);
  double angle = static_cast<double>(place) / std::pow(base, pair / static_cast<double>(width));
  return element % 2 ? std::cos(angle) : std::sin(angle);
}

} // namespace tg::test
