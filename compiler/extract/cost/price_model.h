// Prices of operators that were not timed, from those that were: the logarithm of time over
// roofline is a Gaussian process over the features of operators (price_features.h), so that each
// guess comes with how far off it may be, and one more sample is one more row.
// Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), algorithm 2.1;
// local experts of the nearest samples as in Vasudevan et al., "Gaussian Process modeling of
// large-scale terrain" (2009).
//
// A guess solves the process over the nearest samples of its family alone: what it costs does not
// grow with the cube of what is known, and what is far away cannot bend it.
//
// Times come of two kinds, of operators alone and in place, within whole runs of a network. In
// place is what alone takes times a factor that is alike for operators that are alike: two
// processes, the second of which only times in place have (Kennedy and O'Hagan, "Predicting the
// output from a complex computer code when fast approximations are available", 2000).
#pragma once

#include "compiler/extract/cost/price_features.h"

#include <array>
#include <cmath>
#include <vector>

namespace tg {

struct PriceGuess {
  double microseconds = 0; // the median
  /// Standard deviation of the logarithm: 0.1 is 10%.
  double deviation = 0;
  /// What is to be expected. A search takes the cheapest of many guesses: by their medians it would
  /// take those that nobody knows anything about, whenever they are too low.
  double mean_us() const { return microseconds * std::exp(deviation * deviation / 2); }
};

class PriceModel {
public:
  /// A time, microseconds. `noise`: the standard deviation of its logarithm.
  void learn(const PriceFeatures& features, double microseconds, double noise);
  /// Without samples the roofline, and that it is only that.
  PriceGuess guess(const PriceFeatures& features) const;
  size_t samples() const;
  /// Whether any of them was taken in place.
  bool knows_places() const { return knows_places_; }

private:
  struct Sample {
    OpKind op{};
    bool in_place = false;
    llvm::SmallVector<double, 20> x;
    double y = 0, noise = 0; // logarithm of time over roofline
  };
  std::vector<const Sample*> nearest(const PriceFeatures& at) const;

  std::array<std::vector<Sample>, kPriceFamilies> samples_;
  bool knows_places_ = false;
};

} // namespace tg
