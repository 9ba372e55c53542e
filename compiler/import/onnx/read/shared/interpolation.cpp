#include "compiler/import/onnx/read/shared/interpolation.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg::onnx {
namespace {

/// Where element i of the result lies. Runtimes compute it in floats, on which it may depend which
/// element is the nearest; weights need more digits.
template <class T> T source(Coordinates coordinates, const ResizedAxis& axis, int64_t i) {
  auto x = static_cast<T>(i), in = static_cast<T>(axis.in), scale = static_cast<T>(axis.scale),
       half = static_cast<T>(0.5);
  auto last = static_cast<T>(axis.in - 1), last_out = static_cast<T>(axis.length) - 1;
  auto start = static_cast<T>(axis.start), end = static_cast<T>(axis.end);
  switch (coordinates) {
  case Coordinates::HalfPixel: break;
  case Coordinates::HalfPixelSymmetric: {
    T adjustment = static_cast<T>(axis.out) / static_cast<T>(axis.length);
    return in / 2 * (1 - adjustment) + (x + half) / scale - half;
  }
  case Coordinates::PytorchHalfPixel:
    if (axis.out == 1) return 0;
    break;
  case Coordinates::AlignCorners: return last_out == 0 ? 0 : x * last / last_out;
  case Coordinates::Asymmetric: return x / scale;
  case Coordinates::TfCropAndResize:
    if (axis.out == 1) return half * (start + end) * last;
    return start * last + x * (end - start) * last / static_cast<T>(axis.out - 1);
  }
  return (x + half) / scale - half;
}

int64_t nearest(const Interpolation& how, const ResizedAxis& axis, int64_t i) {
  double x = source<float>(how.coordinates, axis, i), place = 0;
  switch (how.nearest) {
  case NearestMode::RoundPreferFloor: place = std::ceil(x - 0.5); break;
  case NearestMode::RoundPreferCeil: place = std::floor(x + 0.5); break;
  case NearestMode::Floor: place = std::floor(x); break;
  case NearestMode::Ceil: place = std::ceil(x); break;
  case NearestMode::Outward: place = axis.scale < 1 ? std::ceil(x) : std::floor(x); break;
  }
  return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(axis.in - 1)));
}

/// The weight of an element at this distance. Keys 1981 for the cubic one.
double weight_at(const Interpolation& how, double distance) {
  double t = std::abs(distance), a = how.cubic_a;
  if (how.filter == Filter::Linear) return std::max(0.0, 1 - t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

struct Tap {
  int64_t place;
  double weight;
};
using Taps = llvm::SmallVector<Tap, 4>;

/// Of the element at x. On the way down an antialiasing filter is as much wider.
Taps taps_at(const Interpolation& how, const ResizedAxis& axis, double x) {
  double narrow = how.antialias ? std::min(axis.scale, 1.0) : 1.0;
  double support = how.filter == Filter::Linear ? 1 : 2;
  auto reach = static_cast<int64_t>(std::ceil(support / narrow));
  auto below = static_cast<int64_t>(std::floor(x));
  Taps taps;
  double sum = 0;
  for (int64_t at = below - reach + 1; at <= below + reach; ++at) {
    bool outside = at < 0 || at >= axis.in;
    double weight = weight_at(how, narrow * (static_cast<double>(at) - x));
    if (weight == 0 || (outside && how.exclude_outside)) continue;
    int64_t place = std::clamp<int64_t>(at, 0, axis.in - 1);
    sum += weight;
    if (!taps.empty() && taps.back().place == place)
      taps.back().weight += weight;
    else
      taps.push_back({place, weight});
  }
  if (how.exclude_outside || narrow < 1)
    for (Tap& tap : taps) tap.weight = sum == 0 ? 0 : tap.weight / sum;
  return taps;
}

Taps taps_of(const Interpolation& how, const ResizedAxis& axis, int64_t i) {
  if (how.filter == Filter::Nearest) return {{nearest(how, axis, i), 1}};
  return taps_at(how, axis, source<double>(how.coordinates, axis, i));
}

} // namespace

bool AxisSamples::is_selection() const {
  return weights.size() == 1 &&
         llvm::all_of(weights[0], [](double w) { return static_cast<float>(w) == 1; });
}

AxisSamples samples_of(const Interpolation& how, const ResizedAxis& axis) {
  AxisSamples samples;
  auto out = static_cast<size_t>(axis.out);
  if (how.coordinates == Coordinates::TfCropAndResize) {
    for (int64_t i = 0; i < axis.out; ++i) {
      auto x = source<float>(how.coordinates, axis, i);
      samples.beyond.push_back(x < 0 || x > static_cast<float>(axis.in - 1));
    }
    if (!llvm::is_contained(samples.beyond, true)) samples.beyond.clear();
  }
  for (size_t i = 0; i < out; ++i) {
    bool beyond = !samples.beyond.empty() && samples.beyond[i];
    Taps taps = beyond ? Taps{{0, 1}} : taps_of(how, axis, static_cast<int64_t>(i));
    if (taps.empty()) taps.push_back({0, 0});
    while (samples.places.size() < taps.size()) {
      // Elements that have fewer read their first place again, for nothing.
      std::vector<int64_t> first(i);
      for (size_t j = 0; j < i; ++j) first[j] = samples.places[0][j];
      samples.places.push_back(std::move(first));
      samples.weights.emplace_back(i, 0.0);
    }
    for (size_t k = 0; k < samples.places.size(); ++k) {
      samples.places[k].push_back(k < taps.size() ? taps[k].place : taps[0].place);
      samples.weights[k].push_back(k < taps.size() ? taps[k].weight : 0.0);
    }
  }
  return samples;
}

} // namespace tg::onnx
