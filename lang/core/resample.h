// The geometry of `resize`: which elements of an axis a result element is a weighted sum of. The
// operator's definition, its gradient, its kernels and its export all read it here.
//
// Result element i of a resized axis lies at a position of the input axis (Coordinates). `nearest`
// takes the element that the rounding picks; `linear` and `cubic` (Keys 1981) weigh the elements
// around it by their distance. Positions beyond an end repeat the last element, or, with
// exclude_outside, are left out and the remaining weights divided by their sum. An antialiasing
// filter is as much wider as the axis shrinks, so that every element counts; its weights, too, are
// divided by their sum.
//
// Positions of `nearest` are computed in float, as ONNX Runtime does, since the last digit decides
// which element is taken; those of weights in double.
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

/// The words of these, in the order of the enumerators; the same as in ONNX.
llvm::ArrayRef<llvm::StringRef> resize_modes();
llvm::ArrayRef<llvm::StringRef> resize_coordinates();
llvm::ArrayRef<llvm::StringRef> resize_roundings();
/// The enumerator of a word.
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
  double scale = 1;          // result elements for each element of the input
  double start = 0, end = 1; // the region that is resized, as fractions of the axis

  /// True if every element stays where it is.
  bool is_kept() const { return in == out && scale == 1 && start == 0 && end == 1; }
};

/// Result element i is the sum of weights[k] * x[places[k]] for first[i] <= k < first[i + 1]. It
/// has no taps, and is 0, where it lies outside of the axis (TfCropAndResize alone).
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
  /// True if each result element is one of the axis as it is.
  bool is_selection() const;
};

AxisTaps axis_taps(const Resampling& how, const ResampledAxis& axis);

/// As many taps for each result element, for kernels that take one of all of them at a time. One
/// that lacks some repeats its last, whose weight is halved for each: beside a weight of 0 an
/// infinite element would become NaN. Outside of the axis all weights are 0.
AxisTaps even_taps(const AxisTaps& taps);

/// An operator `resize` on an operand: the last axes, each with its size before and after.
struct Resize {
  Resampling how;
  size_t first_axis = 0;
  llvm::SmallVector<ResampledAxis, 4> axes;

  /// Attributes in normal form, one per slot, and the operand's shape.
  Resize(llvm::ArrayRef<const Value*> attrs, llvm::ArrayRef<int64_t> shape);
};

/// The taps of one result element along an axis on average, without making them.
double mean_taps(const Resampling& how, const ResampledAxis& axis);

} // namespace tg
