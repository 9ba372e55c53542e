// Tests the solver process: its limits, the answer if the process fails,
// and the validation of its messages. The optimum is tested by brute force
// (tests/property/extract).
#include "compiler/extract/annealing.h"
#include "compiler/extract/extractors.h"
#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/problem.h"
#include "compiler/extract/solver/child.h"
#include "compiler/extract/solver/process.h"
#include "compiler/extract/solver/reduce.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <sys/wait.h>

namespace tg {
namespace {

/// A vertex cover as an extraction problem: the root needs one class for each edge,
/// which has a node for each end, and the vertices cost. It is hard for branch and bound
/// if the graph is dense and the costs are similar.
ExtractionProblem cover(uint32_t vertices, uint32_t edges) {
  ExtractionProblem problem;
  std::mt19937_64 random(7);
  ClassIx root = problem.add_class();
  std::vector<ClassIx> vertex, edge;
  for (uint32_t v = 0; v < vertices; ++v) {
    vertex.push_back(problem.add_class());
    problem.add_node(vertex.back(), 100 + static_cast<double>(random() % 7), {});
  }
  for (uint32_t e = 0; e < edges; ++e) {
    edge.push_back(problem.add_class());
    problem.add_node(edge.back(), 0, {vertex[random() % vertices]});
    problem.add_node(edge.back(), 0, {vertex[random() % vertices]});
  }
  problem.add_node(root, 1, edge);
  problem.add_root(root);
  problem.seal();
  return problem;
}

TEST(Ilp, ATimeLimitLeavesAnAnswerAndABound) {
  ExtractionProblem problem = cover(300, 4000);
  auto greedy = extract_by_greedy(problem);
  auto answer = extract_by_ilp(problem, {.time_limit_s = 1});
  ASSERT_TRUE(greedy && answer);
  EXPECT_TRUE(check_choice(problem, answer->choice).ok());
  EXPECT_LE(answer->dag_cost, greedy->dag_cost);
  EXPECT_FALSE(answer->optimal);
  EXPECT_TRUE(answer->out_of_time);
  EXPECT_GT(answer->lower_bound, 100) << "the relaxation's bound outlives the solver";
  EXPECT_LT(answer->lower_bound, answer->dag_cost);
  EXPECT_EQ(answer->note,
            "ilp was stopped by the time limit; the result is from " + answer->algorithm);
}

TEST(Ilp, NoTimeAtAllIsGreedysAnswer) {
  ExtractionProblem problem = cover(30, 100);
  auto answer = extract_by_ilp(problem, {.time_limit_s = 0});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(check_choice(problem, answer->choice).ok());
  EXPECT_EQ(answer->lower_bound, 1) << "of the root's only node";
  EXPECT_EQ(answer->note,
            "ilp was stopped by the time limit; the result is from " + answer->algorithm);
}

#ifndef __SANITIZE_ADDRESS__ // AddressSanitizer does not bound the solver's memory
TEST(Ilp, ASolverWithoutMemoryCostsOnlyTheProof) {
  ExtractionProblem problem = cover(200, 2000);
  auto answer = extract_by_ilp(problem, {.time_limit_s = 20, .memory_limit_bytes = 1 << 20});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(check_choice(problem, answer->choice).ok());
  EXPECT_FALSE(answer->optimal);
  EXPECT_FALSE(answer->out_of_time);
  EXPECT_NE(answer->note.find("the solver was terminated by signal"), std::string::npos)
      << answer->note;
}
#endif

/// The solver proves nothing without memory.
TEST(Ilp, ProvesSmallProblemsWithoutASolver) {
  ExtractionProblem problem = cover(30, 100);
  auto by_solver = extract_by_ilp(problem);
  auto answer = extract_by_ilp(problem, {.memory_limit_bytes = 1, .small_nodes = 1000});
  ASSERT_TRUE(by_solver && answer);
  EXPECT_TRUE(answer->optimal) << answer->note;
  EXPECT_EQ(answer->dag_cost, by_solver->dag_cost);
  EXPECT_EQ(answer->lower_bound, answer->dag_cost);
  EXPECT_EQ(answer->note, "");
}

TEST(Ilp, LeavesHardProblemsToTheSolver) {
  ExtractionProblem problem = cover(300, 4000);
  auto answer = extract_by_ilp(problem, {.time_limit_s = 2, .small_nodes = 10'000});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(check_choice(problem, answer->choice).ok());
  EXPECT_FALSE(answer->optimal);
  EXPECT_GT(answer->lower_bound, 100);
  EXPECT_LT(answer->lower_bound, answer->dag_cost);
  EXPECT_TRUE(answer->out_of_time) << "all of the time was used: " << answer->note;
}

TEST(SolverProcess, SolvesASmallProgram) {
  MipModel model; // minimise x + y subject to 2x + 3y >= 4, integers up to 5
  int32_t x = model.add_column(1, 0, 5, true), y = model.add_column(1, 0, 5, true);
  model.add_row({{x, 2.0}, {y, 3.0}}, 4, kNoBound);
  MipResult result = solve_mip(model, {.seconds = 20});
  ASSERT_EQ(result.status, MipStatus::Optimal) << result.why;
  ASSERT_EQ(result.solution.size(), 2u);
  EXPECT_NEAR(result.solution[0] + result.solution[1], 2, 1e-6);
  EXPECT_NEAR(result.bound, 2, 1e-6);
  ASSERT_EQ(result.relaxation.size(), 2u);
  EXPECT_NEAR(result.relaxation[1], 4.0 / 3, 1e-6);
}

TEST(SolverProcess, ReportsThatThereIsNoSolution) {
  MipModel model;
  int32_t x = model.add_column(1, 0, 1, true);
  model.add_row({{x, 2.0}}, 1, 1); // x would have to be one half
  MipResult result = solve_mip(model, {.seconds = 20});
  EXPECT_EQ(result.status, MipStatus::Infeasible);
  EXPECT_TRUE(result.solution.empty());
}

TEST(SolverProcess, StartsFromTheGivenSolution) {
  MipModel model;
  for (int i = 0; i < 4; ++i) model.add_column(1, 0, 1, true);
  model.add_row({{0, 1.0}, {1, 1.0}, {2, 1.0}, {3, 1.0}}, 2, kNoBound);
  model.start = {1, 1, 1, 0};
  MipResult result = solve_mip(model, {.seconds = 20});
  EXPECT_EQ(result.status, MipStatus::Optimal) << result.why;
  EXPECT_NEAR(result.bound, 2, 1e-6);
}

/// Returns the processes that this thread has started.
std::vector<pid_t> children() {
  std::ifstream list("/proc/thread-self/children");
  return {std::istream_iterator<pid_t>(list), {}};
}

/// If the process that a thread keeps ends, one problem loses its proof. Later problems start a new
/// process.
TEST(SolverProcess, SurvivesCrashOfSolver) {
  ExtractionProblem problem = cover(20, 60);
  auto solve = [&] { return solve_small_problem(problem, 1e9, {.seconds = 20}, {}); };
  MipResult first = solve();
  ASSERT_EQ(first.status, MipStatus::Optimal) << first.why;
  std::vector<pid_t> kept = children();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(solve().bound, first.bound);
  EXPECT_EQ(children(), kept) << "a second problem starts no second process";

  kill(kept[0], SIGABRT); // as a failed assertion does
  while (waitid(P_PID, static_cast<id_t>(kept[0]), nullptr, WEXITED | WNOWAIT) != 0) {
  }
  MipResult broken = solve();
  EXPECT_EQ(broken.status, MipStatus::Failed);
  EXPECT_NE(broken.why.find("signal 6"), std::string::npos) << broken.why;
  MipResult again = solve();
  EXPECT_EQ(again.status, MipStatus::Optimal) << again.why;
  EXPECT_EQ(again.solution, first.solution);
}

TEST(SolverMessages, AModelSurvivesTheWire) {
  MipModel model = make_ilp(cover(5, 9), IlpCycles::None);
  model.start.assign(model.columns(), 1);
  std::vector<char> bytes = pack(model);
  MipModel back;
  ASSERT_TRUE(unpack(bytes, back));
  EXPECT_EQ(pack(back), bytes);
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(unpack(llvm::ArrayRef<char>(bytes).take_front(n), back)) << n;
}

TEST(Parts, SeparateProblemsThatShareNoClass) {
  ExtractionProblem p;
  ClassIx a = p.add_class(), b = p.add_class(), c = p.add_class(), d = p.add_class();
  p.add_node(a, 1, {c});
  p.add_node(b, 1, {});
  p.add_node(c, 1, {});
  p.add_node(d, 1, {b});
  p.seal();
  EXPECT_EQ(independent_parts(p), (std::vector<uint32_t>{0, 1, 0, 1}));
}

TEST(Reduce, AClassThatEveryDerivationNeedsIsARoot) {
  // root -> a | b; a -> x, b -> c; c -> x: every derivation needs x, through different classes.
  ExtractionProblem p;
  ClassIx root = p.add_class(), c = p.add_class(), x = p.add_class(), y = p.add_class();
  p.add_node(root, 3, {x});
  p.add_node(root, 1, {c});
  p.add_node(c, 1, {x, y});
  p.add_node(c, 2, {x});
  p.add_node(x, 5, {});
  p.add_node(x, 0, {y});
  p.add_node(y, 4, {});
  p.add_root(root);
  p.seal();
  ReducedProblem reduced = *reduce(p, greedy_trees(p));
  EXPECT_TRUE(llvm::is_contained(reduced.problem.roots(), reduced.class_in_reduced[x.index]));
  EXPECT_FALSE(llvm::is_contained(reduced.problem.roots(), reduced.class_in_reduced[y.index]));
}

TEST(Sharing, FindsTheClassThatPaysOnlyTogether) {
  // Four products that cost 5 each, or slices of a merged product that costs 12.
  ExtractionProblem p;
  ClassIx root = p.add_class(), joined = p.add_class();
  std::vector<ClassIx> products;
  p.add_node(joined, 12, {});
  for (int i = 0; i < 4; ++i) {
    products.push_back(p.add_class());
    p.add_node(products.back(), 5, {});
    p.add_node(products.back(), 0.5, {joined});
  }
  p.add_node(root, 1, products);
  p.add_root(root);
  p.seal();
  std::optional<Choice> choice = extract_greedy(p);
  ASSERT_TRUE(choice);
  EXPECT_EQ(check_choice(p, *choice).dag_cost, 21);
  EXPECT_TRUE(improve_by_sharing(p, *choice, 10));
  EXPECT_EQ(check_choice(p, *choice).dag_cost, 15);
  EXPECT_FALSE(improve_by_sharing(p, *choice, 10));
}

} // namespace
} // namespace tg
