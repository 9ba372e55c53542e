#include "compiler/search/mcts/halving.h"

#include "lang/core/support/random.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

namespace tg {

namespace {

/// As published: the weight of values against scores. It grows with the number of trials.
constexpr double kValueScale = 0.1, kTriedAtLeast = 50;
constexpr double kLeastShare = 1e-12;

} // namespace

SequentialHalving::SequentialHalving(size_t arms, size_t trials)
    : trials_(trials), phases_(std::max<size_t>(llvm::Log2_64_Ceil(std::max<size_t>(arms, 2)), 1)),
      most_arms_(std::max<size_t>(arms, 1)) {}

/// Returns the number of trials of each remaining arm in one phase.
size_t SequentialHalving::share() const {
  size_t count = std::max(left_.size(), due_ == 0 ? most_arms_ : 1);
  return std::max<size_t>(trials_ / (phases_ * count), 1);
}

void SequentialHalving::add(double score, size_t tried) {
  left_.push_back(scores_.size());
  scores_.push_back(score);
  tried_.push_back(tried);
}

double SequentialHalving::worth(size_t arm, llvm::ArrayRef<double> values) const {
  double most = static_cast<double>(*std::max_element(tried_.begin(), tried_.end()));
  return scores_[arm] + (kTriedAtLeast + most) * kValueScale * values[arm];
}

void SequentialHalving::halve(llvm::ArrayRef<double> values) {
  size_t kept = std::max<size_t>((left_.size() + 1) / 2, std::min<size_t>(left_.size(), 2));
  llvm::stable_sort(left_, [&](size_t a, size_t b) { return worth(a, values) > worth(b, values); });
  left_.resize(kept);
}

size_t SequentialHalving::next(llvm::ArrayRef<double> values) {
  assert(!left_.empty() && values.size() == scores_.size());
  auto least_tried = [&] {
    return *std::min_element(left_.begin(), left_.end(),
                             [&](size_t a, size_t b) { return tried_[a] < tried_[b]; });
  };
  if (due_ == 0) due_ = share();
  if (tried_[least_tried()] >= due_) {
    halve(values);
    due_ += share();
  }
  size_t arm = least_tried();
  ++tried_[arm];
  return arm;
}

size_t SequentialHalving::best(llvm::ArrayRef<double> values) const {
  return *std::max_element(left_.begin(), left_.end(),
                           [&](size_t a, size_t b) { return worth(a, values) < worth(b, values); });
}

std::vector<double> gumbel_scores(llvm::ArrayRef<double> shares, uint64_t seed, size_t decision) {
  RandomStream draws(seed, "gumbel " + std::to_string(decision));
  std::vector<double> scores;
  for (size_t i = 0; i < shares.size(); ++i)
    scores.push_back(std::log(std::max(shares[i], kLeastShare)) -
                     std::log(-std::log(draws.uniform(i))));
  return scores;
}

} // namespace tg
