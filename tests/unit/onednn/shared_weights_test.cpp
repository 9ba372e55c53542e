// Executables on the same weights hold them once,
// packed or as they came, and compute what they compute alone.
#include "tests/unit/onednn/compare.h"

#include <map>

namespace tg::test {
namespace {

/// A convolution and a product, which may pack their weights; a table that rows are picked from;
/// and a weight that is computed on at load, besides.
Graph network(bool longer) {
  Builder b;
  NodeId image = b.input("image", {1, 256, 10, 10}), x = b.input("x", {4, 512});
  NodeId none = b.none();
  NodeId kernel = b.weight("kernel", {256, 256, 3, 3}), w = b.weight("w", {512, 768});
  NodeId y = b.op(OpKind::Conv2d, {image, kernel, none, none}, {pair(1, 1), pair(1, 1)});
  NodeId z = b.op(OpKind::Matmul, {x, w, none, none});
  NodeId folded = b.op(OpKind::Exp, {b.op(OpKind::Relu, {b.weight("folded", {512, 640})})});
  NodeId u = b.op(OpKind::Matmul, {x, folded, none, none});
  if (longer) {
    NodeId turned = b.op(OpKind::Transpose, {w}, {Value::of_ints({1, 0})});
    z = b.op(OpKind::Matmul, {b.op(OpKind::Matmul, {z, turned, none, none}), w, none, none});
    u = b.op(OpKind::Tanh, {b.op(OpKind::Add, {u, b.op(OpKind::Relu, {u})})});
  }
  for (NodeId out : {y, z, u}) b.output(out);
  return b.graph;
}

struct Loaded {
  Plan plan;
  std::unique_ptr<Executable> executable;

  std::vector<uint64_t> run() {
    std::vector<uint64_t> sums;
    auto outputs = executable->run(*random_inputs(plan, 7));
    EXPECT_TRUE(outputs.ok());
    for (const Tensor& output : *outputs) sums.push_back(summarise(output).checksum);
    return sums;
  }
};

class SharedWeightsOfCpu : public testing::Test {
protected:
  std::shared_ptr<SharedWeights> shared = std::make_shared<SharedWeights>();
  std::map<std::string, int> made;

  Loaded load(bool longer, std::shared_ptr<SharedWeights> with) {
    Loaded loaded{plan_from_graph(network(longer)), nullptr};
    CompileOptions options;
    options.threads = 2;
    options.shared = std::move(with);
    options.weights = [this](const PlanValue& value) {
      ++made[value.name];
      return random_weight(value.name, value.type, value.init, 1);
    };
    auto executable = make_cpu_backend()->compile(loaded.plan, options);
    EXPECT_TRUE(executable.ok());
    loaded.executable = std::move(*executable);
    return loaded;
  }
};

TEST_F(SharedWeightsOfCpu, ChangeNoResult) {
  std::vector<uint64_t> first = load(false, nullptr).run(), second = load(true, nullptr).run();
  Loaded one = load(false, shared);
  EXPECT_EQ(one.run(), first);
  {
    Loaded two = load(true, shared);
    EXPECT_EQ(two.run(), second);
    EXPECT_EQ(one.run(), first) << "nothing is written over";
    EXPECT_EQ(two.run(), second);
  }
  EXPECT_EQ(one.run(), first) << "what was shared stays with those who have it";
}

TEST_F(SharedWeightsOfCpu, AreMadeOnce) {
  Loaded one = load(false, shared), same = load(false, shared);
  EXPECT_EQ(made["kernel"], 1);
  EXPECT_EQ(made["w"], 1);
}

TEST_F(SharedWeightsOfCpu, AreGoneWithTheLastWhoHasThem) {
  (void)load(false, shared);
  (void)load(false, shared);
  EXPECT_EQ(made["kernel"], 2);
}

} // namespace
} // namespace tg::test
