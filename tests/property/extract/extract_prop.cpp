// Every extractor against brute force on thousands of small problems.
#include "brute_force.h"

#include "compiler/extract/greedy.h"
#include "compiler/extract/ilp.h"
#include "compiler/extract/reduce.h"
#include "compiler/extract/sharing.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

void expect_sound(const ExtractionProblem& problem, const Extraction& answer) {
  CheckedChoice checked = check_choice(problem, answer.choice);
  ASSERT_TRUE(checked.ok()) << checked.fault;
  EXPECT_EQ(checked.dag_cost, answer.dag_cost);
  EXPECT_EQ(checked.tree_cost, answer.tree_cost);
  EXPECT_LE(checked.stored_bytes, problem.byte_limit());
  Choice trimmed = answer.choice;
  trim(problem, trimmed);
  EXPECT_EQ(trimmed, answer.choice) << "only what is reached is chosen";
}

TEST(Greedy, FindsTheCheapestTreeOfEveryClass) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 8, .nodes = 24});
    EXPECT_EQ(greedy_trees(problem).tree_cost, tree_costs(problem)) << i;
  }
}

TEST(Greedy, IsSoundAndNotBelowTheOptimum) {
  std::mt19937_64 random(2);
  int solved = 0;
  for (int i = 0; i < 5'000; ++i) {
    ExtractionProblem problem = random_problem(random, {});
    std::optional<double> optimum = brute_force(problem);
    Result<Extraction> answer = extract_by_greedy(problem);
    ASSERT_EQ(answer.ok(), optimum.has_value()) << i;
    if (!answer) continue;
    ++solved;
    expect_sound(problem, *answer);
    EXPECT_GE(answer->dag_cost, *optimum) << i;
  }
  EXPECT_GT(solved, 1'000);
}

TEST(Reduce, KeepsTheOptimum) {
  std::mt19937_64 random(3);
  size_t before = 0, after = 0;
  for (int i = 0; i < 20'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.bytes = i % 2 == 1});
    GreedyResult greedy = greedy_trees(problem);
    if (llvm::any_of(problem.roots(), [&](ClassIx r) { return !greedy.choice[r].valid(); }))
      continue;
    ReducedProblem reduced = reduce(problem, greedy);
    before += problem.node_count();
    after += reduced.problem.node_count();
    std::optional<double> optimum = brute_force(problem), small = brute_force(reduced.problem);
    ASSERT_EQ(optimum.has_value(), small.has_value()) << i;
    if (!optimum) continue;
    EXPECT_EQ(*optimum, *small) << i;
  }
  EXPECT_LT(after, before / 2);
}

TEST(Reduce, ExpandsChoicesToSoundOnesOfTheSameCost) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 9, .nodes = 30});
    GreedyResult greedy = greedy_trees(problem);
    if (llvm::any_of(problem.roots(), [&](ClassIx r) { return !greedy.choice[r].valid(); }))
      continue;
    ReducedProblem reduced = reduce(problem, greedy);
    std::optional<Choice> small = extract_greedy(reduced.problem);
    ASSERT_TRUE(small) << i;
    CheckedChoice checked = check_choice(problem, reduced.expand(problem, *small));
    ASSERT_TRUE(checked.ok()) << i << ": " << checked.fault;
    EXPECT_EQ(checked.dag_cost, check_choice(reduced.problem, *small).dag_cost) << i;
  }
}

TEST(Sharing, IsSoundAndLiesBetweenGreedyAndTheOptimum) {
  std::mt19937_64 random(7);
  int improved = 0;
  for (int i = 0; i < 3'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.bytes = i % 2 == 1});
    std::optional<Choice> choice = extract_greedy(problem);
    if (!choice) continue;
    double greedy = check_choice(problem, *choice).dag_cost;
    bool better = improve_by_sharing(problem, *choice, 60);
    CheckedChoice checked = check_choice(problem, *choice);
    ASSERT_TRUE(checked.ok()) << i << ": " << checked.fault;
    EXPECT_LE(checked.stored_bytes, problem.byte_limit()) << i;
    EXPECT_EQ(better, checked.dag_cost < greedy) << i;
    EXPECT_GE(checked.dag_cost, *brute_force(problem)) << i;
    improved += better;
  }
  EXPECT_GT(improved, 20);
}

class Ilp : public testing::TestWithParam<IlpCycles> {};

TEST_P(Ilp, FindsTheOptimumAndProvesIt) {
  std::mt19937_64 random(5);
  int better_than_greedy = 0;
  for (int i = 0; i < 400; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 10, .nodes = 28});
    std::optional<double> optimum = brute_force(problem);
    Result<Extraction> answer = extract_by_ilp(problem, {.cycles = GetParam()});
    ASSERT_EQ(answer.ok(), optimum.has_value()) << i;
    if (!answer) {
      EXPECT_EQ(answer.error().code, Code::no_solution);
      continue;
    }
    expect_sound(problem, *answer);
    EXPECT_NEAR(answer->dag_cost, *optimum, 1e-6) << i;
    EXPECT_TRUE(answer->optimal) << i << ": " << answer->note;
    double greedy = extract_by_greedy(problem)->dag_cost;
    EXPECT_LE(answer->dag_cost, greedy) << i;
    better_than_greedy += answer->dag_cost < greedy;
  }
  EXPECT_GT(better_than_greedy, 10);
}

TEST_P(Ilp, KeepsToTheByteLimit) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 300; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 9, .nodes = 24, .bytes = true});
    std::optional<double> optimum = brute_force(problem);
    Result<Extraction> answer = extract_by_ilp(problem, {.cycles = GetParam()});
    ASSERT_EQ(answer.ok(), optimum.has_value()) << i;
    if (!answer) continue;
    expect_sound(problem, *answer);
    EXPECT_NEAR(answer->dag_cost, *optimum, 1e-6) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cycles, Ilp,
                         testing::Values(IlpCycles::None, IlpCycles::Real, IlpCycles::Int),
                         [](const auto& info) {
                           return info.param == IlpCycles::None   ? "None"
                                  : info.param == IlpCycles::Real ? "Real"
                                                                  : "Int";
                         });

} // namespace
} // namespace tg
