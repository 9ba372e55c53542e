// What an axis that is resized reads: each element of the result is a weighted sum of elements of
// the axis. Plain arithmetic, as the operator Resize defines it; nothing of graphs.
#pragma once

#include "lang/core/type.h"

#include <vector>

namespace tg::onnx {

enum class Filter : uint8_t { Nearest, Linear, Cubic };
/// Which element is the nearest: with `Outward`, of operator sets before 11, the one before on the
/// way up and the one behind on the way down.
enum class NearestMode : uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil, Outward };
/// Where an element of the result lies in the axis.
enum class Coordinates : uint8_t {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  TfCropAndResize,
};

struct Interpolation {
  Filter filter = Filter::Nearest;
  NearestMode nearest = NearestMode::RoundPreferFloor;
  Coordinates coordinates = Coordinates::HalfPixel;
  double cubic_a = -0.75;
  bool exclude_outside = false; // rather than repeat the last element
  bool antialias = false;
};

struct ResizedAxis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double length = 1;         // of the result before it was rounded down
  double start = 0, end = 1; // the piece that is resized, as parts of the axis
};

/// Element i of the result is the sum over k of
/// weights[k][i] * x[places[k][i]], or no part of the axis.
struct AxisSamples {
  std::vector<std::vector<int64_t>> places;
  std::vector<std::vector<double>> weights;
  std::vector<bool> beyond; // outside of the axis; empty where none is

  /// Whether each element is one of the axis as it is.
  bool is_selection() const;
};

AxisSamples samples_of(const Interpolation& how, const ResizedAxis& axis);

} // namespace tg::onnx
