// Layers with several parts, built from reference.h: attention, feed-forward, recurrent cells.
// Weights are looked up by the paths that the library documents.
#pragma once

#include "tests/property/stdlib/ran.h"

namespace tg::test {

/// A function of the weights below a path.
struct Part {
  const RunResult& ran;
  std::string path;
  Part operator/(const std::string& name) const { return {ran, path + "." + name}; }
  const Array& operator()(const std::string& name) const { return ran.w(path + "." + name); }
};

inline Array dense(const Part& p, const Array& x, bool bias = true) {
  return affine(x, p("w"), bias ? &p("b") : nullptr);
}

inline Array attention(const Part& p, const Array& x, int64_t heads, int64_t kv_heads, bool causal,
                       bool bias, double base) {
  Array q = dense(p / "q", x, bias), k = dense(p / "k", x, bias), v = dense(p / "v", x, bias);
  if (base > 0) q = rotary(q, heads, base), k = rotary(k, kv_heads, base);
  return dense(p / "o", attend(q, k, v, heads, kv_heads, causal), bias);
}

inline Array feed_forward(const Part& p, const Array& x, bool approximate) {
  return dense(p / "down", dense(p / "up", x).map(approximate ? gelu_tanh : gelu));
}

inline Array swiglu(const Part& p, const Array& x) {
  Array gate = dense(p / "gate", x, false).map(silu);
  return dense(p / "down", gate.times(dense(p / "up", x, false)), false);
}

inline Array normed(const Part& p, const Array& x, double eps) {
  return layer_norm(x, p("scale"), p("shift"), eps);
}

inline Array batch_normed(const Part& p, const Array& x, double eps = 1e-5) {
  return batch_norm(x, p("scale"), p("shift"), p("mean"), p("variance"), eps);
}

/// The four gates of torch.nn.LSTMCell's documentation. Returns the next states.
inline std::vector<Array> lstm(const Array& x, const Array& h, const Array& c, const Array& wx,
                               const Array& wh, const Array& b) {
  Array gates = affine(x, wx, &b).plus(affine(h, wh)), next = c, out = h;
  int64_t width = h.dim(1);
  for (int64_t n = 0; n < h.dim(0); ++n)
    for (int64_t j = 0; j < width; ++j) {
      double i = sigmoid(gates(n, j)), f = sigmoid(gates(n, width + j)),
             g = std::tanh(gates(n, 2 * width + j)), o = sigmoid(gates(n, 3 * width + j));
      next(n, j) = f * c(n, j) + i * g;
      out(n, j) = o * std::tanh(next(n, j));
    }
  return {out, next};
}

/// The cell of torch.nn.GRUCell's documentation.
inline Array gru(const Array& x, const Array& h, const Array& wx, const Array& wh, const Array& bx,
                 const Array& bh) {
  Array from_x = affine(x, wx, &bx), from_h = affine(h, wh, &bh), out = h;
  int64_t width = h.dim(1);
  for (int64_t n = 0; n < h.dim(0); ++n)
    for (int64_t j = 0; j < width; ++j) {
      double r = sigmoid(from_x(n, j) + from_h(n, j));
      double z = sigmoid(from_x(n, width + j) + from_h(n, width + j));
      double fresh = std::tanh(from_x(n, 2 * width + j) + r * from_h(n, 2 * width + j));
      out(n, j) = (1 - z) * fresh + z * h(n, j);
    }
  return out;
}

/// The cell of Zoph and Le 2017, figure 8, in the form of the published benchmarks.
inline Array nas(const Part& p, const Array& x, const Array& h) {
  auto gate = [&](int number) {
    Part g = p / ("nas_gate" + std::to_string(number));
    return affine(x, g("wx")).plus(affine(h, g("wh")));
  };
  auto tanh = [](double v) { return std::tanh(v); };
  Array a = gate(1).map(relu).plus(gate(2).map(sigmoid));
  Array b = gate(3).map(sigmoid).plus(gate(4).map(tanh));
  Array c = gate(5).map(sigmoid).times(gate(6).map(tanh));
  Array d = gate(7).map(sigmoid).times(gate(8).map(relu));
  Array left = b.map(sigmoid).plus(c.map(tanh)).map(tanh);
  return left.times(a.map(tanh).times(d.map(tanh)).map(tanh)).map(tanh);
}

} // namespace tg::test
