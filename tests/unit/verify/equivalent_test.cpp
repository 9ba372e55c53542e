#include "compiler/verify/equivalent.h"

#include "compiler/verify/field/check.h"
#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tg {
namespace {

/// A small model with the inputs x f32[2, 3] and y f32[2, 3], the weight w f32[3, 3],
/// and outputs that the test adds.
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

NodeId sum_of_all(Model& model, NodeId x) {
  return model.add(OpKind::ReduceSum, {x}, {Value::of_ints({0, 1}), Value::of_bool(false)});
}

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

/// n / c * c in f32 or i64.
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
  EXPECT_EQ(result.points, 1u);
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

TEST(Equivalent, ABoundThatBoundsNothingDecidesNothing) {
  Model a, b;
  a.out(a.matmul(a.matmul(a.x, a.w), a.w));
  b.out(b.matmul(b.x, b.matmul(b.w, b.w)));
  EquivalenceOptions options;
  options.log2_decided = -1000;
  Result<Equivalence> result = check_equivalence(a.graph, b.graph, options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, Equivalence::Verdict::Undecided);
  EXPECT_NE(result->undecided.find("error bound"), std::string::npos);
  EXPECT_FALSE(result->counterexample);
}

TEST(Equivalent, CounterexamplesAreSmall) {
  Model a, b; // they differ if y is not zero
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
  EXPECT_EQ(example.elements[0].value.as_real(), std::round(example.elements[0].value.as_real()));
  EXPECT_EQ(example.a.as_real(), -example.b.as_real());
}

TEST(Equivalent, SeesSmallDifferencesOfLiterals) {
  Model a, b, c;
  a.out(a.add(OpKind::Mul, {a.x, a.number(0.1)}));
  b.out(b.add(OpKind::Mul, {b.x, b.number(0.1000001)}));
  c.out(c.add(OpKind::Div, {c.x, c.number(10)}));
  EXPECT_FALSE(compare(a, b).equal());
  Equivalence same = compare(a, c); // a tenth exactly, although a double rounds it
  EXPECT_TRUE(same.equal());
  EXPECT_EQ(same.method, Equivalence::Method::Field);
}

TEST(Equivalent, ZeroDivisorsAndRootsOfNegativesAreLookedAt) {
  Model a, b; // sqrt(x) * sqrt(x) is x only if x is not negative
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

/// Multiplies x by all of the numbers.
Model& scaled(Model& model, std::vector<double> numbers) {
  NodeId x = model.x;
  for (double number : numbers) x = model.add(OpKind::Mul, {x, model.number(number)});
  return model.out(x);
}

TEST(Equivalent, NoLiteralVanishes) {
  // Powers of two and the primes of possible fixed fields, as products and as quotients.
  std::vector<std::vector<double>> products = {
      {65536, 65536, 65536, 8192}, {0x1p61}, {0x1p122}, {0x1p89}, {0x1p127}, {0x1p31, 0x1p30}};
  for (const std::vector<double>& numbers : products) {
    Model a, b;
    EXPECT_TRUE(compare(scaled(a, numbers), b.out(b.x)).different());
  }
  double p = 0x1p51 - 129; // a prime of the family, and an exact double
  for (double q : {p, 0x1p50 + 7, 2305843009213693951.0}) {
    Model a, b, c;
    a.out(a.add(OpKind::Add, {a.x, a.add(OpKind::Mul, {a.y, a.number(q)})}));
    EXPECT_TRUE(compare(a, b.out(b.x)).different()) << q;
    c.out(c.add(OpKind::Div, {c.x, c.number(q)}));
    EXPECT_FALSE(compare(c, b).equal()) << q;
  }
}

/// The primes of an earlier check do not help an attacker: with such literals, others are drawn.
TEST(Equivalent, PrimesFollowFromTheModels) {
  Model a, b;
  scaled(a, {3});
  b.out(b.x);
  Result<Joined> joined = join(a.graph, b.graph);
  ASSERT_TRUE(joined);
  NodeId pair[] = {joined->a[0], joined->b[0]};
  EquivalenceOptions options;
  FieldCheck check(*joined, pair, options);
  ASSERT_EQ(check.run(0), FieldCheck::Outcome::Differ);
  FieldPoint known = check.point();
  // x + y * p0 * p1 * p2 * p3 is x at that point.
  Model trick, plain;
  NodeId zero = trick.y;
  for (uint64_t p : known.prime)
    zero = trick.add(OpKind::Mul, {zero, trick.number(static_cast<double>(p))});
  trick.out(trick.add(OpKind::Add, {trick.x, zero}));
  EXPECT_TRUE(compare(trick, plain.out(plain.x)).different());
}

TEST(Equivalent, GatherByUnknownAndByKnownIndices) {
  auto gathered = [](bool twice, bool known) {
    Model m;
    NodeId i = m.graph.input("i", {DType::I64, {4}});
    NodeId index = known ? m.graph.constant({2, 0, 1, 2}, {DType::I64, {4}}) : i;
    NodeId from = twice ? m.add(OpKind::Add, {m.w, m.w}) : m.w;
    NodeId rows = m.add(OpKind::Gather, {from, index}, {Value::of_int(0)});
    m.out(twice ? rows : m.add(OpKind::Add, {rows, rows}));
    return m;
  };
  for (bool known : {false, true}) {
    Equivalence same = compare(gathered(true, known), gathered(false, known));
    EXPECT_TRUE(same.equal());
    EXPECT_EQ(same.method, Equivalence::Method::Field);
    EXPECT_LT(same.log2_error, -100);
  }
  Model all, rows; // w has three rows: the known indices are all of them
  all.out(all.w);
  rows.out(rows.add(OpKind::Gather, {rows.w, rows.graph.constant({0, 1, 2}, {DType::I64, {3}})},
                    {Value::of_int(0)}));
  EXPECT_EQ(compare(all, rows).method, Equivalence::Method::Field);
}

TEST(Equivalent, ScatterByUnknownAndByKnownIndices) {
  for (const char* reduce : {"none", "add", "mul", "max", "min"})
    for (bool known : {false, true}) {
      auto scattered = [&](bool negated) { // -x scattered, or the negated result
        Model m;
        NodeId i = m.graph.input("i", {DType::I64, {3}}), u = m.graph.weight("u", f32({3, 3}));
        NodeId at = known ? m.graph.constant({2, 0, 2}, {DType::I64, {3}}) : i;
        auto neg = [&](NodeId x, bool now) { return now ? m.add(OpKind::Neg, {x}) : x; };
        NodeId rows = m.add(OpKind::Scatter, {neg(m.w, negated), at, neg(u, negated)},
                            {Value::of_int(0), Value::of_string(reduce)});
        m.out(neg(rows, !negated));
        return m;
      };
      Equivalence same = compare(scattered(true), scattered(false));
      bool linear = llvm::StringRef(reduce) == "none" || llvm::StringRef(reduce) == "add";
      EXPECT_EQ(same.equal(), linear) << reduce << known;
      if (!linear) continue;
      EXPECT_EQ(same.method, Equivalence::Method::Field) << reduce << known;
      EXPECT_LT(same.log2_error, -100);
    }
}

TEST(Equivalent, ReductionsConvolutionsAndOrders) {
  auto of_row = [](auto make) {
    Model m;
    m.out(make(m));
    return m;
  };
  Value axes = Value::of_ints({0}), no = Value::of_bool(false);
  Equivalence least =
      compare(of_row([&](Model& m) {
                return m.add(OpKind::ReduceMin, {m.x}, {axes, no});
              }),
              of_row([&](Model& m) {
                NodeId most = m.add(OpKind::ReduceMax, {m.add(OpKind::Neg, {m.x})}, {axes, no});
                return m.add(OpKind::Neg, {most});
              }));
  EXPECT_EQ(least.method, Equivalence::Method::Field);
  EXPECT_TRUE(least.equal());
  Equivalence products = compare(of_row([&](Model& m) {
                                   NodeId doubled = m.add(OpKind::Add, {m.x, m.x});
                                   return m.add(OpKind::ReduceProd, {doubled}, {axes, no});
                                 }),
                                 of_row([&](Model& m) {
                                   NodeId product = m.add(OpKind::ReduceProd, {m.x}, {axes, no});
                                   double factor =
                                       std::exp2(static_cast<double>(m.graph.type(m.x)[0]));
                                   return m.add(OpKind::Mul, {product, m.number(factor)});
                                 }));
  EXPECT_EQ(products.method, Equivalence::Method::Field);
  EXPECT_TRUE(products.equal());
}

/// x^(2^n) and x^(2^n - 1), independent of each other until their sum or difference.
Model powers(bool sum) {
  Model m;
  NodeId x = m.x, y = m.add(OpKind::Mul, {m.x, m.x});
  for (int i = 0; i < 70; ++i) {
    x = m.add(OpKind::Mul, {x, y});
    y = m.add(OpKind::Mul, {y, y});
  }
  m.out(sum ? m.add(OpKind::Add, {x, y}) : m.add(OpKind::Sub, {x, m.add(OpKind::Neg, {y})}));
  return m;
}

TEST(Equivalent, ABoundThatSaysNothingDecidesNothing) {
  Equivalence result = compare(powers(true), powers(false)); // no bound for such a degree is useful
  EXPECT_EQ(result.verdict, Equivalence::Verdict::Undecided);
  EXPECT_NE(result.undecided.find("error bound"), std::string::npos) << result.undecided;
}

/// x^(2^n), plus a term that two models compute differently.
TEST(Equivalent, DeepPairsAreComparedPartByPart) {
  Model a, b;
  NodeId x = a.x, y = b.x;
  for (int i = 0; i < 70; ++i) {
    x = a.add(OpKind::Mul, {a.add(OpKind::Add, {x, a.y}), x});
    y = b.add(OpKind::Add, {b.add(OpKind::Mul, {y, y}), b.add(OpKind::Mul, {b.y, y})});
  }
  a.out(x);
  b.out(y);
  Equivalence result = compare(a, b);
  EXPECT_TRUE(result.equal());
  EXPECT_LT(result.log2_error, -100);
}

TEST(Equivalent, IsUndecidedIfStoppedOrTooLarge) {
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

// --- the bound -----------------------------------------------------------------------------------

TEST(Bound, CountsQueriesAndDegrees) {
  Model a;
  NodeId product = a.matmul(a.x, a.w);
  NodeId out = a.add(OpKind::Relu, {product});
  PointBound bound = bound_of(a.graph, {out});
  EXPECT_EQ(bound.queries, 12);     // 6 maxima, and their members beside 0
  EXPECT_EQ(bound.query_degree, 4); // differences of products of degree two
  double pairs = 13 * 12 / 2;
  EXPECT_NEAR(bound.log2_miss, std::log2(pairs) - 128, 0.1); // the hash's part, the larger one
  EXPECT_NEAR(std::log2(all_lanes({4, 0})), 4 * std::log2(2 * 4 * 0x1p-50), 0.1);
}

TEST(Bound, SumsOfQuotientsHaveACommonDenominator) {
  Model a;
  NodeId quotient = a.add(OpKind::Div, {a.x, a.add(OpKind::Add, {a.y, a.number(1)})});
  NodeId sum = a.add(OpKind::ReduceSum, {quotient}, {Value::of_ints({1}), Value::of_bool(false)});
  NodeId square = a.add(OpKind::Mul, {quotient, quotient});
  NodeId again = a.add(OpKind::Add, {quotient, sum_of_all(a, quotient)});
  EXPECT_EQ(bound_of(a.graph, {quotient}).output_degree, 4); // x / (y + 1), with 1 / 1 to spare
  EXPECT_EQ(bound_of(a.graph, {square}).output_degree, 12);  // possibly over two different ones
  EXPECT_EQ(bound_of(a.graph, {sum}).output_degree, 8);      // three divisors
  EXPECT_EQ(bound_of(a.graph, {again}).output_degree, 14);   // all six divisors, once
}

TEST(Bound, RootsAreVariablesAboveAndBelow) {
  Model a;
  NodeId x = a.x;
  for (int i = 0; i < 20; ++i) // as in a chain of norms
    x = a.add(OpKind::Add, {x, a.add(OpKind::Div, {x, a.add(OpKind::Sqrt, {x})})});
  EXPECT_EQ(bound_of(a.graph, {x}).output_degree, 2 * 21);
}

TEST(Bound, CountsTheBitsOfLiterals) {
  Model a;
  NodeId big = a.add(OpKind::Mul, {a.x, a.number(0x1p61)});
  EXPECT_NEAR(bound_of(a.graph, {big}).bits, 2 * 61 + 1, 1e-9);
  NodeId tenth = a.add(OpKind::Mul, {a.x, a.number(0.1)});
  EXPECT_NEAR(bound_of(a.graph, {tenth}).bits, 2 * std::log2(10) + 1, 1e-9);
}

TEST(Bound, GatherIsASumOfSlices) {
  Model a;
  NodeId i = a.graph.input("i", {DType::I64, {7}});
  NodeId rows = a.add(OpKind::Gather, {a.w, i}, {Value::of_int(0)});
  PointBound bound = bound_of(a.graph, {rows});
  EXPECT_EQ(bound.queries, 7);
  EXPECT_EQ(bound.output_degree, 4);
  EXPECT_LT(bound.log2_miss, -120);
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
