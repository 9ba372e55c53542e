// Tests that executables with the same weights hold them once, packed or not, and compute the same
// results as alone.
#include "runtime/content_name.h"
#include "tests/unit/cpu/compare.h"

#include <llvm/Support/xxhash.h>

#include <map>

namespace tg::test {
namespace {

/// A convolution and a product, which may pack their weights; a table for a gather;
/// and a weight that is processed at load.
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
  EXPECT_EQ(one.run(), first) << "owners keep a shared buffer";
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

/// A product of `rows` rows by two weights. The weights' paths and order differ between programs.
Graph product(int64_t rows, llvm::StringRef first, llvm::StringRef second) {
  Builder b;
  NodeId x = b.input("x", {rows, 512});
  for (llvm::StringRef name : {first, second})
    x = b.op(OpKind::Matmul, {x, b.weight(name, {512, 512}), b.none(), b.none()});
  b.output(x);
  return b.graph;
}

/// Programs that share weights by their elements: weights whose paths have the same number
/// are equal.
class SharedWeightsByContents : public testing::Test {
protected:
  std::shared_ptr<SharedWeights> shared =
      std::make_shared<SharedWeights>(SharedWeights::Naming::Contents);
  std::map<std::string, int> number = {{"a", 1}, {"b", 2}, {"also a", 1}, {"also b", 2}, {"c", 3}};
  std::vector<std::unique_ptr<Executable>> programs;

  /// Returns the outputs of a new program, which stays loaded.
  std::vector<float> outputs_of(const Graph& graph, std::shared_ptr<SharedWeights> with) {
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
  }
  /// Returns the bytes that a program adds to the shared weights. Expects the same results
  /// as alone.
  int64_t added_by(const Graph& graph) {
    std::vector<float> alone = outputs_of(graph, nullptr);
    int64_t before = shared->bytes();
    EXPECT_EQ(outputs_of(graph, shared), alone);
    return shared->bytes() - before;
  }
};

TEST_F(SharedWeightsByContents, ArePackedOnceForAllPrograms) {
  for (auto [first, second] : {std::pair("a", "b"), std::pair("also b", "also a")})
    for (int64_t rows : {1, 16, 128}) { // one token, and prompts
      (void)added_by(product(rows, first, second));
      EXPECT_EQ(shared->bytes(), 2 * 512 * 512 * 4) << rows << " rows";
    }
  EXPECT_EQ(added_by(product(1, "a", "c")), 512 * 512 * 4) << "other elements are others";
  programs.clear();
  EXPECT_EQ(shared->bytes(), 0);
}

/// A product of `rows` rows by a matrix that is computed from weights at load.
template <class Make> Graph product_by(int64_t rows, Make make) {
  Builder b;
  NodeId x = b.input("x", {rows, 512}), w = make(b);
  b.output(b.op(OpKind::Matmul, {x, w, b.none(), b.none()}));
  return b.graph;
}

/// Two weights side by side, as rewrites concatenate them.
Graph joined(int64_t rows, llvm::StringRef first, llvm::StringRef second, int64_t axis = 1) {
  return product_by(rows, [&](Builder& b) {
    int64_t size = axis == 1 ? 512 : 256;
    return b.op(OpKind::Concat, {b.weight(first, {size, 512}), b.weight(second, {size, 512})},
                {Value::of_int(axis)});
  });
}

TEST_F(SharedWeightsByContents, AreJoinedAndPackedOnce) {
  constexpr int64_t kBytes = 2 * 512 * 512 * 4;
  EXPECT_EQ(added_by(joined(16, "a", "b")), kBytes);
  EXPECT_EQ(added_by(joined(128, "also a", "also b")), 0);
  EXPECT_EQ(added_by(joined(1, "a", "b")), 0) << "one token";
  EXPECT_EQ(added_by(joined(16, "b", "a")), kBytes) << "another order";
  EXPECT_EQ(added_by(joined(16, "a", "c")), kBytes) << "other elements";
  EXPECT_EQ(added_by(joined(16, "a", "b", 0)), kBytes / 2) << "another axis";
}

/// A function of `a`, concatenated with `b`.
Graph computed(int64_t rows, llvm::ArrayRef<OpKind> ops, double factor) {
  return product_by(rows, [&](Builder& b) {
    NodeId a =
        b.op(OpKind::Mul, {b.weight("a", {512, 512}), b.graph.constant({factor}, f32(Shape{}))});
    for (OpKind op : ops) a = b.op(op, {a});
    return b.op(OpKind::Concat, {a, b.weight("b", {512, 512})}, {Value::of_int(1)});
  });
}

TEST_F(SharedWeightsByContents, DifferByAllThatIsComputedAtLoad) {
  std::vector<std::vector<OpKind>> all = {
      {}, {OpKind::Relu}, {OpKind::Exp}, {OpKind::Relu, OpKind::Exp}, {OpKind::Exp, OpKind::Relu}};
  for (const auto& ops : all)
    for (double factor : {2.0, 3.0})
      for (int64_t rows : {16, 64}) (void)added_by(computed(rows, ops, factor));
}

TEST_F(SharedWeightsByContents, AreNotConfusedWithValuesComputedFromThem) {
  for (int64_t rows : {16, 64})
    EXPECT_GE(added_by(product_by(rows,
                                  [](Builder& b) {
                                    NodeId a = b.weight("a", {512, 512});
                                    return b.op(OpKind::Matmul, {a, a, b.none(), b.none()});
                                  })),
              0);
}

// --- names ---------------------------------------------------------------------------------------

std::string bytes_of(llvm::ArrayRef<uint64_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t)};
}

