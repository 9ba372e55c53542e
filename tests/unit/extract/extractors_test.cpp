// Tests guarantees of single extractors on small problems.
#include "compiler/extract/extractors.h"

#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/cycle_cuts.h"
#include "compiler/extract/solver/local_bounds.h"

#include <gtest/gtest.h>

#include <set>

namespace tg {
namespace {

/// Classes by number, each with one node of cost 1 over the given children. The last is the root.
ExtractionProblem nest(llvm::ArrayRef<std::vector<uint32_t>> children) {
  ExtractionProblem problem;
  for (size_t c = 0; c < children.size(); ++c) problem.add_class();
  for (uint32_t c = 0; c < children.size(); ++c) {
    std::vector<ClassIx> needs;
    for (uint32_t child : children[c]) needs.push_back({child});
    problem.add_node({c}, 1, needs);
  }
  problem.add_root({static_cast<uint32_t>(children.size() - 1)});
  problem.seal();
  return problem;
}

// A pyramid of two-input nodes over one leaf, with levels of three, two and one.
const std::vector<std::vector<uint32_t>> kPyramid = {{},     {0, 0}, {0, 0}, {0, 0},
                                                     {1, 2}, {2, 3}, {4, 5}};

TEST(GreedyShared, SaysEightOfTheNestThatCostsSeven) {
  Result<Extraction> answer = run_extractor(nest(kPyramid), Extractor::GreedyShared);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->reported_cost, 8) << "as published: one overlap is taken off, not all";
  EXPECT_EQ(answer->dag_cost, 7);
}

TEST(GreedyDag, SaysSevenOfIt) {
  Result<Extraction> answer = run_extractor(nest(kPyramid), Extractor::GreedyDag);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->reported_cost, 7);
  EXPECT_EQ(answer->tree_cost, 15);
}

TEST(Greedy, SaysFifteenOfIt) {
  Result<Extraction> answer = run_extractor(nest(kPyramid), Extractor::Greedy);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->reported_cost, 15);
  EXPECT_EQ(answer->dag_cost, 7);
}

TEST(GreedyDag, SharesWithinAChoice) {
  // A node uses one expensive class twice, or two cheaper classes. By tree cost, the second wins.
  ExtractionProblem p;
  ClassIx top = p.add_class(), dear = p.add_class(), a = p.add_class(), b = p.add_class();
  p.add_node(top, 1, {dear, dear});
  p.add_node(top, 1, {a, b});
  p.add_node(dear, 10, {});
  p.add_node(a, 6, {});
  p.add_node(b, 6, {});
  p.add_root(top);
  p.seal();
  EXPECT_EQ(run_extractor(p, Extractor::Greedy)->dag_cost, 13);
  EXPECT_EQ(run_extractor(p, Extractor::GreedyDag)->dag_cost, 11);
}

/// The command line uses the same names (Api.WordsStandForEnumerators).
TEST(Extractors, AreKnownByName) {
  std::set<llvm::StringRef> names;
  for (Extractor extractor : all_extractors())
    EXPECT_TRUE(names.insert(extractor_name(extractor)).second) << "two of one name";
  EXPECT_EQ(names.size(), all_extractors().size());
  EXPECT_FALSE(names.count("clairvoyant"));
}

/// a and b can be derived from each other at no cost, or each alone for 10.
ExtractionProblem two_in_a_circle() {
  ExtractionProblem p;
  ClassIx top = p.add_class(), a = p.add_class(), b = p.add_class();
  p.add_node(top, 0, {a, b});
  p.add_node(a, 10, {});
  p.add_node(a, 0, {b});
  p.add_node(b, 10, {});
  p.add_node(b, 0, {a});
  p.add_root(top);
  p.seal();
  return p;
}

TEST(CycleCuts, CutCyclesThatSupportThemselves) {
  ExtractionProblem p = two_in_a_circle();
  CycleCutter cutter(p);
  std::vector<double> circle = {1, 0, 1, 0, 1}, sound = {1, 1, 0, 0, 1};
  std::vector<FoundedCut> cuts = cutter.separate(circle, 10);
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0].support, (std::vector<NodeIx>{{1}, {3}})) << "one of the two alone";
  EXPECT_TRUE(cutter.separate(sound, 10).empty());
}

TEST(BranchCut, BoundsACircleAtItsRoot) {
  BranchCutResult result = branch_and_cut(two_in_a_circle(), 10, {.nodes = 0},
                                          {[](const Choice&, double) {}, [](double) {}});
  EXPECT_TRUE(result.proven);
  EXPECT_EQ(result.bound, 10);
}

TEST(LocalBounds, CountOnlyCostsThatCannotBeShared) {
  EXPECT_EQ(LocalBounds(nest({{}, {}, {0}, {1}, {2, 3}})).of(ClassIx{4}), 5) << "two chains";
  EXPECT_EQ(LocalBounds(nest(kPyramid)).of(ClassIx{6}), 4) << "only one branch is certain";
}

TEST(CostUnit, IsTheLargestCommonDivisorOfAllCosts) {
  auto unit_of = [](std::initializer_list<double> costs) {
    ExtractionProblem p;
    ClassIx cls = p.add_class();
    for (double cost : costs) p.add_node(cls, cost, {});
    p.seal();
    return cost_unit(p);
  };
  EXPECT_EQ(unit_of({4, 0, 6, -2}), 2);
  EXPECT_NEAR(unit_of({0.25, 1.5}), 0.25, 1e-12);
  EXPECT_EQ(unit_of({0.1, 0.12345678}), 0);
}

} // namespace
} // namespace tg
