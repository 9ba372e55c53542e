// The geometry of `resize`: the elements of an axis, and their weights,
// whose weighted sum is a result element. The operator's definition, its gradient,
// its kernels and its export all use it.
//
// Result element i of a resized axis has a position in the input axis (Coordinates).
// `nearest` takes the element that the rounding selects; `linear` and `cubic` (Keys 1981)
// weight the elements around it by their distance. Positions beyond an end repeat the last element
// or, with exclude_outside, are omitted and the remaining weights are divided by their sum.
// An antialiasing filter is widened by the factor by which the axis shrinks,
// so that every element counts; its weights, too, are divided by their sum.
//
// Positions of `nearest` are computed in float, as in ONNX Runtime,
// because the last digit determines the element; those of weights in double.
#pragma once

#include "lang/core/symbols.h"
#include "lang/core/type.h"

#include <optional>
#include <vector>

namespace tg {

/// The attribute slots of `resize`.
struct ResizeSlot {
  enum : size_t {
    Sizes,
    Mode,
    Coordinates,
    Scales,
    Rounding,
    CubicA,
    Antialias,
    ExcludeOutside,
    Region,
    Count,
  };
};

enum class ResizeMode : uint8_t { Nearest, Linear, Cubic };
enum class ResizeCoordinates : uint8_t {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  TfCropAndResize,
};
enum class ResizeRounding : uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };

/// The names of the enumerators, in their order; the same as in ONNX.
llvm::ArrayRef<llvm::StringRef> resize_modes();
llvm::ArrayRef<llvm::StringRef> resize_coordinates();
llvm::ArrayRef<llvm::StringRef> resize_roundings();
/// Returns the enumerator of a name.
template <class E>
std::optional<E> parse_resize_word(llvm::ArrayRef<llvm::StringRef> words, llvm::StringRef word) {
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return static_cast<E>(i);
  return std::nullopt;
}

struct Resampling {
  ResizeMode mode = ResizeMode::Nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::HalfPixel;
  ResizeRounding rounding = ResizeRounding::RoundPreferFloor;
  double cubic_a = -0.75;
  bool antialias = false;
  bool exclude_outside = false;
};

struct ResampledAxis {
  int64_t in = 1, out = 1;
  double scale = 1;          // result elements per input element
  double start = 0, end = 1; // the resized region, as fractions of the axis

  /// Returns true if every element stays in place.
  bool is_kept() const { return in == out && scale == 1 && start == 0 && end == 1; }
};

/// Result element i is the sum of weights[k] * x[places[k]] for first[i] <= k < first[i + 1].
/// An element outside the axis has no taps and is 0 (only for TfCropAndResize).
///
/// Invariant: the places of a result element ascend, and no weight is 0.
struct AxisTaps {
  std::vector<int64_t> first, places;
  std::vector<double> weights;

  int64_t results() const { return static_cast<int64_t>(first.size()) - 1; }
  int64_t count(int64_t i) const {
    auto at = static_cast<size_t>(i);
    return first[at + 1] - first[at];
  }
  int64_t most() const;
  /// Returns true if each result element is an unchanged element of the axis.
  bool is_selection() const;
};

AxisTaps axis_taps(const Resampling& how, const ResampledAxis& axis);

/// Returns taps with the same number for each result element, for kernels that process one tap
/// of all elements at a time. An element with fewer taps repeats its last one,
/// with its weight halved each time: with a weight of 0, an infinite element would become NaN.
/// Outside the axis all weights are 0.
AxisTaps even_taps(const AxisTaps& taps);

/// An operator `resize` on an operand: the last axes, each with its size before and after.
struct Resize {
  Resampling how;
  size_t first_axis = 0;
  llvm::SmallVector<ResampledAxis, 4> axes;

  /// Takes normalized attributes, one per slot, and the operand's shape.
  Resize(llvm::ArrayRef<const Value*> attrs, llvm::ArrayRef<int64_t> shape);
};

/// Returns the average number of taps of a result element along an axis,
/// without computing the taps.
double mean_taps(const Resampling& how, const ResampledAxis& axis);

} // namespace tg
