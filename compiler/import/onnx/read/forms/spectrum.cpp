// Discrete Fourier transforms as products with tables of cosines and sines, whose angles are
// computed in f64. The parts of a complex tensor in the file are along a last axis of two.
#include "compiler/import/onnx/read/call.h"

#include <cmath>
#include <numbers>

namespace tg::onnx {
namespace {

/// Rows of numbers: [rows, n]. The imaginary part may be absent.
struct Complex {
  NodeId re, im;
};

struct Transform {
  int64_t points = 0; // of the full spectrum
  bool inverse = false, onesided = false;
};

/// Returns cos or sin of 2 pi i j / points.
NodeId table(Emitter& e, OpKind function, int64_t rows, int64_t columns, int64_t points,
             DType dtype) {
  TensorType places{DType::I64, {rows, columns}};
  if (rows > kMostKnown / columns)
    return e.fail("a transform of " + llvm::Twine(points) + " points is not supported");
  NodeId product = e.mul(e.iota(places, 0), e.iota(places, 1));
  NodeId turns = e.op(OpKind::Mod, {product, e.like(product, static_cast<double>(points))});
  double turn = 2 * std::numbers::pi / static_cast<double>(points);
  return e.cast(e.unary(function, e.mul(e.cast(turns, DType::F64), turn)), dtype);
}

/// Doubles half a spectrum, whose other half mirrors it: all points count twice except the first,
/// and the last if the number of points is even.
Complex doubled(Emitter& e, const Complex& x, const Transform& t) {
  int64_t half = e.shape(x.re)[1];
  Literal weights{{e.dtype(x.re), {half}}, {}, std::vector<double>(static_cast<size_t>(half), 2)};
  weights.reals[0] = 1;
  if (t.points % 2 == 0 && half == t.points / 2 + 1) weights.reals.back() = 1;
  NodeId by = e.literal(weights);
  return {e.mul(x.re, by), x.im.valid() ? e.mul(x.im, by) : x.im};
}

/// Returns the sum over j of x[j] exp(-+ 2 pi i j k / points), for `results` values of k.
Complex transformed(Emitter& e, Complex x, const Transform& t, int64_t results) {
  int64_t given = e.shape(x.re)[1];
  NodeId cosines = table(e, OpKind::Cos, given, results, t.points, e.dtype(x.re));
  NodeId sines = table(e, OpKind::Sin, given, results, t.points, e.dtype(x.re));
  if (!t.inverse) sines = e.neg(sines);
  Complex made{e.matmul(x.re, cosines), e.matmul(x.re, sines)};
  if (x.im.valid()) {
    made.re = e.sub(made.re, e.matmul(x.im, sines));
    made.im = e.add(made.im, e.matmul(x.im, cosines));
  }
  if (!t.inverse) return made;
  double scale = 1 / static_cast<double>(t.points);
  return {e.mul(made.re, scale), e.mul(made.im, scale)};
}

/// Returns x[.., n, 1 or 2] along its last axis but one, cut or padded with zeros to the length.
NodeId along_rows(Emitter& e, NodeId x, const Transform& t) {
  bool half_given = t.inverse && t.onesided;
  int64_t last = e.rank(x) - 1, n = half_given ? t.points / 2 + 1 : t.points;
  Shape after(static_cast<size_t>(e.rank(x)), 0), before = after;
  int64_t now = e.shape(x)[static_cast<size_t>(last - 1)];
  after[static_cast<size_t>(last - 1)] = std::max<int64_t>(n - now, 0);
  x = e.slice(e.pad(x, before, after), last - 1, 0, n);
  if (!x.valid()) return x;
  Shape shape(e.shape(x).begin(), e.shape(x).end());
  int64_t rows = e.type(x).elements() / n / shape.back();
  auto part = [&](int64_t i) { return e.reshape(e.slice(x, last, i, i + 1), {rows, n}); };
  Complex parts{part(0), shape.back() == 2 ? part(1) : NodeId()};
  if (half_given) parts = doubled(e, parts, t);
  int64_t results = t.onesided && !t.inverse ? t.points / 2 + 1 : t.points;
  Complex made = transformed(e, parts, t, results);
  shape[static_cast<size_t>(last - 1)] = results;
  shape.back() = 1;
  if (half_given) return e.reshape(made.re, shape);
  return e.concat({e.reshape(made.re, shape), e.reshape(made.im, shape)}, last);
}

void dft(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  bool by_input = call.version() >= 20;
  int64_t given = by_input ? call.has(2) ? call.known_whole(2) : -2 : call.whole("axis", 1);
  Transform t;
  t.inverse = flag(call, "inverse", false);
  t.onesided = flag(call, "onesided", false);
  if (call.failed()) return;
  int64_t axis = call.axis(given, e.rank(x));
  if (!call.failed() && (axis == e.rank(x) - 1 || e.shape(x).back() > 2))
    call.fail("it takes x[.., 1 or 2] and an axis other than the last, got " + e.type(x).text());
  if (call.failed()) return;
  int64_t size = e.shape(x)[static_cast<size_t>(axis)];
  int64_t whole = t.inverse && t.onesided ? 2 * (size - 1) : size;
  t.points = call.has(1) ? call.known_whole(1) : whole;
  if (t.points < 1) call.fail("its length is " + llvm::Twine(t.points));
  if (t.onesided && !t.inverse && e.shape(x).back() == 2)
    call.fail("`onesided` requires real numbers");
  if (call.failed()) return;
  int64_t row = e.rank(x) - 2;
  call.result(e.swap_axes(along_rows(e, e.swap_axes(x, axis, row), t), axis, row));
}

/// Splits a signal[batch, length, 1 or 2] into frames that start one step apart.
void stft(Call& call) {
  Emitter& e = call.emit();
  NodeId signal = call.input(0), window = call.optional(2);
  int64_t step = call.known_whole(1), given = call.has(3) ? call.known_whole(3) : 0;
  Transform t;
  t.onesided = flag(call, "onesided", true);
  if (call.failed()) return;
  t.points = given > 0 ? given : window.valid() ? e.type(window).elements() : 0;
  bool fits = e.rank(signal) == 3 && e.shape(signal)[2] <= 2 && t.points > 0 &&
              t.points <= e.shape(signal)[1] && step > 0 &&
              !(t.onesided && e.shape(signal)[2] == 2) &&
              (!window.valid() || e.shape(window) == Ints(t.points));
  if (!fits) {
    call.fail("frames of " + llvm::Twine(t.points) + " each " + llvm::Twine(step) +
              " do not fit a signal of " + e.type(signal).text());
    return;
  }
  int64_t frames = (e.shape(signal)[1] - t.points) / step + 1;
  TensorType places{DType::I64, {frames, t.points}};
  NodeId at = e.add(e.mul(e.iota(places, 0), static_cast<double>(step)), e.iota(places, 1));
  NodeId framed = e.gather(signal, at, 1);
  if (window.valid()) framed = e.mul(framed, e.unsqueeze(window, 1));
  call.result(along_rows(e, framed, t));
}

double share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// Returns the bins of frequencies that are evenly spaced on the mel scale.
std::vector<int64_t> mel_edges(int64_t count, double low, double high, double bins_per_hertz) {
  auto mel = [](double hertz) { return 2595 * std::log1p(hertz / 700) / std::numbers::ln10; };
  double apart = (mel(high) - mel(low)) / static_cast<double>(count);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < count; ++i) {
    double at = mel(low) + static_cast<double>(i) * apart;
    double hertz = 700 * std::expm1(at / 2595 * std::numbers::ln10);
    edges.push_back(static_cast<int64_t>(std::floor(hertz * bins_per_hertz)));
  }
  return edges;
}

/// Makes triangles over the bins of a spectrum, each from an edge over the next to the one after.
void mel_weight_matrix(Call& call) {
  int64_t bands = call.known_whole(0), length = call.known_whole(1), rate = call.known_whole(2);
  double low = call.known_real(3), high = call.known_real(4);
  DType dtype = call.dtype("output_datatype", DType::F32);
  bool fits = bands >= 1 && length >= 1 && rate >= 1 && low >= 0 && low < high && high < 1e9 &&
              bands < kMostKnown / (length / 2 + 1);
  if (!call.failed() && !fits) call.fail("its numbers are out of range");
  if (call.failed()) return;
  int64_t bins = length / 2 + 1;
  std::vector<int64_t> edges =
      mel_edges(bands + 2, low, high, static_cast<double>(length + 1) / static_cast<double>(rate));
  Literal made{{DType::F64, {bins, bands}}, {}, {}};
  made.reals.resize(static_cast<size_t>(bins * bands));
  for (int64_t band = 0; band < bands; ++band) {
    int64_t from = edges[static_cast<size_t>(band)], peak = edges[static_cast<size_t>(band) + 1];
    int64_t to = edges[static_cast<size_t>(band) + 2];
    for (int64_t bin = from; bin < std::min(std::max(to, peak + 1), bins); ++bin) {
      double up = bin == peak ? 1 : share(bin - from, peak - from);
      made.reals[static_cast<size_t>(bin * bands + band)] =
          bin <= peak ? up : share(to - bin, to - peak);
    }
  }
  call.result(call.emit().cast(call.emit().literal(made), dtype));
}

} // namespace

llvm::ArrayRef<Form> spectrum_forms() {
  static constexpr Form kForms[] = {
      {"DFT", dft},
      {"MelWeightMatrix", mel_weight_matrix},
      {"STFT", stft},
  };
  return kForms;
}

} // namespace tg::onnx
