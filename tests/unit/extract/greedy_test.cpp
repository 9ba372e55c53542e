// Tests the problem form, its checker and greedy extraction on small problems.
#include "compiler/extract/greedy/greedy.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// a -> {b, c}, both -> d: the smallest problem whose tree and DAG costs differ.
struct Diamond {
  ExtractionProblem problem;
  ClassIx a, b, c, d;

  Diamond() {
    a = problem.add_class(), b = problem.add_class(), c = problem.add_class(),
    d = problem.add_class();
    problem.add_node(a, 1, {b, c});
    problem.add_node(b, 2, {d});
    problem.add_node(c, 4, {d});
    problem.add_node(d, 8, {});
    problem.add_root(a);
    problem.seal();
  }
};

TEST(CheckChoice, CountsSharedWorkOnceInTheDagAndPerUseInTheTree) {
  Diamond diamond;
  auto choice = extract_greedy(diamond.problem);
  ASSERT_TRUE(choice);
  CheckedChoice checked = check_choice(diamond.problem, *choice);
  ASSERT_TRUE(checked.ok()) << checked.fault;
  EXPECT_EQ(checked.dag_cost, 15);
  EXPECT_EQ(checked.tree_cost, 23);
  ASSERT_EQ(checked.order.size(), 4u);
  EXPECT_EQ(checked.order.front(), diamond.d);
  EXPECT_EQ(checked.order.back(), diamond.a);
}

TEST(CheckChoice, CountsARepeatedRootPerUseInTheTreeOnly) {
  ExtractionProblem p;
  ClassIx a = p.add_class();
  p.add_node(a, 3, {});
  p.add_root(a);
  p.add_root(a);
  p.seal();
  CheckedChoice checked = check_choice(p, *extract_greedy(p));
  EXPECT_EQ(checked.dag_cost, 3);
  EXPECT_EQ(checked.tree_cost, 6);
}

TEST(CheckChoice, FindsEveryKindOfFault) {
  ExtractionProblem p;
  ClassIx a = p.add_class(), b = p.add_class();
  NodeIx to_b = p.add_node(a, 1, {b});
  NodeIx to_a = p.add_node(b, 1, {a});
  NodeIx leaf = p.add_node(b, 1, {});
  NodeIx dear = p.add_node(b, kInfiniteCost, {});
  NodeIx banned = p.add_node(b, 1, {});
  p.forbid(banned);
  p.add_root(a);
  p.seal();
  auto fault = [&](NodeIx of_a, NodeIx of_b) {
    Choice choice(2);
    choice.node = {of_a, of_b};
    return check_choice(p, choice).fault;
  };
  EXPECT_EQ(fault(to_b, leaf), "");
  EXPECT_EQ(fault(to_b, to_a), "class 0 needs itself");
  EXPECT_EQ(fault(to_b, {}), "class 1 has no node");
  EXPECT_EQ(fault(leaf, leaf), "the node of class 0 belongs to another class");
  EXPECT_EQ(fault(to_b, dear), "the node of class 1 must not be used");
  EXPECT_EQ(fault(to_b, banned), "the node of class 1 must not be used");
  EXPECT_EQ(check_choice(p, Choice(1)).fault, "the choice is of another problem");
}

TEST(Greedy, TakesNoCycleEvenIfAllCostsAreZero) {
  ExtractionProblem p;
  ClassIx a = p.add_class(), b = p.add_class();
  p.add_node(a, 0, {a});
  p.add_node(a, 0, {b});
  p.add_node(b, 0, {a});
  p.add_node(b, 0, {});
  p.add_root(a);
  p.seal();
  CheckedChoice checked = check_choice(p, *extract_greedy(p));
  EXPECT_TRUE(checked.ok()) << checked.fault;
  EXPECT_EQ(checked.dag_cost, 0);
}

TEST(Greedy, SaysWhenARootCannotBeExtracted) {
  ExtractionProblem p;
  ClassIx a = p.add_class(), b = p.add_class(), c = p.add_class();
  p.add_node(a, 1, {b});
  p.add_node(b, 1, {a});
  p.add_node(c, kInfiniteCost, {});
  p.add_root(a);
  p.seal();
  EXPECT_FALSE(extract_greedy(p));
}

TEST(Greedy, ExtractsAClassWhoseTreeCostOverflows) {
  ExtractionProblem p; // x, x+x, (x+x)+(x+x), ... 2,000 levels: the tree has 2^2000 nodes
  ClassIx below = p.add_class();
  p.add_node(below, 1, {});
  for (int i = 0; i < 2000; ++i) {
    ClassIx cls = p.add_class();
    p.add_node(cls, 1, {below, below});
    below = cls;
  }
  p.add_root(below);
  p.seal();
  auto choice = extract_greedy(p);
  ASSERT_TRUE(choice);
  CheckedChoice checked = check_choice(p, *choice);
  EXPECT_EQ(checked.dag_cost, 2001);
  EXPECT_EQ(checked.tree_cost, std::numeric_limits<double>::max());
}

TEST(Greedy, DoesNotRecurseOnDepth) {
  ExtractionProblem p;
  ClassIx below = p.add_class();
  p.add_node(below, 1, {});
  for (int i = 0; i < 300'000; ++i) {
    ClassIx cls = p.add_class();
    p.add_node(cls, 0, {below});
    below = cls;
  }
  p.add_root(below);
  p.seal();
  EXPECT_EQ(check_choice(p, *extract_greedy(p)).dag_cost, 1);
}

TEST(Greedy, KeepsToTheByteLimit) {
  ExtractionProblem p; // the cheap node stores 100 bytes, the expensive one 10
  ClassIx root = p.add_class(), fat = p.add_class(), thin = p.add_class();
  p.add_node(root, 1, {fat});
  NodeIx dear = p.add_node(root, 5, {thin});
  p.set_load(p.add_node(fat, 0, {}));
  p.set_load(p.add_node(thin, 0, {}));
  p.set_stored_bytes(fat, 100);
  p.set_stored_bytes(thin, 10);
  p.add_root(root);
  p.set_byte_limit(50);
  p.seal();
  EXPECT_EQ((*extract_greedy(p))[root], dear);
  p.set_byte_limit(5);
  EXPECT_FALSE(extract_greedy(p));
}

} // namespace
} // namespace tg
