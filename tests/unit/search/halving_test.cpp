// Tests sequential halving: the number of trials of each arm, the improvement over the prior
// by few trials, and the determinism of the tree search with it.
#include "compiler/search/mcts/halving.h"

#include "compiler/search/mcts/mcts.h"
#include "lang/core/support/random.h"
#include "tests/unit/search/search_fixture.h"

#include <numeric>

namespace tg {
namespace {

TEST(Halving, TheBetterHalfGoesOn) {
  SequentialHalving halving(8, 48);
  std::vector<double> values;
  for (size_t arm = 0; arm < 8; ++arm) {
    halving.add(0, 0);
    values.push_back(static_cast<double>((arm * 3) % 8) / 8); // best: arm 5, then 2, 7, 4
  }
  std::vector<size_t> tried(8);
  for (int trial = 0; trial < 48; ++trial) ++tried[halving.next(values)];
  EXPECT_EQ(tried, (std::vector<size_t>{2, 2, 14, 2, 6, 14, 2, 6}));
  EXPECT_EQ(halving.best(values), 5u);
}

TEST(Halving, CountsEarlierTrialsAndAllowsFewerArms) {
  SequentialHalving halving(8, 48);
  halving.add(0, 1);
  EXPECT_EQ(halving.next({0.5}), 0u);
  halving.add(0, 0);
  EXPECT_EQ(halving.next({0.5, 0.5}), 1u) << "it was never tried";
  for (int trial = 0; trial < 100; ++trial) halving.next({0.5, 0.6});
  EXPECT_EQ(halving.best({0.5, 0.6}), 1u);
  EXPECT_EQ(halving.best({0.6, 0.5}), 0u) << "two are never halved";
}

TEST(Halving, ScoresAreADrawByShare) {
  const double shares[] = {0.5, 0.3, 0.15, 0.05};
  std::vector<double> first(4);
  constexpr size_t kDraws = 20'000;
  for (size_t decision = 0; decision < kDraws; ++decision) {
    std::vector<double> scores = gumbel_scores(shares, 7, decision);
    auto best = std::max_element(scores.begin(), scores.end());
    first[static_cast<size_t>(best - scores.begin())] += 1.0 / kDraws;
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(first[i], shares[i], 0.02);
  EXPECT_EQ(gumbel_scores(shares, 7, 3), gumbel_scores(shares, 7, 3));
  EXPECT_NE(gumbel_scores(shares, 7, 3), gumbel_scores(shares, 7, 4));
  EXPECT_NE(gumbel_scores(shares, 7, 3), gumbel_scores(shares, 8, 3));
}

/// A bandit of many arms with noisy trials.
struct Bandit {
  static constexpr size_t kArms = 32;
  std::vector<double> shares, values;

  explicit Bandit(uint64_t seed) {
    RandomStream draws(seed, "bandit");
    for (size_t i = 0; i < kArms; ++i) {
      shares.push_back(std::exp(2 * draws.normal(2 * i)));
      values.push_back(draws.uniform(1'000 + i));
    }
    double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= sum;
  }
  /// Returns the expected value of the policy that gave the shares.
  double by_policy() const {
    return std::inner_product(shares.begin(), shares.end(), values.begin(), 0.0);
  }
  /// Returns the value of the choice after this many trials of the first arms.
  double by_halving(uint64_t seed, size_t arms, size_t trials) const {
    std::vector<double> scores = gumbel_scores(shares, seed, 0);
    std::vector<size_t> order(kArms);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    SequentialHalving halving(arms, trials);
    std::vector<double> sums(arms), means(arms), counts(arms);
    for (size_t i = 0; i < arms; ++i) halving.add(scores[order[i]], 0);
    RandomStream noise(seed, "noise");
    for (size_t trial = 0; trial < trials; ++trial) {
      size_t arm = halving.next(means);
      sums[arm] += std::clamp(values[order[arm]] + 0.1 * noise.normal(trial), 0.0, 1.0);
      means[arm] = sums[arm] / ++counts[arm];
    }
    return values[order[halving.best(means)]];
  }
};

/// For every bandit, on average over draws, with half as many trials as arms.
TEST(Halving, ImprovesOnThePolicyWithFewTrials) {
  double gain = 0;
  constexpr size_t kBandits = 20, kDraws = 300;
  for (uint64_t number = 1; number <= kBandits; ++number) {
    Bandit bandit(number);
    double mean = 0;
    for (uint64_t seed = 1; seed <= kDraws; ++seed)
      mean += bandit.by_halving(number * kDraws + seed, 8, 16) / kDraws;
    EXPECT_GT(mean, bandit.by_policy()) << number;
    gain += (mean - bandit.by_policy()) / kBandits;
  }
  EXPECT_GT(gain, 0.1);
}

// --- in the tree search --------------------------------------------------------------------------

MctsReport search(size_t halving, int threads = 1, uint64_t seed = 1) {
  Graph graph = test::layers(3);
  EGraph egraph = egraph_of(graph);
  std::vector<Rule> rules = test::rules_of(test::kSumRules);
  test::UnitCost model;
  PriceCache prices(egraph.symbols(), model);
  SharedCost costs(model);
  MctsOptions options;
  options.budget = 16, options.seed = seed;
  options.halving = halving, options.threads = threads, options.costs = &costs;
  options.explore.node_limit = 120;
  StatisticsPolicy policy;
  MctsReport report = search_mcts(egraph, graph, rules, prices, options, policy);
  EXPECT_EQ(verify(egraph), "");
  return report;
}

TEST(Halving, TheSearchGivesTheSameTwiceAndOnAnyNumberOfThreads) {
  MctsReport bounds = search(0), one = search(4), again = search(4), two = search(4, 2);
  EXPECT_LT(one.best_cost, one.start_cost);
  EXPECT_EQ(one.best_cost, again.best_cost);
  EXPECT_EQ(one.steps, again.steps);
  EXPECT_EQ(one.best_cost, two.best_cost);
  EXPECT_EQ(one.steps, two.steps);
  EXPECT_TRUE(one.steps != bounds.steps || one.simulations != bounds.simulations)
      << "it chooses otherwise";
}

} // namespace
} // namespace tg
