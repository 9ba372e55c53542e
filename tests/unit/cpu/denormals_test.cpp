// Tests which steps of a run are reported to compute on denormal numbers.
#include "tests/unit/cpu/compare.h"

namespace tg::test {
namespace {

/// Returns the names of these steps. Runs twice with equal results, since the flags are cleared.
std::vector<std::string> on_denormals(const Graph& graph, int threads = 2,
                                      const WeightSource& weights = {}) {
  Plan plan = plan_from_graph(graph);
  CompileOptions options;
  options.threads = threads;
  options.share_short_work = true;
  options.weights = weights;
  auto executable = make_cpu_backend()->compile(plan, options);
  EXPECT_TRUE(executable.ok());
  EXPECT_TRUE((*executable)->bind_inputs(*random_inputs(plan, 7)).ok());
  auto first = (*executable)->run_watching_denormals();
  auto second = (*executable)->run_watching_denormals();
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  std::vector<std::string> names;
  for (size_t step : *first) names.push_back((*executable)->steps()[step].name);
  return names;
}

using Names = std::vector<std::string>;

#if defined(__SSE__)

TEST(Denormals, AreReportedForAConstant) {
  for (int threads : {1, 2, 3}) { // on all threads: a network of any size
    for (Shape shape : {Shape{8, 8}, Shape{512, 1024}}) {
      Builder b;
      NodeId tiny = b.graph.constant({1e-40}, f32(Shape{}));
      b.output(b.op(OpKind::Mul, {b.op(OpKind::Tanh, {b.input("x", shape)}), tiny}));
      EXPECT_EQ(on_denormals(b.graph, threads), Names{"mul"}) << threads << " threads";
    }
  }
}

TEST(Denormals, AreReportedForAWeightThatOneDnnReads) {
  Builder b;
  NodeId none = b.none(), x = b.input("x", {64, 256});
  b.output(b.op(OpKind::Relu, {b.op(OpKind::Matmul, {x, b.weight("w", {256, 256}), none, none})}));
  EXPECT_EQ(on_denormals(b.graph), Names{});
  auto tiny = [](const PlanValue& value) {
    return random_weight(value.name, value.type, "normal(1e-40)", 1);
  };
  EXPECT_FALSE(on_denormals(b.graph, 2, tiny).empty());
}

TEST(Denormals, AreReportedForDecayingActivations) {
  Builder b;
  NodeId x = b.input("x", {32, 32}), small = b.graph.constant({1e-20}, f32(Shape{}));
  NodeId y = b.op(OpKind::Mul, {b.op(OpKind::Mul, {x, small}), small});
  b.output(b.op(OpKind::Tanh, {y}));
  EXPECT_EQ(on_denormals(b.graph), Names{"tanh"});
}

#endif

/// Attention masks are not denormal, nor are zeros, infinities and NaN.
TEST(Denormals, AreNotReportedForOtherNumbers) {
  Builder b;
  NodeId x = b.input("x", {4, 64, 64}), none = b.none();
  NodeId mask = b.graph.constant({-1e9}, f32(Shape{}));
  NodeId masked =
      b.op(OpKind::Select, {b.op(OpKind::Less, {x, b.graph.constant({0}, f32(Shape{}))}), x, mask});
  NodeId scores = b.op(OpKind::Softmax, {masked}, {Value::of_int(2)});
  b.output(b.op(OpKind::Matmul, {scores, x, none, none}));
  b.output(b.op(OpKind::Log, {b.op(OpKind::Sub, {x, x})}));
  b.output(b.op(OpKind::Sqrt, {x}));
  EXPECT_EQ(on_denormals(b.graph), Names{});
}

} // namespace
} // namespace tg::test
