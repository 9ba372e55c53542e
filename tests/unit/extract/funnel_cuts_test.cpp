#include "compiler/extract/solver/funnel_cuts.h"

#include "compiler/extract/solver/branch_cut.h"

#include <gtest/gtest.h>

#include <random>

namespace tg {
namespace {

/// A root over `a` or `b`, both over `d`. `b` has another node that bypasses `d`. Costs as given.
struct Diamond {
  ExtractionProblem problem;
  ClassIx root, a, b, d, past;

  Diamond() {
    for (ClassIx* cls : {&root, &a, &b, &d, &past}) *cls = problem.add_class();
    problem.add_node(root, 1, {a}); // 0
    problem.add_node(root, 1, {b}); // 1
    problem.add_node(a, 2, {d});    // 2
    problem.add_node(b, 2, {d});    // 3
    problem.add_node(b, 9, {past}); // 4
    problem.add_node(d, 10, {});    // 5
    problem.add_node(past, 3, {});  // 6
    problem.add_root(root);
    problem.seal();
  }
};

TEST(FunnelCuts, HalfOfEitherAlternativeNeedsAllBelowBoth) {
  Diamond diamond;
  FunnelCutter cutter(diamond.problem);
  std::vector<FoundedCut> cuts = cutter.separate({0.5, 0.5, 0.5, 0.5, 0, 0.5, 0}, 10);
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0].target, diamond.root);
  llvm::sort(cuts[0].support, [](NodeIx a, NodeIx b) { return a.index < b.index; });
  EXPECT_EQ(cuts[0].support, (std::vector<NodeIx>{{4}, {5}})) << "d itself, and the way past it";
}

TEST(FunnelCuts, WholeChoicesAndSharesThatFitAreLeftAlone) {
  Diamond diamond;
  FunnelCutter cutter(diamond.problem);
  EXPECT_TRUE(cutter.separate({1, 0, 1, 0, 0, 1, 0}, 10).empty());
  EXPECT_TRUE(cutter.separate({0.5, 0.5, 0.5, 0, 0.5, 0.5, 0.5}, 10).empty());
}

/// The cuts exclude no sound choice, for random problems and random fractions.
TEST(FunnelCuts, HoldForEverySoundChoice) {
  std::mt19937_64 random(5);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  size_t seen = 0;
  for (int i = 0; i < 2'000; ++i) {
    ExtractionProblem problem;
    uint32_t classes = 4 + below(6);
    for (uint32_t c = 0; c < classes; ++c) problem.add_class();
    for (uint32_t n = 0; n < 3 * classes; ++n) {
      std::vector<ClassIx> children;
      for (uint32_t k = below(3); k > 0; --k) children.push_back({below(classes)});
      problem.add_node({n % classes}, below(9), children);
    }
    problem.add_root({0});
    problem.seal();
    std::vector<double> x(problem.node_count());
    for (double& value : x) value = below(2) ? 0 : 0.5 / 3 * below(3);
    FunnelCutter cutter(problem);
    std::vector<FoundedCut> cuts = cutter.separate(x, 100);
    seen += cuts.size();
    for (int tries = 0; tries < 50; ++tries) {
      Choice choice(classes);
      for (uint32_t c = 0; c < classes; ++c) choice.node[c] = problem.nodes({c})[below(3)];
      if (!check_choice(problem, choice).ok()) continue;
      trim(problem, choice);
      for (const FoundedCut& cut : cuts)
        EXPECT_TRUE(!choice[cut.target].valid() || llvm::any_of(cut.support, [&](NodeIx n) {
          return choice[problem.class_of(n)] == n;
        })) << i;
    }
  }
  EXPECT_GT(seen, 100u);
}

/// Layers of many alternatives over few classes. Without these cuts, the root's relaxation
/// is far too low and the tree is large.
TEST(FunnelCuts, CloseTheRootGapOfLayersOverOneClass) {
  ExtractionProblem problem;
  ClassIx bottom = problem.add_class();
  problem.add_node(bottom, 100, {});
  std::vector<ClassIx> layer = {bottom};
  for (int depth = 0; depth < 6; ++depth) {
    std::vector<ClassIx> next;
    for (int c = 0; c < 3; ++c) {
      next.push_back(problem.add_class());
      for (ClassIx below : layer) problem.add_node(next.back(), 1 + c, {below});
    }
    layer = next;
  }
  // The root needs these layers, or a slightly more expensive class. Each class is a landmark
  // of only one alternative.
  ClassIx root = problem.add_class(), other = problem.add_class();
  for (ClassIx below : layer) problem.add_node(root, 1, {below});
  problem.add_node(root, 1, {other});
  problem.add_node(other, 150, {});
  problem.add_root(root);
  problem.seal();
  double bound = 0;
  BranchCutResult result =
      branch_and_cut(problem, 1e9, {.seconds = 60, .nodes = 1},
                     {[](const Choice&, double) {}, [&](double to) { bound = to; }});
  EXPECT_TRUE(result.proven);
  EXPECT_EQ(bound, 107);
}

} // namespace
} // namespace tg
