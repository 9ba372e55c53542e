// Learns from measured programs which of the others are faster:
// a ridge regression of the logarithm of time on counts of a program and their squares.
// A few hundred samples are enough to rank programs. The times themselves have to be measured.
#pragma once

#include "runtime/tune/costs.h"

namespace tg::tune {

class RankModel {
public:
  explicit RankModel(const Nest& nest) : nest_(nest), block_cost_(nest) {}

  void add(const Program& program, double microseconds);
  void fit();
  /// Returns the estimated logarithm of time; 0 before fit().
  double predict(const Program& program);

private:
  std::vector<double> features_of(const Program& program);

  const Nest& nest_;
  BlockCost block_cost_;
  std::vector<std::vector<double>> samples_;
  std::vector<double> times_, weights_;
};

} // namespace tg::tune
