// Tests every extractor by brute force on thousands of small problems.
#include "brute_force.h"

#include "compiler/extract/annealing.h"
#include "compiler/extract/extractors.h"
#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/local_bounds.h"
#include "compiler/extract/solver/reduce.h"

#include <gtest/gtest.h>

#include <bit>

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
  EXPECT_EQ(trimmed, answer.choice) << "only reachable classes have a choice";
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
    ReducedProblem reduced = *reduce(problem, greedy);
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
    ReducedProblem reduced = *reduce(problem, greedy);
    std::optional<Choice> small = extract_greedy(reduced.problem);
    ASSERT_TRUE(small) << i;
    CheckedChoice checked = check_choice(problem, reduced.expand(problem, *small));
    ASSERT_TRUE(checked.ok()) << i << ": " << checked.fault;
    EXPECT_EQ(checked.dag_cost, check_choice(reduced.problem, *small).dag_cost) << i;
  }
}

TEST(Sharing, IsValidAndBetweenGreedyAndTheOptimum) {
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

/// Each extractor, with and without rewards: its answer is sound and not below the optimum,
/// and its bound holds.
class Extractors : public testing::TestWithParam<Extractor> {};

TEST_P(Extractors, AnswerSoundlyAndWithBoundsThatHold) {
  std::mt19937_64 random(11);
  bool exact = GetParam() == Extractor::Ilp || GetParam() == Extractor::Best;
  bool process = GetParam() == Extractor::Ilp || GetParam() == Extractor::Lp;
  for (int i = 0; i < (process ? 80 : 1'500); ++i) {
    ExtractionProblem problem =
        random_problem(random, {.classes = 9, .nodes = 24, .rewards = i % 2 == 1});
    std::optional<double> optimum = brute_force(problem);
    Result<Extraction> answer = run_extractor(problem, GetParam());
    ASSERT_EQ(answer.ok(), optimum.has_value()) << i;
    if (!answer) continue;
    expect_sound(problem, *answer);
    EXPECT_GE(answer->dag_cost, *optimum - 1e-6) << i;
    EXPECT_LE(answer->lower_bound, *optimum + 1e-6) << i;
    if (answer->optimal || exact) {
      EXPECT_NEAR(answer->dag_cost, *optimum, 1e-6) << i;
    }
    EXPECT_TRUE(answer->optimal || !exact) << i << ": " << answer->note;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Extractors,
                         testing::Values(Extractor::Greedy, Extractor::GreedyShared,
                                         Extractor::GreedyDag, Extractor::Ilp, Extractor::Lp,
                                         Extractor::Best),
                         [](const auto& info) {
                           std::string name = extractor_name(info.param).str();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Too large for brute force, so that all cuts and reductions are used. A bound that one program
/// proves must not contradict the other's, for any order in which their time ends.
TEST(Best, AgreesWithIlpOnBoundsAndIsNotWorseThanGreedy) {
  std::mt19937_64 random(13);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  int proven = 0;
  for (int i = 0; i < 24; ++i) {
    ExtractionProblem problem;
    uint32_t classes = 40 + below(80), width = 2 + below(8);
    for (uint32_t c = 0; c < classes; ++c) problem.add_class();
    for (uint32_t n = 0; n < 3 * classes; ++n) {
      uint32_t cls = n / 3;
      std::vector<ClassIx> children;
      for (uint32_t k = below(4); k > 0 && cls >= width; --k)
        children.push_back({cls - 1 - below(width)});
      if (i % 2 == 1 && n % 3 > 0 && below(6) == 0) children.push_back({below(classes)});
      bool reward = i % 4 == 3 && below(10) == 0;
      problem.add_node({cls}, reward ? -3.0 : below(16) == 0 ? 50 : below(20), children);
    }
    for (uint32_t k = 0; k < 3; ++k) problem.add_root({classes - 1 - k});
    problem.seal();
    auto dag = run_extractor(problem, Extractor::GreedyDag);
    auto best = run_extractor(problem, Extractor::Best, {.time_limit_s = 2});
    auto ilp = run_extractor(problem, Extractor::Ilp, {.time_limit_s = 0.5});
    ASSERT_TRUE(dag && best && ilp) << i;
    expect_sound(problem, *best);
    double tolerance = 1e-6 * std::max(1.0, std::abs(best->dag_cost));
    EXPECT_LE(best->dag_cost, dag->dag_cost + tolerance) << i;
    EXPECT_LE(best->lower_bound, ilp->dag_cost + tolerance) << i;
    EXPECT_LE(ilp->lower_bound, best->dag_cost + tolerance) << i;
    proven += best->optimal;
  }
  EXPECT_GT(proven, 0);
}

TEST(BranchCut, FindsTheOptimumOfUnreducedProblems) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 1'000; ++i) {
    ExtractionProblem problem =
        random_problem(random, {.classes = 10, .nodes = 28, .rewards = i % 3 == 0});
    std::optional<Choice> start = extract_greedy(problem);
    if (!start) continue;
    double best = check_choice(problem, *start).dag_cost, bound = -kInfiniteCost;
    auto take = [&](const Choice& choice, double cost) {
      EXPECT_LT(cost, best);
      EXPECT_EQ(check_choice(problem, choice).dag_cost, cost);
      best = cost;
    };
    BranchCutResult result =
        branch_and_cut(problem, best, {}, {take, [&](double b) { bound = b; }});
    EXPECT_TRUE(result.proven) << i;
    EXPECT_NEAR(best, *brute_force(problem), 1e-6) << i;
    EXPECT_LE(bound, best + 1e-6) << i;
  }
}

TEST(BranchCut, FindsChoicesBelowEveryCutoff) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 300; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 6, .nodes = 14});
    std::optional<double> optimum = brute_force(problem);
    if (!optimum) continue;
    for (double above : {0.5, 1.0, 7.0}) { // not a sum of costs, even if these have a unit
      double best = kInfiniteCost;
      BranchCutResult result =
          branch_and_cut(problem, *optimum + above, {},
                         {[&](const Choice&, double cost) { best = cost; }, [](double) {}});
      EXPECT_TRUE(result.proven) << i;
      EXPECT_NEAR(best, *optimum, 1e-6) << i;
    }
  }
}

