#include "lang/core/resample.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// Returns the position of result element i in the input axis.
template <class T> T position(ResizeCoordinates coordinates, const ResampledAxis& axis, int64_t i) {
  auto x = static_cast<T>(i), in = static_cast<T>(axis.in), out = static_cast<T>(axis.out),
       scale = static_cast<T>(axis.scale), half = static_cast<T>(0.5), last = in - 1;
  auto start = static_cast<T>(axis.start), end = static_cast<T>(axis.end);
  switch (coordinates) {
  case ResizeCoordinates::HalfPixel: break;
  case ResizeCoordinates::HalfPixelSymmetric: {
    auto adjustment = out / static_cast<T>(axis.scale * static_cast<double>(axis.in));
    return in / 2 * (1 - adjustment) + (x + half) / scale - half;
  }
  case ResizeCoordinates::PytorchHalfPixel:
    if (axis.out == 1) return 0;
    break;
  case ResizeCoordinates::AlignCorners: return axis.out == 1 ? 0 : x * last / (out - 1);
  case ResizeCoordinates::Asymmetric: return x / scale;
  case ResizeCoordinates::TfCropAndResize:
    if (axis.out == 1) return half * (start + end) * last;
    return start * last + x * (end - start) * last / (out - 1);
  }
  return (x + half) / scale - half;
}

int64_t nearest(const Resampling& how, const ResampledAxis& axis, int64_t i) {
  double x = position<float>(how.coordinates, axis, i), place = 0;
  switch (how.rounding) {
  case ResizeRounding::RoundPreferFloor: place = std::ceil(x - 0.5); break;
  case ResizeRounding::RoundPreferCeil: place = std::floor(x + 0.5); break;
  case ResizeRounding::Floor: place = std::floor(x); break;
  case ResizeRounding::Ceil: place = std::ceil(x); break;
  }
  return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(axis.in - 1)));
}

/// Returns the factor by which an antialiasing filter is widened, as a divisor;
/// 1 for an axis that grows.
double narrowing(const Resampling& how, const ResampledAxis& axis) {
  return how.antialias ? std::min(axis.scale, 1.0) : 1.0;
}

