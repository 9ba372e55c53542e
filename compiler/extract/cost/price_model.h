// Estimates prices of operators that were not timed from those that were. The logarithm of time
// over roofline is a Gaussian process over the features of operators (price_features.h). So each
// estimate comes with its uncertainty, and one more sample is one more row. Source: Rasmussen
// and Williams, "Gaussian Processes for Machine Learning" (2006), algorithm 2.1; local experts
// of the nearest samples as in Vasudevan et al., "Gaussian Process modeling of large-scale
// terrain" (2009).
//
// An estimate solves the process over the nearest samples of its family alone. So its time does not
// grow with the cube of the number of samples, and distant samples cannot distort it.
//
// There are two kinds of times: of operators alone, and in place, within whole runs of a
// network. The time in place is the time alone times a factor that is similar for similar
// operators. So there are two processes, and only times in place contribute to the second
// (Kennedy and O'Hagan, "Predicting the output from a complex computer code when fast
// approximations are available", 2000).
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
  /// Returns the expected time. A search takes the cheapest of many estimates. By medians it would
  /// prefer the most uncertain operators, namely those whose median happens to be too low.
  double mean_us() const { return microseconds * std::exp(deviation * deviation / 2); }
};

class PriceModel {
public:
  /// Adds a time in microseconds. `noise` is the standard deviation of its logarithm.
  void learn(const PriceFeatures& features, double microseconds, double noise);
  /// Returns an estimate; without samples the roofline, with a deviation to match.
  PriceGuess guess(const PriceFeatures& features) const;
  size_t samples() const;
  /// Returns true if any sample was taken in place.
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
