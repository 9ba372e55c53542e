// Tests the encoding of graphs and states as input of a network.
#include "bench/paper/learned/encoding.h"

#include "tests/unit/search/rewrite_game.h"

#include <map>
#include <set>

namespace tg::paper {
namespace {

using test::RewriteGame;

TEST(Encoding, CoversTheCandidatesAndTheGraph) {
  RewriteGame game;
  EnvironmentOptions options{.encoder = make_state_encoding};
  options.explore.numerics = Numerics::Lossy; // a game's rules may be false
  RewriteEnvironment environment(
      game.source, game.rules,
      [](const Graph& graph) -> Result<double> { return RewriteGame::price_of(graph); }, options);
  ASSERT_TRUE(environment.reset());
  const EncodedState& state = encoded(*environment.state());
  ASSERT_EQ(state.candidates, 5u);
  auto operator_of = [&](uint32_t candidate) {
    for (const EncodedState::Part& part : state.parts)
      if (part.candidate == candidate && part.times > 0) return state.nodes[part.node].op;
    return OpKind::None;
  };
  EXPECT_EQ(operator_of(0), OpKind::Sigmoid);
  EXPECT_EQ(operator_of(1), OpKind::Gelu);
  EXPECT_EQ(operator_of(4), OpKind::Relu) << "the unchanged graph";
}

// --- nodes that candidates share -----------------------------------------------------------------

/// Returns the count of each node in a graph: its own parts and those of the present graph.
std::map<uint64_t, float> nodes_of(const EncodedState& state, size_t candidate) {
  std::map<uint64_t, float> counts;
  for (const EncodedState::Part& part : state.parts)
    if (part.candidate == candidate || part.candidate + 1 == state.candidates)
      counts[state.nodes[part.node].key] += part.times;
  std::erase_if(counts, [](const auto& count) { return count.second == 0; });
  return counts;
}

TEST(Sharing, StoresEachDistinctNodeOnce) {
  EncodedGraph two = encode(test::layers(2)), one = encode(test::layers(1));
  EncodedState state(std::vector<EncodedGraph>{one, two, two});
  ASSERT_EQ(state.candidates, 3u);
  EXPECT_LE(state.nodes.size(), one.nodes.size() + two.nodes.size());
  std::set<uint64_t> keys;
  for (const EncodedState::Node& node : state.nodes) EXPECT_TRUE(keys.insert(node.key).second);
  EXPECT_TRUE(llvm::none_of(state.parts, [](const auto& part) { return part.candidate == 1; }))
      << "it is the unchanged graph";
  for (size_t c = 0; c < 3; ++c) {
    EncodedState alone(std::vector<EncodedGraph>{c == 0 ? one : two});
    EXPECT_EQ(nodes_of(state, c), nodes_of(alone, 0)) << c;
  }
}

/// A node's key depends on its senders, as far back as attention reaches and no farther.
TEST(Sharing, DistinguishesNodesByTheirLastFiveLayers) {
  auto chain = [](OpKind first, size_t length) {
    EncodedGraph graph;
    for (uint32_t n = 0; n < length; ++n) {
      graph.nodes.push_back({n == 0 ? first : OpKind::Relu, {}, {}});
      if (n > 0) graph.edges.emplace_back(n - 1, n);
    }
    return graph;
  };
  EncodedState state(std::vector<EncodedGraph>{chain(OpKind::Exp, 8), chain(OpKind::Tanh, 8)});
  EXPECT_EQ(state.nodes.size(), 2u * 6 + 1) << "six of each differ, all behind are alike";
}

/// A receiver counts two equal senders as two.
TEST(Sharing, CountsSendersThatLookAlike) {
  EncodedGraph graph;
  for (OpKind op : {OpKind::Relu, OpKind::Relu, OpKind::Add}) graph.nodes.push_back({op, {}, {}});
  graph.edges = {{0, 2}, {1, 2}};
  EncodedState state(std::vector<EncodedGraph>{graph});
  ASSERT_EQ(state.nodes.size(), 2u);
  ASSERT_EQ(state.edges.size(), 1u);
  EXPECT_EQ(state.edges[0].times, 2);
  graph.edges = {{0, 2}, {0, 2}}; // one sender of two operands counts once
  EncodedState square(std::vector<EncodedGraph>{graph});
  ASSERT_EQ(square.edges.size(), 1u);
  EXPECT_EQ(square.edges[0].times, 1);
}

// --- padding -------------------------------------------------------------------------------------

TEST(Buckets, AreLargeEnoughAndFew) {
  std::set<size_t> sizes;
  for (size_t count = 1; count <= 500; ++count) {
    EXPECT_GE(bucket_of(count), count);
    EXPECT_LE(bucket_of(count), std::max<size_t>(3, count * 3 / 2)) << count;
    sizes.insert(bucket_of(count));
  }
  EXPECT_LE(sizes.size(), 16u);
}

} // namespace
} // namespace tg::paper
