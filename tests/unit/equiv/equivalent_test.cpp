#include "compiler/equiv/equivalent.h"

#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tg {
namespace {

/// A small model: inputs x f32[2, 3] and y f32[2, 3], weight w f32[3, 3], what `body` makes of
/// them.
class Model {
public:
  explicit Model(const char* name = "m") : graph(std::make_shared<Symbols>(), name) {
    x = graph.input("x", f32({2, 3}));
    y = graph.input("y", f32({2, 3}));
    w = graph.weight("w", f32({3, 3}));
  }
  NodeId add(OpKind op, std::vector<NodeId> operands, std::vector<Value> attrs = {}) {
    return test::add_node(graph, op, operands, attrs);
  }
  NodeId matmul(NodeId a, NodeId b) {
    return add(OpKind::Matmul, {a, b, graph.none(), graph.none()}, {Value::of_enum("none")});
  }
  NodeId number(double value) { return graph.constant({value}, f32({})); }
  Model& out(NodeId id) {
    graph.add_output("out", id);
    return *this;
  }
  Graph graph;
  NodeId x, y, w;
};

Equivalence compare(const Model& a, const Model& b) {
  Result<Equivalence> result = check_equivalence(a.graph, b.graph, {});
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : Equivalence();
}

TEST(Equivalent, TheSameGraphIsIdentical) {
  Model a, b("other");
  a.out(a.matmul(a.x, a.w));
  b.out(b.matmul(b.x, b.w));
  Equivalence result = compare(a, b);
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.method, Equivalence::Method::Identical);
}

/// n / c * c of f32 or i64.
Graph there_and_back(DType dtype) {
  Graph graph(std::make_shared<Symbols>(), "m");
  NodeId n = graph.input("n", {dtype, {3, 5}}), c = graph.weight("c", {dtype, {3, 5}});
  graph.add_output("out", graph.add(OpKind::Mul, {}, {graph.add(OpKind::Div, {}, {n, c}), c}));
  return graph;
}

Graph plain(DType dtype) {
  Graph graph(std::make_shared<Symbols>(), "m");
  NodeId n = graph.input("n", {dtype, {3, 5}});
  graph.weight("c", {dtype, {3, 5}});
  graph.add_output("out", n);
  return graph;
}

TEST(Equivalent, IntegersAreRoundedDownWhenTheyAreDivided) {
  for (DType dtype : {DType::F32, DType::I32, DType::I64}) {
    Result<Equivalence> result = check_equivalence(there_and_back(dtype), plain(dtype), {});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->equal(), dtype == DType::F32) << dtype_name(dtype).str();
  }
}

TEST(Equivalent, RationalIdentitiesHoldInTheField) {
  Model a, b;
  a.out(a.matmul(a.matmul(a.x, a.w), a.w));
  b.out(b.matmul(b.x, b.matmul(b.w, b.w)));
  Equivalence result = compare(a, b);
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.method, Equivalence::Method::Field);
  EXPECT_EQ(result.points, 3u);
  EXPECT_LT(result.log2_error, -150);
}

TEST(Equivalent, FunctionsPassThrough) {
  Model a, b; // tanh((x + y) w) and tanh(x w + y w)
  a.out(a.add(OpKind::Tanh, {a.matmul(a.add(OpKind::Add, {a.x, a.y}), a.w)}));
  b.out(b.add(OpKind::Tanh, {b.add(OpKind::Add, {b.matmul(b.x, b.w), b.matmul(b.y, b.w)})}));
  Equivalence result = compare(a, b);
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.method, Equivalence::Method::Field);
  EXPECT_EQ(result.per_point.queries, 24); // 6 elements and their negatives, on both sides
}

TEST(Equivalent, Float64DecidesBetweenFunctions) {
  Model a, b, c;
  a.out(a.add(OpKind::Relu, {a.add(OpKind::Relu, {a.x})}));
  b.out(b.add(OpKind::Relu, {b.x}));
  c.out(c.add(OpKind::Gelu, {c.x}));
  Equivalence same = compare(a, b);
  EXPECT_TRUE(same.equal());
  EXPECT_EQ(same.method, Equivalence::Method::Float64);
  EXPECT_EQ(same.field_difference, "out");
  EXPECT_FALSE(compare(b, c).equal());
}

TEST(Equivalent, CounterexamplesAreSmall) {
  Model a, b; // they differ where y is not zero
  a.out(a.add(OpKind::Add, {a.x, a.y}));
  b.out(b.add(OpKind::Sub, {b.x, b.y}));
  Equivalence result = compare(a, b);
  ASSERT_TRUE(result.counterexample);
  const Counterexample& example = *result.counterexample;
  EXPECT_EQ(example.output, "out");
  EXPECT_TRUE(example.complete);
  ASSERT_EQ(example.elements.size(), 1u);
  EXPECT_EQ(example.elements[0].leaf, "y");
  EXPECT_EQ(example.elements[0].index, example.index);
  EXPECT_EQ(example.elements[0].value, std::round(example.elements[0].value));
  EXPECT_EQ(example.a, -example.b);
}

