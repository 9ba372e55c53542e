#include "compiler/verify/sweep.h"

#include "compiler/verify/equivalent.h"
#include "lang/core/support/random.h"
#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

constexpr double kUnlimited = 1e18;

NodeId product(Graph& graph, NodeId x, NodeId w) {
  return test::add_node(graph, OpKind::Matmul, {x, w, graph.none(), graph.none()},
                        {Value::of_enum("none")});
}

NodeId reshape(Graph& graph, NodeId x, Shape shape) {
  return test::add_node(graph, OpKind::Reshape, {x}, {Value::of_ints(shape)});
}

Graph empty(const char* name) { return Graph(std::make_shared<Symbols>(), name); }

Joined joined(const Graph& a, const Graph& b) {
  Result<Joined> both = join(a, b);
  EXPECT_TRUE(both) << (both ? "" : both.error().message);
  return std::move(*both);
}

/// Proves parts by a check of the whole part, and records them.
struct Prover {
  std::vector<Joined> parts;
  bool operator()(const Joined& part) {
    parts.push_back(part);
    return check_equivalence(part, EquivalenceOptions()).equal();
  }
};

bool merged(const Joined& both, Prover& prover, double operations = kUnlimited) {
  return merge_outputs(both, operations, [&](const Joined& part) { return prover(part); });
}

bool occurs(const Graph& graph, OpKind op) {
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph.node({i}).op == op) return true;
  return false;
}

/// Blocks relu((x + y) w), or relu(x w + y w) in those that `distributes` selects. After each,
/// rows are gathered by indices that are data.
Graph blocks(size_t count, const std::function<bool(size_t)>& distributes) {
  Graph graph = empty("m");
  NodeId x = graph.input("x", f32({4, 4})), y = graph.input("y", f32({4, 4}));
  NodeId indices = graph.input("i", {DType::I32, {4}});
  for (size_t i = 0; i < count; ++i) {
    NodeId w = graph.weight("w" + std::to_string(i), f32({4, 4}));
    NodeId sum = distributes(i) ? test::add_node(graph, OpKind::Add,
                                                 {product(graph, x, w), product(graph, y, w)})
                                : product(graph, test::add_node(graph, OpKind::Add, {x, y}), w);
    NodeId activated = test::add_node(graph, OpKind::Relu, {sum});
    x = test::add_node(graph, OpKind::Gather, {activated, indices}, {Value::of_int(0)});
  }
  graph.add_output("out", x);
  return graph;
}

TEST(Sweep, ComparesOnlyWhereStructuresDiffer) {
  Graph a = blocks(12, [](size_t) { return false; });
  Graph b = blocks(12, [](size_t i) { return i % 5 == 2; }); // two of them
  Prover prover;
  EXPECT_TRUE(merged(joined(a, b), prover));
  EXPECT_EQ(prover.parts.size(), 2u);
  for (const Joined& part : prover.parts) {
    EXPECT_FALSE(occurs(part.graph, OpKind::Gather));
    EXPECT_FALSE(occurs(part.graph, OpKind::Relu));
  }
}

TEST(Sweep, ADifferenceIsNotMerged) {
  Graph a = blocks(6, [](size_t) { return false; }), b = empty("m");
  NodeId x = b.input("x", f32({4, 4}));
  b.input("y", f32({4, 4})), b.input("i", {DType::I32, {4}});
  for (size_t i = 0; i < 6; ++i) b.weight("w" + std::to_string(i), f32({4, 4}));
  b.add_output("out", x);
  Prover prover;
  EXPECT_FALSE(merged(joined(a, b), prover));
}

TEST(Sweep, EndsBeforeMoreOperationsThanGiven) {
  Graph a = blocks(12, [](size_t) { return false; });
  Graph b = blocks(12, [](size_t i) { return i == 2; });
  Prover prover;
  EXPECT_FALSE(merged(joined(a, b), prover, 10));
  EXPECT_TRUE(prover.parts.empty());
}