double weight_at(const Resampling& how, double distance) {
  double t = std::abs(distance), a = how.cubic_a;
  if (how.mode == ResizeMode::Linear) return std::max(0.0, 1 - t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

/// Appends the taps of an element at position x.
void add_weighted(AxisTaps& taps, const Resampling& how, const ResampledAxis& axis, double x) {
  double narrow = narrowing(how, axis), support = how.mode == ResizeMode::Linear ? 1 : 2, sum = 0;
  auto reach = static_cast<int64_t>(std::ceil(support / narrow));
  auto below = static_cast<int64_t>(std::floor(x));
  auto begin = static_cast<size_t>(taps.first.back());
  for (int64_t at = below - reach + 1; at <= below + reach; ++at) {
    bool outside = at < 0 || at >= axis.in;
    double weight = weight_at(how, narrow * (static_cast<double>(at) - x));
    if (weight == 0 || (outside && how.exclude_outside)) continue;
    int64_t place = std::clamp<int64_t>(at, 0, axis.in - 1);
    sum += weight;
    if (taps.places.size() > begin && taps.places.back() == place) {
      taps.weights.back() += weight;
    } else {
      taps.places.push_back(place);
      taps.weights.push_back(weight);
    }
  }
  bool normalised = how.exclude_outside || narrow < 1;
  for (size_t k = begin; normalised && k < taps.weights.size(); ++k)
    taps.weights[k] = sum == 0 ? 0 : taps.weights[k] / sum;
}

/// Removes the taps from `begin` on whose weights cancelled, or vanished in the division.
void drop_zeros(AxisTaps& taps, size_t begin) {
  size_t kept = begin;
  for (size_t k = begin; k < taps.weights.size(); ++k) {
    if (taps.weights[k] == 0) continue;
    taps.places[kept] = taps.places[k];
    taps.weights[kept++] = taps.weights[k];
  }
  taps.places.resize(kept);
  taps.weights.resize(kept);
}

void add_taps(AxisTaps& taps, const Resampling& how, const ResampledAxis& axis, int64_t i) {
  if (axis.is_kept() || how.mode == ResizeMode::Nearest) {
    taps.places.push_back(axis.is_kept() ? i : nearest(how, axis, i));
    taps.weights.push_back(1);
    return;
  }
  auto begin = taps.weights.size();
  add_weighted(taps, how, axis, position<double>(how.coordinates, axis, i));
  drop_zeros(taps, begin);
}

bool is_outside(const Resampling& how, const ResampledAxis& axis, int64_t i) {
  if (how.coordinates != ResizeCoordinates::TfCropAndResize) return false;
  auto x = position<float>(how.coordinates, axis, i);
  return x < 0 || x > static_cast<float>(axis.in - 1);
}

} // namespace

llvm::ArrayRef<llvm::StringRef> resize_modes() {
  static constexpr llvm::StringRef kWords[] = {"nearest", "linear", "cubic"};
  return kWords;
}

llvm::ArrayRef<llvm::StringRef> resize_coordinates() {
  static constexpr llvm::StringRef kWords[] = {"half_pixel",         "half_pixel_symmetric",
                                               "pytorch_half_pixel", "align_corners",
                                               "asymmetric",         "tf_crop_and_resize"};
  return kWords;
}

llvm::ArrayRef<llvm::StringRef> resize_roundings() {
  static constexpr llvm::StringRef kWords[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                               "ceil"};
  return kWords;
}

int64_t AxisTaps::most() const {
  int64_t most = 0;
  for (int64_t i = 0; i < results(); ++i) most = std::max(most, count(i));
  return most;
}

bool AxisTaps::is_selection() const {
  if (places.size() != static_cast<size_t>(results())) return false;
  for (int64_t i = 0; i < results(); ++i)
    if (count(i) != 1 || weights[static_cast<size_t>(i)] != 1) return false;
  return true;
}

AxisTaps axis_taps(const Resampling& how, const ResampledAxis& axis) {
  AxisTaps taps;
  taps.first.reserve(static_cast<size_t>(axis.out) + 1);
  taps.first.push_back(0);
  for (int64_t i = 0; i < axis.out; ++i) {
    if (!is_outside(how, axis, i)) add_taps(taps, how, axis, i);
    taps.first.push_back(static_cast<int64_t>(taps.places.size()));
  }
  return taps;
}

AxisTaps even_taps(const AxisTaps& taps) {
  AxisTaps even{{0}, {}, {}};
  int64_t most = std::max<int64_t>(taps.most(), 1);
  for (int64_t i = 0; i < taps.results(); ++i) {
    for (auto k = static_cast<size_t>(taps.first[static_cast<size_t>(i)]);
         k < static_cast<size_t>(taps.first[static_cast<size_t>(i) + 1]); ++k) {
      even.places.push_back(taps.places[k]);
      even.weights.push_back(taps.weights[k]);
    }
    for (int64_t lacks = most - taps.count(i); lacks > 0; --lacks) {
      bool outside = taps.count(i) == 0;
      double half = outside ? 0 : even.weights.back() /= 2;
      even.places.push_back(outside ? 0 : even.places.back());
      even.weights.push_back(half);
    }
    even.first.push_back(static_cast<int64_t>(even.places.size()));
  }
  return even;
}

Resize::Resize(llvm::ArrayRef<const Value*> attrs, llvm::ArrayRef<int64_t> shape) {
  auto text = [&](size_t slot) -> llvm::StringRef { return attrs[slot]->text; };
  how.mode = *parse_resize_word<ResizeMode>(resize_modes(), text(ResizeSlot::Mode));
  how.coordinates =
      *parse_resize_word<ResizeCoordinates>(resize_coordinates(), text(ResizeSlot::Coordinates));
  how.rounding = *parse_resize_word<ResizeRounding>(resize_roundings(), text(ResizeSlot::Rounding));
  how.cubic_a = attrs[ResizeSlot::CubicA]->real;
  how.antialias = attrs[ResizeSlot::Antialias]->number != 0;
  how.exclude_outside = attrs[ResizeSlot::ExcludeOutside]->number != 0;
  llvm::ArrayRef<int64_t> sizes = attrs[ResizeSlot::Sizes]->ints;
  const std::vector<double>&scales = attrs[ResizeSlot::Scales]->reals,
        &region = attrs[ResizeSlot::Region]->reals;
  first_axis = shape.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    ResampledAxis axis;
    axis.in = shape[first_axis + i];
    axis.out = sizes[i];
    axis.scale =
        scales.empty() ? static_cast<double>(axis.out) / static_cast<double>(axis.in) : scales[i];
    if (!region.empty()) {
      axis.start = region[i];
      axis.end = region[sizes.size() + i];
    }
    axes.push_back(axis);
  }
}

double mean_taps(const Resampling& how, const ResampledAxis& axis) {
  if (axis.is_kept() || how.mode == ResizeMode::Nearest) return 1;
  double taps = (how.mode == ResizeMode::Linear ? 2 : 4) / narrowing(how, axis);
  return std::min(taps, static_cast<double>(axis.in));
}

} // namespace tg
