// Tests kernel patterns as additional nodes.
#include "compiler/extract/cost/fused.h"
#include "compiler/extract/extractors.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// relu(conv(x) + bias): three classes over x, each of cost 4; the fused pattern costs 6.
struct Fixture {
  ExtractionProblem problem;
  ClassIx x, conv, sum, relu;
  NodeIx conv_node, sum_node, relu_node;

  explicit Fixture(bool other_user) {
    x = problem.add_class(), conv = problem.add_class(), sum = problem.add_class();
    relu = problem.add_class();
    problem.add_node(x, 0, {});
    conv_node = problem.add_node(conv, 4, {x});
    sum_node = problem.add_node(sum, 4, {conv, x});
    relu_node = problem.add_node(relu, 4, {sum});
    problem.add_root(relu);
    if (other_user) problem.add_root(sum);
    problem.seal();
  }
  FusedPattern pattern(double cost) const { return {{relu_node, sum_node, conv_node}, cost}; }
};

TEST(Fused, IsTakenWhereItIsCheaper) {
  Fixture f(false);
  FusedProblem fused = with_patterns(f.problem, {f.pattern(6)});
  Result<Extraction> answer = run_extractor(fused.problem, Extractor::Best);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->dag_cost, 6);
  EXPECT_NE(fused.pattern(answer->choice[f.relu]), nullptr);
}

TEST(Fused, RecomputesInnerValuesThatOtherNodesRead) {
  Fixture f(true);
  // The sum is an output, too: 6 in one kernel plus 8 to compute it again, or 12 one by one.
  FusedProblem fused = with_patterns(f.problem, {f.pattern(6)});
  EXPECT_EQ(run_extractor(fused.problem, Extractor::Best)->dag_cost, 12);
  FusedProblem cheap = with_patterns(f.problem, {f.pattern(3)});
  EXPECT_EQ(run_extractor(cheap.problem, Extractor::Best)->dag_cost, 11);
}

TEST(Fused, RefusesInvalidPatterns) {
  Fixture f(false);
  EXPECT_EQ(fault_of(f.problem, f.pattern(1)), "");
  EXPECT_NE(fault_of(f.problem, {{}, 1}), "");
  EXPECT_NE(fault_of(f.problem, {{f.relu_node, f.conv_node}, 1}), "") << "not connected";
  EXPECT_NE(fault_of(f.problem, {{f.relu_node, f.sum_node, f.sum_node}, 1}), "");
}

} // namespace
} // namespace tg