/// The same rows as a sequence and as matrices, with a commuted sum: no arithmetic.
TEST(Sweep, RowsOfSequencesAndOfMatricesAreTheSame) {
  auto model = [](bool matrices) {
    Graph graph = empty("m");
    NodeId x = graph.input("x", f32({2, 3, 4}));
    NodeId w = graph.weight("w", f32({4, 4})), b = graph.weight("b", f32({4}));
    NodeId rows = matrices ? reshape(graph, x, {6, 4}) : x;
    NodeId y = product(graph, rows, w);
    y = test::add_node(graph, OpKind::Add, {matrices ? b : y, matrices ? y : b});
    y = test::add_node(graph, OpKind::Add, {y, rows});
    y = test::add_node(graph, OpKind::LayerNorm, {y, b, b}, {Value::of_float(1e-5)});
    y = test::add_node(graph, OpKind::Relu, {y});
    graph.add_output("out", matrices ? reshape(graph, y, {2, 3, 4}) : y);
    return graph;
  };
  Prover prover;
  EXPECT_TRUE(merged(joined(model(false), model(true)), prover));
  EXPECT_TRUE(prover.parts.empty());
}

/// The names of unknowns are not those of inputs, which a file may choose.
TEST(Sweep, UnknownsAreNoInputs) {
  for (const char* name : {"shared", "shared 5", "shared'", "shared' 7"}) {
    Graph graph = empty("m");
    graph.input(name, f32({2}));
    std::string prefix = unused_prefix(graph, "shared");
    EXPECT_FALSE(llvm::StringRef(name).startswith(prefix)) << name;
  }
}

/// A graph of random operators on [3, 3], of which one is another operator in the changed copy.
Graph random_graph(uint64_t seed, bool changed) {
  RandomStream stream(seed, "sweep");
  uint64_t draws = 0;
  auto draw = [&](size_t below) { return stream.bits(draws++) % below; };
  Graph graph = empty("m");
  std::vector<NodeId> nodes = {graph.input("x", f32({3, 3})), graph.input("y", f32({3, 3}))};
  NodeId w = graph.weight("w", f32({3, 3})), indices = graph.input("i", {DType::I32, {3}});
  const size_t count = 8, at = draw(count);
  for (size_t i = 0; i < count; ++i) {
    size_t kind = draw(8), other = draw(8);
    NodeId x = nodes[draw(nodes.size())], y = nodes[draw(nodes.size())];
    if (changed && i == at) kind = other;
    switch (kind) {
    case 0: x = test::add_node(graph, OpKind::Add, {x, y}); break;
    case 1: x = test::add_node(graph, OpKind::Mul, {x, y}); break;
    case 2: x = product(graph, x, w); break;
    case 3: x = product(graph, test::add_node(graph, OpKind::Add, {x, y}), w); break;
    case 4:
      x = test::add_node(graph, OpKind::Add, {product(graph, x, w), product(graph, y, w)});
      break;
    case 5: x = test::add_node(graph, OpKind::Relu, {x}); break;
    case 6: x = test::add_node(graph, OpKind::Gather, {x, indices}, {Value::of_int(0)}); break;
    default: x = test::add_node(graph, OpKind::Add, {y, x}); break;
    }
    nodes.push_back(x);
  }
  graph.add_output("out", nodes.back());
  return graph;
}

/// Kinds 3 and 4, and 0 and 7, are equal; other changes usually are not.
TEST(Sweep, AgreesWithTheCheckOfTheWhole) {
  size_t equal = 0, merges = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Joined both = joined(random_graph(seed, false), random_graph(seed, true));
    Prover prover;
    bool one = merged(both, prover), whole = check_equivalence(both, EquivalenceOptions()).equal();
    EXPECT_TRUE(whole || !one) << "seed " << seed << "\n" << dump(both.graph);
    equal += whole, merges += one;
  }
  EXPECT_GT(merges, 0u);
  EXPECT_GE(10 * merges, 9 * equal) << merges << " of " << equal;
}

} // namespace
} // namespace tg
