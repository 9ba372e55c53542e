#include "compiler/extract/cost/price_model.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// Number of samples per estimate: of operators alone, and in place. Times in place do not
/// contribute to estimates of operators alone.
constexpr size_t kNearest = 32, kNearestInPlace = 16;
/// Distance within which prices are similar, and the variation (in logarithms) beyond it.
constexpr double kLength = 3, kVariation = 0.6;
/// Variation of the common offset of a family, and of a trend along each feature.
constexpr double kOffset = 1, kTrend = 0.1;
/// Deviation of times in place from times alone: common to all, and from one place to another.
constexpr double kPlaceOffset = 0.4, kPlaceVariation = 0.2;
/// Distance between different operators of a family.
constexpr double kOtherOperator = 2;
/// Below this time the clock and the call matter as much as the operator.
constexpr double kCallUs = 0.3;

/// Returns the covariance of two samples of one family, relative to the features of the estimate.
double covariance(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b, bool same_op,
                  bool both_in_place) {
  double square = same_op ? 0 : kOtherOperator * kOtherOperator, product = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    square += (a[i] - b[i]) * (a[i] - b[i]);
    product += a[i] * b[i];
  }
  // Matern 3/2 is once differentiable, which suits times that change from one limit to another.
  double away = std::sqrt(3 * square) / kLength;
  double alike = (1 + away) * std::exp(-away);
  double alone = kVariation * kVariation * alike + kTrend * kTrend * product + kOffset * kOffset;
  if (!both_in_place) return alone;
  return alone + kPlaceVariation * kPlaceVariation * alike + kPlaceOffset * kPlaceOffset;
}

/// Replaces a symmetric positive matrix of order n, row by row, by its lower Cholesky factor.
void factor(llvm::MutableArrayRef<double> a, size_t n) {
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
    a[j * n + j] = std::sqrt(std::max(a[j * n + j], 1e-12));
    for (size_t i = j + 1; i < n; ++i) {
      for (size_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
      a[i * n + j] /= a[j * n + j];
    }
  }
}

/// Replaces b by the inverse of the lower factor times b.
void solve_lower(llvm::ArrayRef<double> l, size_t n, llvm::MutableArrayRef<double> b) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= l[i * n + k] * b[k];
    b[i] /= l[i * n + i];
  }
}

double inner(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

} // namespace

void PriceModel::learn(const PriceFeatures& features, double microseconds, double noise) {
  double y = std::log((microseconds + kCallUs) / (features.roofline_us + kCallUs));
  // The resolution of the clock adds noise.
  constexpr double kTickUs = 0.1;
  noise = std::hypot(noise, kTickUs / (microseconds + kCallUs));
  knows_places_ |= features.in_place;
  samples_[static_cast<size_t>(features.family)].push_back(
      {features.op, features.in_place, features.x, y, noise});
}

size_t PriceModel::samples() const {
  size_t count = 0;
  for (const std::vector<Sample>& family : samples_) count += family.size();
  return count;
}

std::vector<const PriceModel::Sample*> PriceModel::nearest(const PriceFeatures& at) const {
  // Sorted by distance, then by order of arrival, so that estimates are deterministic.
  std::vector<std::tuple<double, size_t, const Sample*>> near[2]; // alone, in place
  for (const Sample& sample : samples_[static_cast<size_t>(at.family)]) {
    if (sample.in_place && !at.in_place) continue;
    double square = sample.op == at.op ? 0 : kOtherOperator * kOtherOperator;
    for (size_t i = 0; i < at.x.size(); ++i)
      square += (sample.x[i] - at.x[i]) * (sample.x[i] - at.x[i]);
    near[sample.in_place].emplace_back(square, near[sample.in_place].size(), &sample);
  }
  std::vector<const Sample*> out;
  for (bool in_place : {false, true}) {
    auto& all = near[in_place];
    auto most = static_cast<ptrdiff_t>(std::min(all.size(), in_place ? kNearestInPlace : kNearest));
    std::partial_sort(all.begin(), all.begin() + most, all.end());
    for (const auto& one : llvm::ArrayRef(all).take_front(static_cast<size_t>(most)))
      out.push_back(std::get<const Sample*>(one));
  }
  return out;
}

PriceGuess PriceModel::guess(const PriceFeatures& at) const {
  std::vector<const Sample*> near = nearest(at);
  size_t n = near.size();
  std::vector<llvm::SmallVector<double, 20>> x(n);
  std::vector<double> matrix(n * n), y(n), to(n), origin(at.x.size(), 0.0);
  for (size_t i = 0; i < n; ++i) {
    const Sample& one = *near[i];
    for (size_t d = 0; d < at.x.size(); ++d) x[i].push_back(one.x[d] - at.x[d]);
    y[i] = one.y;
    to[i] = covariance(x[i], origin, one.op == at.op, one.in_place && at.in_place);
    for (size_t j = 0; j <= i; ++j)
      matrix[i * n + j] =
          covariance(x[i], x[j], one.op == near[j]->op, one.in_place && near[j]->in_place);
    matrix[i * n + i] += one.noise * one.noise;
  }
  factor(matrix, n);
  solve_lower(matrix, n, y);
  solve_lower(matrix, n, to);
  double mean = inner(to, y),
         variance = covariance(origin, origin, true, at.in_place) - inner(to, to);
  double us = std::exp(mean) * (at.roofline_us + kCallUs) - kCallUs;
  return {std::max(us, 0.0), std::sqrt(std::max(variance, 0.0))};
}

} // namespace tg
