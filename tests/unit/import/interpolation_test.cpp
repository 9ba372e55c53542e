// What resized axes read: places and weights.
#include "compiler/import/onnx/read/shared/interpolation.h"

#include <gtest/gtest.h>

namespace tg::onnx {
namespace {

using Places = std::vector<int64_t>;
using Weights = std::vector<double>;

ResizedAxis axis(int64_t in, int64_t out) {
  return {in, out, static_cast<double>(out) / static_cast<double>(in), static_cast<double>(out)};
}

Places nearest(const ResizedAxis& axis, NearestMode mode, Coordinates coordinates) {
  AxisSamples samples = samples_of({Filter::Nearest, mode, coordinates}, axis);
  EXPECT_TRUE(samples.is_selection());
  return samples.places[0];
}

TEST(Interpolation, NearestPlacesFollowTheirModeAtHalves) {
  // Elements of the result lie at -0.25, 0.25, 0.75, 1.25.
  EXPECT_EQ(nearest(axis(2, 4), NearestMode::Ceil, Coordinates::HalfPixel), (Places{0, 1, 1, 1}));
  EXPECT_EQ(nearest(axis(2, 4), NearestMode::Floor, Coordinates::HalfPixel), (Places{0, 0, 0, 1}));
  // At 0.5 and 2.5.
  EXPECT_EQ(nearest(axis(4, 2), NearestMode::RoundPreferFloor, Coordinates::HalfPixel),
            (Places{0, 2}));
  EXPECT_EQ(nearest(axis(4, 2), NearestMode::RoundPreferCeil, Coordinates::HalfPixel),
            (Places{1, 3}));
}

TEST(Interpolation, PlacesAreThoseOfFloats) {
  // In doubles element 4 lies below 3: the float 4 / 3 is above 4 / 3.
  ResizedAxis from_scale{6, 8, static_cast<float>(4.0 / 3.0), 8};
  Places places = nearest(from_scale, NearestMode::Floor, Coordinates::Asymmetric);
  EXPECT_EQ(places, (Places{0, 0, 1, 2, 3, 3, 4, 5}));
}

TEST(Interpolation, WeightsOfOnePlaceAreAdded) {
  AxisSamples samples = samples_of({Filter::Linear}, axis(2, 4));
  ASSERT_EQ(samples.places.size(), 2u);
  EXPECT_EQ(samples.places[0], (Places{0, 0, 0, 1}));
  EXPECT_EQ(samples.weights[0], (Weights{1, 0.75, 0.25, 1}));
  EXPECT_EQ(samples.weights[1], (Weights{0, 0.25, 0.75, 0}));
}

TEST(Interpolation, WeightsAddUpToOne) {
  for (bool exclude : {false, true})
    for (bool antialias : {false, true})
      for (Filter filter : {Filter::Linear, Filter::Cubic})
        for (int64_t out : {1, 3, 7, 19}) {
          Interpolation how{filter};
          how.exclude_outside = exclude;
          how.antialias = antialias;
          AxisSamples samples = samples_of(how, axis(7, out));
          for (size_t i = 0; i < static_cast<size_t>(out); ++i) {
            double sum = 0;
            for (const Weights& of_tap : samples.weights) sum += of_tap[i];
            EXPECT_NEAR(sum, 1, 1e-12);
          }
        }
}

TEST(Interpolation, WhatIsOutsideOfACropIsMarked) {
  ResizedAxis crop{5, 3, 0.6, 3, -0.25, 0.75}; // at -1, 1, 3
  AxisSamples samples = samples_of({Filter::Linear, {}, Coordinates::TfCropAndResize}, crop);
  EXPECT_EQ(samples.beyond, (std::vector<bool>{true, false, false}));
  EXPECT_TRUE(samples.is_selection());
  EXPECT_EQ(samples.places[0], (Places{0, 1, 3}));
}

} // namespace
} // namespace tg::onnx
