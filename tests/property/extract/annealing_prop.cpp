// Tests annealing by brute force, and against the local search from which it continues.
#include "brute_force.h"

#include "compiler/extract/annealing.h"
#include "compiler/extract/greedy/greedy.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

TEST(Annealing, FindsTheOptimumOfSmallProblemsNearlyAlways) {
  std::mt19937_64 random(31);
  int improved = 0, missed = 0;
  for (int i = 0; i < 3'000; ++i) {
    ExtractionProblem problem =
        random_problem(random, {.classes = 10, .nodes = 28, .rewards = i % 3 == 0});
    std::optional<Choice> choice = extract_greedy(problem);
    if (!choice) continue;
    double greedy = check_choice(problem, *choice).dag_cost;
    bool better = improve_by_annealing(problem, *choice, {.seconds = 60, .moves = 3'000});
    CheckedChoice checked = check_choice(problem, *choice);
    ASSERT_TRUE(checked.ok()) << i << ": " << checked.fault;
    EXPECT_EQ(better, checked.dag_cost < greedy) << i;
    double optimum = *brute_force(problem);
    EXPECT_GE(checked.dag_cost, optimum) << i;
    improved += better;
    missed += checked.dag_cost > optimum;
  }
  EXPECT_GT(improved, 100);
  EXPECT_LT(missed, improved / 10);
}

/// Layers of a few classes, with three alternatives each over the layers below,
/// as saturation produces for networks. bench/extract_scale_bench.cpp has the same with roots
/// and distant uses.
ExtractionProblem layers(uint32_t classes) {
  constexpr uint32_t kWidth = 4;
  std::mt19937_64 random(1);
  auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  ExtractionProblem problem;
  for (uint32_t c = 0; c < classes; ++c) problem.add_class();
  for (uint32_t c = 0; c < classes; ++c)
    for (int i = 0; i < 3; ++i) {
      std::vector<ClassIx> children;
      for (uint32_t n = c < kWidth ? 0 : 1 + below(2); n > 0; --n)
        children.push_back({c - 1 - below(kWidth)});
      problem.add_node({c}, below(16) == 0 ? 40 : below(20), children);
    }
  problem.add_root({classes - 1});
  problem.seal();
  return problem;
}

TEST(Annealing, GoesOnWhereGreedyMovesEnd) {
  ExtractionProblem problem = layers(300);
  Choice start = greedy_dag(problem)->choice, stuck = start, annealed = start;
  improve_by_sharing(problem, stuck, 60);
  AnnealLimits limits{.seconds = 60, .moves = 200'000, .seed = 7};
  EXPECT_TRUE(improve_by_annealing(problem, annealed, limits));
  EXPECT_LT(check_choice(problem, annealed).dag_cost, check_choice(problem, stuck).dag_cost);
  Choice again = start;
  improve_by_annealing(problem, again, limits);
  EXPECT_EQ(again, annealed) << "the same seed, the same choice";
}

TEST(Annealing, StopsOnRequestWithTheBestSoFar) {
  ExtractionProblem problem = layers(300);
  Choice choice = greedy_dag(problem)->choice;
  double start = check_choice(problem, choice).dag_cost;
  int left = 20;
  improve_by_annealing(problem, choice, {.seconds = 60}, [&] { return left-- == 0; });
  CheckedChoice checked = check_choice(problem, choice);
  EXPECT_TRUE(checked.ok()) << checked.fault;
  EXPECT_LT(checked.dag_cost, start);
}

} // namespace
} // namespace tg
