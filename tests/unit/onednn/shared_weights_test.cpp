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

/// A product of so many rows by two weights. Their paths and order differ from program to program.
Graph product(int64_t rows, llvm::StringRef first, llvm::StringRef second) {
  Builder b;
  NodeId x = b.input("x", {rows, 512});
  for (llvm::StringRef name : {first, second})
    x = b.op(OpKind::Matmul, {x, b.weight(name, {512, 512}), b.none(), b.none()});
  b.output(x);
  return b.graph;
}

TEST(SharedWeightsByContents, ArePackedOnceForAllPrograms) {
  auto shared = std::make_shared<SharedWeights>(SharedWeights::Naming::Contents);
  std::map<std::string, int> number = {{"a", 1}, {"b", 2}, {"also a", 1}, {"also b", 2}, {"c", 3}};
  std::vector<std::unique_ptr<Executable>> programs;
  auto outputs_of_new = [&](const Graph& graph, std::shared_ptr<SharedWeights> with) {
    Plan plan = plan_from_graph(graph);
    CompileOptions options;
    options.shared = std::move(with);
    options.weights = [&](const PlanValue& value) {
      return random_weight("w", value.type, "", static_cast<uint64_t>(number[value.name]));
    };
    auto executable = make_cpu_backend()->compile(plan, options);
    EXPECT_TRUE(executable.ok());
    auto inputs = random_inputs(plan, 7);
    auto outputs = (*executable)->run(*inputs);
    EXPECT_TRUE(outputs.ok());
    programs.push_back(std::move(*executable));
    return std::vector<float>((*outputs)[0].floats());
  };
  for (auto [first, second] : {std::pair("a", "b"), std::pair("also b", "also a")})
    for (int64_t rows : {1, 16, 128}) { // one token, and prompts
      Graph graph = product(rows, first, second);
      EXPECT_EQ(outputs_of_new(graph, shared), outputs_of_new(graph, nullptr));
      EXPECT_EQ(shared->bytes(), 2 * 512 * 512 * 4) << rows << " rows";
    }
  (void)outputs_of_new(product(1, "a", "c"), shared);
  EXPECT_EQ(shared->bytes(), 3 * 512 * 512 * 4) << "other elements are others";
  programs.clear();
  EXPECT_EQ(shared->bytes(), 0);
}

} // namespace
} // namespace tg::test
