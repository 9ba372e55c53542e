// Tests that the bound of exact checks is never below the true probability.
// Random rational functions of two variables are evaluated at all values modulo small primes,
// and their zeros are counted. Also tests that the bound is useful for every network
// in the repository.
#include "compiler/api/files/model.h"
#include "compiler/ir/evaluate.h"
#include "compiler/verify/field/bound.h"
#include "compiler/verify/field/field.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

namespace tg {
namespace {

class RandomRational {
public:
  explicit RandomRational(uint64_t seed) : rng_(seed) {
    nodes_ = {graph_.input("x", f32({})), graph_.input("y", f32({})),
              graph_.constant({static_cast<double>(1 + rng_() % 4)}, f32({}))};
    for (int i = 0; i < 7; ++i) {
      OpKind op =
          std::array{OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::Mul, OpKind::Div}[rng_() % 5];
      nodes_.push_back(graph_.add(op, {}, {pick(), pick()}));
    }
  }
  const Graph& graph() const { return graph_; }
  NodeId result() const { return nodes_.back(); }

  /// Returns nullopt if there is a division by zero.
  std::optional<Field> at(uint64_t x, uint64_t y) const {
    field_point.spoilt = false;
    bool zero = false;
    Evaluation<Field> evaluation(graph_, {result()});
    evaluation.observe([&](NodeId id, llvm::ArrayRef<Field> values) {
      zero |= is_divisor(id) && values[0].is_zero();
    });
    auto values = evaluation.run([&](const Graph& graph, NodeId id) {
      return std::vector{Field::of_integer(graph.attr(id, 0).text == "x" ? x : y)};
    });
    if (zero || field_point.spoilt) return std::nullopt;
    return (*values)[0][0];
  }

private:
  NodeId pick() { return nodes_[rng_() % nodes_.size()]; }
  bool is_divisor(NodeId id) const {
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (graph_.node({i}).op == OpKind::Div && graph_.operands({i})[1] == id) return true;
    return false;
  }

  std::mt19937_64 rng_;
  Graph graph_{std::make_shared<Symbols>(), "rational"};
  std::vector<NodeId> nodes_;
};

/// Makes a point with an odd prime below 2^32 in all lanes.
FieldPoint point_of_prime(uint64_t p, uint64_t key) {
  FieldPoint point;
  for (int lane = 0; lane < kFieldLanes; ++lane) {
    uint64_t inverse = 1; // of p modulo 2^64: each step of Newton's method doubles its valid bits
    for (int i = 0; i < 6; ++i) inverse *= 2 - p * inverse;
    uint64_t one = UINT64_MAX % p + 1;
    point.prime[lane] = p;
    point.inverse[lane] = inverse;
    point.one[lane] = one % p;
    point.square[lane] = one * one % p;
  }
  point.key[0] = scramble(key), point.key[1] = scramble(~key);
  return point;
}

TEST(BoundProperty, IsNeverBelowTheTrueChance) {
  size_t counted = 0, tight = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomRational function(seed);
    // Not zero over the rationals, judged by large primes.
    std::optional<Field> somewhere = function.at(1234567, 7654321);
    if (!somewhere || somewhere->is_zero()) continue;
    double degree = bound_of(function.graph(), {function.result()}).output_degree / 2;
    for (uint64_t p : {11, 17, 31}) {
      double bound = 2 * degree / static_cast<double>(p - 1);
      if (bound >= 1) continue;
      FieldScope scope(point_of_prime(p, seed));
      size_t zeros = 0, all = 0;
      for (uint64_t x = 1; x < p; ++x)
        for (uint64_t y = 1; y < p; ++y)
          if (std::optional<Field> value = function.at(x, y)) {
            ++all;
            zeros += value->is_zero();
          }
      if (zeros == all) continue; // its coefficients are multiples of the small prime
      ++counted;
      tight += static_cast<double>(zeros) > 0.3 * bound * static_cast<double>(all);
      ASSERT_LE(static_cast<double>(zeros), bound * static_cast<double>((p - 1) * (p - 1)))
          << dump(function.graph());
    }
  }
  EXPECT_GT(counted, 200u);
  EXPECT_GT(tight, 5u); // otherwise the bound would be useless
}

// A family of few primes: compares the number of them that divide a difference of literals
// with the bits that the bound counts.
TEST(BoundProperty, CountsTheBitsOfLiterals) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 200; ++round) {
    Graph graph(std::make_shared<Symbols>(), "literals");
    NodeId value = graph.constant({static_cast<double>(rng() % 1000 + 1)}, f32({}));
    for (int i = 0; i < 4; ++i) {
      double literal = static_cast<double>(rng() % 1'000'000) / (rng() % 2 ? 1 : 100);
      NodeId other = graph.constant({literal}, f32({}));
      OpKind op = std::array{OpKind::Add, OpKind::Sub, OpKind::Mul}[rng() % 3];
      value = graph.add(op, {}, {value, other});
    }
    double bits = bound_of(graph, {value}).bits;
    double log2_product = 0; // of the primes that divide it: at most its magnitude
    for (uint64_t p = 101; p < 3000; p += 2) {
      if (!is_prime(p)) continue;
      FieldScope scope(point_of_prime(p, 1));
      auto values = Evaluation<Field>(graph, {value}).run({});
      if ((*values)[0][0].is_zero()) log2_product += std::log2(static_cast<double>(p));
    }
    bool zero = log2_product > 400;
    EXPECT_TRUE(zero || log2_product <= bits) << dump(graph);
  }
}

TEST(BoundProperty, SaysSomethingOfEveryNetwork) {
  size_t networks = 0;
  for (const char* folder : {"examples", "examples/paper", "tests/models"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(TG_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".tg") continue;
      SourceManager sources;
      DiagnosticSink sink;
      std::optional<Graph> graph = load_graph(sources, entry.path().string(), {}, sink);
      if (!graph) continue; // a file of several models
      llvm::SmallVector<NodeId, 4> outputs;
      for (const GraphOutput& output : graph->outputs()) outputs.push_back(output.node);
      ++networks;
      // Thirty-two layers of products of three, without a function between them,
      // have degree 3^32 and coefficients with as many bits, which is more than there are primes.
      if (entry.path().stem() == "vit_huge") continue;
      PointBound bound = bound_of(*graph, outputs);
      EXPECT_LE(bound.log2_miss * static_cast<double>(points_for(bound, -40, 1)), -40)
          << entry.path();
      EXPECT_LE(points_for(bound, -40, 1), 2u) << entry.path();
    }
  EXPECT_GE(networks, 25u);
}

} // namespace
} // namespace tg