TEST(ContentName, DiffersForEveryBitAndLength) {
  for (size_t size : {1, 8, 1023, 1024, 1025, 5000}) {
    std::string bytes(size, 'x');
    std::string name = content_name(bytes);
    EXPECT_EQ(content_name(std::string(size, 'x')), name);
    EXPECT_NE(content_name(std::string(size + 1, 'x')), name);
    EXPECT_NE(content_name(bytes + std::string(1, '\0')), name) << "not filled up with zeros";
    for (size_t bit = 0; bit < 8 * size; bit += 37) {
      std::string other = bytes;
      other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
      EXPECT_NE(content_name(other), name) << size << " bytes, bit " << bit;
    }
  }
}

TEST(ContentName, DiffersForBlocksInAnotherOrder) {
  std::string a(1024, 'a'), b(1024, 'b');
  EXPECT_NE(content_name(a + b), content_name(b + a));
  EXPECT_NE(content_name(a + a + b), content_name(a + b + b));
}

// xxHash64 adds word * P2 to a lane, rotates it and multiplies it by P1.
// The second word of a lane can therefore cancel a change of the first.
TEST(ContentName, DiffersForContentsMadeToCollideUnderAFixedHash) {
  constexpr uint64_t kP1 = 0x9E3779B185EBCA87, kP2 = 0xC2B2AE3D27D4EB4F;
  uint64_t inverse = kP2; // the inverse of P2 modulo 2^64, by Newton's method
  for (int i = 0; i < 6; ++i) inverse *= 2 - kP2 * inverse;
  auto round = [&](uint64_t lane, uint64_t word) {
    lane += word * kP2;
    return (lane << 31 | lane >> 33) * kP1;
  };
  std::vector<uint64_t> one(32), other; // a second half of zeros: its hash is the same
  one[0] = 0x3f8000003f800000, one[4] = 0x4000000040000000; // lane 0 of two stripes
  other = one;
  other[0] += 1;
  uint64_t begin = kP1 + kP2; // of lane 0, with a seed of 0
  other[4] = one[4] + (round(begin, one[0]) - round(begin, other[0])) * inverse;
  ASSERT_NE(one, other);
  ASSERT_EQ(llvm::xxHash64(bytes_of(one)), llvm::xxHash64(bytes_of(other)));
  EXPECT_NE(content_name(bytes_of(one)), content_name(bytes_of(other)));
}

} // namespace
} // namespace tg::test