/// A vertex cover: every edge needs one of its ends. With odd cycles, the relaxation takes half
/// of each vertex, and the search tree has to do the rest.
ExtractionProblem cover_of(uint32_t vertices, llvm::ArrayRef<std::pair<uint32_t, uint32_t>> edges) {
  ExtractionProblem problem;
  for (uint32_t v = 0; v < vertices; ++v) problem.add_node(problem.add_class(), 1, {});
  for (auto [a, b] : edges) {
    ClassIx edge = problem.add_class();
    problem.add_node(edge, 0, {{a}});
    problem.add_node(edge, 0, {{b}});
    problem.add_root(edge);
  }
  problem.seal();
  return problem;
}

TEST(BranchCut, SkipsSubproblemsThatTheSolverAbandons) {
  constexpr uint32_t kVertices = 15;
  std::mt19937_64 random(12);
  size_t open = 0;
  for (int i = 0; i < 40; ++i) {
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    for (uint32_t a = 0; a < kVertices; ++a)
      for (uint32_t b = a + 1; b < kVertices; ++b)
        if (random() % 2 == 0) edges.push_back({a, b});
    double optimum = kVertices;
    for (uint32_t in = 0; in < 1u << kVertices; ++in)
      if (llvm::all_of(edges, [&](auto e) { return in >> e.first & 1 || in >> e.second & 1; }))
        optimum = std::min(optimum, 1.0 * std::popcount(in));
    BranchCutLimits limits;
    limits.nodes = 10'000;
    bool patient = i % 4 == 3;
    if (!patient) (i % 4 == 2 ? limits.iterations : limits.iterations_of_node) = i / 4;
    double best = kVertices + 1, bound = -kInfiniteCost;
    BranchCutResult result = branch_and_cut(
        cover_of(kVertices, edges), best, limits,
        {[&](const Choice&, double cost) { best = cost; }, [&](double b) { bound = b; }});
    EXPECT_LT(result.nodes, 2'000) << i << ": the same node again and again";
    EXPECT_LE(bound, optimum + 1e-6) << i;
    EXPECT_GE(best, optimum - 1e-6) << i;
    EXPECT_TRUE(result.proven || !patient) << i;
    if (result.proven) {
      EXPECT_NEAR(best, optimum, 1e-6) << i;
    }
    open += !result.proven;
  }
  EXPECT_GT(open, 15u);
}

TEST(LocalBounds, LieBelowTheOptimumOfEveryClass) {
  std::mt19937_64 random(13);
  double bounds = 0, optima = 0;
  for (int i = 0; i < 2'000; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 7, .nodes = 18});
    LocalBounds local(problem);
    for (uint32_t c = 0; c < problem.class_count(); ++c) {
      ExtractionProblem one = with_roots(problem, {{c}});
      std::optional<double> optimum = brute_force(one);
      EXPECT_LE(local.of(ClassIx{c}), optimum.value_or(kInfiniteCost)) << i;
      if (!optimum) continue;
      bounds += local.of(ClassIx{c});
      optima += *optimum;
    }
  }
  EXPECT_GT(bounds, 0.8 * optima) << "the bounds say something";
}

class Ilp : public testing::TestWithParam<IlpCycles> {};

TEST_P(Ilp, FindsTheOptimumAndProvesIt) {
  std::mt19937_64 random(5);
  int better_than_greedy = 0;
  for (int i = 0; i < 400; ++i) {
    ExtractionProblem problem = random_problem(random, {.classes = 10, .nodes = 28});
    std::optional<double> optimum = brute_force(problem);
    size_t here = i % 2 == 0 ? 0 : 1'000; // half of the problems without the solver
    Result<Extraction> answer =
        extract_by_ilp(problem, {.cycles = GetParam(), .small_nodes = here});
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
    size_t here = i % 2 == 0 ? 0 : 1'000;
    Result<Extraction> answer =
        extract_by_ilp(problem, {.cycles = GetParam(), .small_nodes = here});
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