TEST(Equivalent, SeesSmallDifferencesOfLiterals) {
  Model a, b, c;
  a.out(a.add(OpKind::Mul, {a.x, a.number(0.1)}));
  b.out(b.add(OpKind::Mul, {b.x, b.number(0.1000001)}));
  c.out(c.add(OpKind::Div, {c.x, c.number(10)}));
  EXPECT_FALSE(compare(a, b).equal());
  Equivalence same = compare(a, c); // a tenth, exactly, whatever a double makes of it
  EXPECT_TRUE(same.equal());
  EXPECT_EQ(same.method, Equivalence::Method::Field);
}

TEST(Equivalent, ZeroDivisorsAndRootsOfNegativesAreLookedAt) {
  Model a, b; // sqrt(x) * sqrt(x) is x only where x is not negative
  NodeId root = a.add(OpKind::Sqrt, {a.x});
  a.out(a.add(OpKind::Mul, {root, root}));
  b.out(b.x);
  EXPECT_FALSE(compare(a, b).equal());
}

TEST(Equivalent, ModelsThatCannotBeComparedAreErrors) {
  Model a, b, c;
  a.out(a.x);
  b.graph.add_output("other", b.x);
  c.out(c.matmul(c.w, c.w));
  for (const Model* other : {&b, &c}) {
    Result<Equivalence> result = check_equivalence(a.graph, other->graph, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::models_differ);
  }
}

TEST(Equivalent, AnswersDoNotDependOnThreads) {
  Model a, b;
  a.out(a.add(OpKind::Exp, {a.matmul(a.add(OpKind::Add, {a.x, a.y}), a.w)}));
  b.out(b.add(OpKind::Exp, {b.matmul(b.x, b.w)}));
  for (int threads : {1, 4}) {
    EquivalenceOptions options;
    options.threads = threads;
    Result<Equivalence> result = check_equivalence(a.graph, b.graph, options);
    ASSERT_TRUE(result);
    EXPECT_FALSE(result->equal());
    EXPECT_EQ(result->counterexample->elements.size(), 2u); // one of y, one of w
  }
}

TEST(Equivalent, WhatIsStoppedOrTooLargeIsUndecided) {
  Model a, b;
  a.out(a.matmul(a.matmul(a.x, a.w), a.w));
  b.out(b.matmul(b.x, b.matmul(b.w, b.w)));
  EquivalenceOptions stopped, small;
  int asked = 0;
  stopped.stop = [&] { return ++asked > 2; };
  small.memory_limit_bytes = 100;
  for (const EquivalenceOptions& options : {stopped, small}) {
    Result<Equivalence> result = check_equivalence(a.graph, b.graph, options);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->verdict, Equivalence::Verdict::Undecided);
    EXPECT_NE(result->undecided, "");
    EXPECT_FALSE(result->counterexample);
  }
}

// --- the bound
// ------------------------------------------------------------------------------------

TEST(Bound, CountsQueriesAndDegrees) {
  Model a;
  NodeId product = a.matmul(a.x, a.w);
  NodeId out = a.add(OpKind::Relu, {product});
  PointBound bound = bound_of(a.graph, {out});
  EXPECT_EQ(bound.queries, 12);     // of 6 maxima, and of their members beside 0
  EXPECT_EQ(bound.query_degree, 4); // differences of products of two
  EXPECT_NEAR(bound.log2_miss, std::log2(13 * 12 / 2 * 4 + 2) - 61, 1e-9);
}

TEST(Bound, SumsMultiplyUnlikeDenominators) {
  Model a;
  NodeId quotient = a.add(OpKind::Div, {a.x, a.y}); // degrees 1, 1
  NodeId sum = a.add(OpKind::ReduceSum, {quotient}, {Value::of_ints({1}), Value::of_bool(false)});
  EXPECT_EQ(bound_of(a.graph, {quotient}).output_degree, 4);
  EXPECT_EQ(bound_of(a.graph, {sum}).output_degree, 12); // 3 above, 3 below, twice
}

TEST(Bound, SaysHowManyPointsAreNeeded) {
  PointBound bound;
  bound.log2_miss = -15;
  EXPECT_EQ(points_for(bound, -40, 1), 3u);
  EXPECT_EQ(points_for(bound, -40, 5), 5u);
  EXPECT_EQ(points_for(bound, -45, 1), 4u); // below, not at
  bound.log2_miss = 0;
  EXPECT_EQ(points_for(bound, -40, 3), 3u);
}

} // namespace
} // namespace tg
