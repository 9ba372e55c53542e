// The features, and normal equations solved by Cholesky factorization.
#include "runtime/tune/search/rank_model.h"

#include <cmath>

namespace tg::tune {

namespace {

constexpr double kRidge = 1e-2;

double log_of(double count) { return std::log2(1 + count); }

/// Solves a x = b for a symmetric positive definite matrix; overwrites both.
void solve(std::vector<std::vector<double>>& a, std::vector<double>& b) {
  size_t n = b.size();
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j][j];
    }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
}

} // namespace

std::vector<double> RankModel::features_of(const Program& program) {
  std::vector<double> all = {static_cast<double>(program.sketch)};
  for (int64_t threads : program.threads) all.push_back(log_of(static_cast<double>(threads)));
  all.resize(4, 0);
  const Tile& tile = program.tile;
  if (tile.space.empty()) {
    all.resize(16, 0);
  } else {
    Features counts = features(program, nest_);
    Extents block = tile.block();
    ThreadShape shape{tile.grid(), tile.virtuals(), {}};
    for (const auto& split : tile.space) shape.inner.push_back(split[3] * split[4]);
    auto blocks = static_cast<double>(tile.blocks());
    auto threads = static_cast<double>(tile.threads());
    auto rounds = static_cast<double>(tile.rounds(nest_));
    double requests = ThreadCost(nest_, block, tile.fetched()).of(shape, HUGE_VAL);
    for (double count :
         {blocks, threads, std::ceil(threads / 32) * 32 / threads, counts.shared / blocks, rounds,
          static_cast<double>(product(block)) / threads, registers(nest_, tile, tile.unroll),
          static_cast<double>(tile.unroll), blocks * requests * rounds,
          blocks * static_cast<double>(block_cost_.of(block)),
          static_cast<double>(tile.vectors.front()), static_cast<double>(tile.vectors.back())})
      all.push_back(log_of(count));
  }
  for (size_t i = 0, plain = all.size(); i < plain; ++i) all.push_back(all[i] * all[i] / 8);
  all.push_back(1);
  return all;
}

void RankModel::add(const Program& program, double microseconds) {
  samples_.push_back(features_of(program));
  times_.push_back(std::log2(microseconds));
}

void RankModel::fit() {
  if (samples_.empty()) return;
  size_t n = samples_[0].size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 0));
  weights_.assign(n, 0);
  for (size_t s = 0; s < samples_.size(); ++s)
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j <= i; ++j) a[i][j] += samples_[s][i] * samples_[s][j];
      weights_[i] += samples_[s][i] * times_[s];
    }
  for (size_t i = 0; i < n; ++i) a[i][i] += kRidge * static_cast<double>(samples_.size());
  solve(a, weights_);
}

double RankModel::predict(const Program& program) {
  if (weights_.empty()) return 0;
  std::vector<double> found = features_of(program);
  double sum = 0;
  for (size_t i = 0; i < found.size(); ++i) sum += found[i] * weights_[i];
  return sum;
}

} // namespace tg::tune
