// Tests landmarks, exact search and the progress of the portfolio by brute force on small problems.
#include "brute_force.h"

#include "compiler/extract/extractors.h"
#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/solver/exact_search.h"
#include "compiler/extract/solver/reduce.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// Returns the problem without some of its nodes.
template <class Gone> ExtractionProblem without(const ExtractionProblem& problem, Gone gone) {
  ExtractionProblem out;
  for (uint32_t c = 0; c < problem.class_count(); ++c) out.add_class();
  for (uint32_t n = 0; n < problem.node_count(); ++n) {
    NodeIx added = out.add_node(problem.class_of({n}), problem.cost({n}), problem.children({n}));
    if (!problem.usable({n}) || gone(NodeIx{n})) out.forbid(added);
  }
  for (ClassIx root : problem.roots()) out.add_root(root);
  out.seal();
  return out;
}

TEST(Landmarks, AreInEveryDerivation) {
  std::mt19937_64 random(21);
  size_t found = 0;
  for (int i = 0; i < 2'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 8, .nodes = 20});
    auto needs = landmarks(problem);
    GreedyResult all = greedy_trees(problem);
    for (uint32_t d = 0; d < problem.class_count(); ++d) {
      GreedyResult rest = greedy_trees(
          without(problem, [&](NodeIx n) { return problem.class_of(n) == ClassIx{d}; }));
      for (uint32_t c = 0; c < problem.class_count(); ++c) {
        if (!all.choice[{c}].valid()) continue;
        EXPECT_EQ(needs[c].test(d), !rest.choice[{c}].valid()) << i << ": " << d << " of " << c;
        found += c != d && needs[c].test(d);
      }
    }
  }
  EXPECT_GT(found, 1'000u);
}

TEST(Prune, LeavesABestChoice) {
  std::mt19937_64 random(22);
  size_t gone = 0;
  for (int i = 0; i < 20'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 8, .nodes = 22});
    std::optional<double> optimum = brute_force(problem);
    if (!optimum) continue;
    std::vector<bool> superfluous = superfluous_nodes(problem);
    gone += static_cast<size_t>(llvm::count(superfluous, true));
    std::optional<double> left =
        brute_force(without(problem, [&](NodeIx n) { return superfluous[n.index]; }));
    ASSERT_TRUE(left) << i;
    EXPECT_EQ(*optimum, *left) << i;
  }
  EXPECT_GT(gone, 40'000u);
}

TEST(ExactSearch, FindsTheOptimumOfUnreducedProblems) {
  std::mt19937_64 random(23);
  int better = 0;
  for (int i = 0; i < 5'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 10, .nodes = 28});
    std::optional<Choice> start = extract_greedy(problem);
    if (!start) continue;
    double best = check_choice(problem, *start).dag_cost, bound = -kInfiniteCost;
    double greedy = best;
    auto take = [&](const Choice& choice, double cost) {
      EXPECT_LT(cost, best);
      EXPECT_EQ(check_choice(problem, choice).dag_cost, cost);
      best = cost;
    };
    BranchCutResult result = exact_search(problem, best, {}, {take, [&](double b) { bound = b; }});
    EXPECT_TRUE(result.proven) << i;
    EXPECT_NEAR(best, *brute_force(problem), 1e-6) << i;
    EXPECT_LE(bound, best + 1e-6) << i;
    better += best < greedy;
  }
  EXPECT_GT(better, 50);
}

TEST(ExactSearch, BoundsTheOptimumWhereItIsStopped) {
  std::mt19937_64 random(24);
  int stopped = 0;
  for (int i = 0; i < 2'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 10, .nodes = 28});
    std::optional<Choice> start = extract_greedy(problem);
    if (!start) continue;
    double best = check_choice(problem, *start).dag_cost;
    auto take = [&](const Choice&, double cost) { best = cost; };
    BranchCutResult result = exact_search(problem, best, {60, 1}, {take, [](double) {}});
    EXPECT_LE(result.bound, *brute_force(problem) + 1e-6) << i;
    EXPECT_GE(best, *brute_force(problem) - 1e-6) << i;
    stopped += !result.proven;
  }
  EXPECT_GT(stopped, 50);
}

TEST(Best, ReportsProgressAndStopsOnRequest) {
  std::mt19937_64 random(25);
  int told = 0;
  for (int i = 0; i < 500; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 10, .nodes = 28});
    IlpOptions options;
    double cost = kInfiniteCost, bound = -kInfiniteCost;
    int left = i % 6;
    options.stop = [&](const ExtractionProgress& progress) {
      EXPECT_LE(progress.dag_cost, cost + 1e-6);
      EXPECT_GE(progress.lower_bound, bound - 1e-6);
      EXPECT_LE(progress.lower_bound, progress.dag_cost);
      cost = progress.dag_cost;
      bound = progress.lower_bound;
      ++told;
      return left-- == 0;
    };
    std::optional<double> optimum = brute_force(problem);
    Result<Extraction> answer = run_extractor(problem, Extractor::Best, options);
    ASSERT_EQ(answer.ok(), optimum.has_value()) << i;
    if (!answer) continue;
    EXPECT_TRUE(check_choice(problem, answer->choice).ok()) << i;
    EXPECT_LE(answer->dag_cost, cost + 1e-6) << "at most the given upper bound";
    EXPECT_LE(answer->lower_bound, *optimum + 1e-6) << i;
    EXPECT_LE(bound, *optimum + 1e-6) << i;
  }
  EXPECT_GT(told, 200);
}

} // namespace
} // namespace tg
