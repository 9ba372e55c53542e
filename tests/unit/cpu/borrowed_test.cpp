// Tests runs in memory that the caller lends. Lent inputs are read in place and not written. Large
// outputs are written to spare memory of the caller. Afterwards the executable uses its own memory.
#include "tests/unit/cpu/compare.h"

namespace tg::test {
namespace {

/// Large inputs and outputs through products, convolutions, maps and concats. Outputs: one that
/// other steps read, one that is an input, one that is a view, a small one.
Graph network() {
  Builder b;
  NodeId x = b.input("x", {640, 512}), image = b.input("image", {1, 32, 104, 104});
  NodeId none = b.none();
  NodeId w = b.weight("w", {512, 512}), kernel = b.weight("kernel", {32, 32, 3, 3});
  NodeId product = b.op(OpKind::Matmul, {x, w, none, none});
  NodeId sum = b.op(OpKind::Tanh, {b.op(OpKind::Add, {product, x})});
  NodeId y = b.op(OpKind::Conv2d, {image, kernel, none, none}, {pair(1, 1), pair(1, 1)});
  b.output(sum);
  b.output(b.op(OpKind::Relu, {b.op(OpKind::Mul, {sum, x})}));
  b.output(b.op(OpKind::Add, {y, image}));
  b.output(x);
  b.output(b.op(OpKind::Reshape, {sum}, {Value::of_ints({512, 640})}));
  b.output(b.op(OpKind::ReduceSum, {sum}, {Value::of_ints({0})}));
  return b.graph;
}

/// Returns a shared copy, `offset` bytes after an aligned address.
Tensor borrowed(const Tensor& tensor, int64_t offset = 0) {
  std::shared_ptr<std::byte> memory(allocate_aligned(tensor.bytes() + offset).release(),
                                    FreeAligned());
  std::memcpy(memory.get() + offset, tensor.data(), static_cast<size_t>(tensor.bytes()));
  return Tensor::borrowed(tensor.type(), {memory, memory.get() + offset});
}

std::vector<uint64_t> sums(llvm::ArrayRef<Tensor> tensors) {
  std::vector<uint64_t> sums;
  for (const Tensor& tensor : tensors) sums.push_back(summarise(tensor).checksum);
  return sums;
}

class LentToCpu : public testing::Test {
protected:
  Plan plan = plan_from_graph(network());
  std::unique_ptr<Executable> executable = compiled();
  std::vector<Tensor> first = *random_inputs(plan, 1), second = *random_inputs(plan, 2);
  std::vector<uint64_t> of_first = sums(run(first)), of_second = sums(run(second));

  std::unique_ptr<Executable> compiled() {
    CompileOptions options;
    options.threads = 2;
    return std::move(*make_cpu_backend()->compile(plan, options));
  }
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> inputs, std::vector<Tensor> spare = {}) {
    auto outputs = executable->run(inputs, std::move(spare));
    EXPECT_TRUE(outputs.ok());
    return std::move(*outputs);
  }
};

TEST_F(LentToCpu, InputsAreReadWhereTheyLie) {
  ASSERT_NE(of_first, of_second);
  std::vector<Tensor> inputs;
  for (const Tensor& input : second) inputs.push_back(borrowed(input));
  EXPECT_EQ(sums(run(first)), of_first);
  EXPECT_EQ(sums(run(inputs)), of_second);
  EXPECT_EQ(sums(inputs), sums(second)) << "they are not written";
  ASSERT_TRUE(executable->run_once());
  EXPECT_EQ(sums(*executable->outputs()), of_first) << "its own memory is unchanged";
}

TEST_F(LentToCpu, AnyAddressWillDo) {
  EXPECT_EQ(sums(run({borrowed(second[0], 4), borrowed(second[1], 12)})), of_second);
  EXPECT_EQ(sums(run({borrowed(first[0]), first[1]})), of_first);
}

TEST_F(LentToCpu, OutputsLieInSpareMemory) {
  std::vector<Tensor> spare = run(second);
  const std::byte *sum = std::as_const(spare[0]).data(), *product = std::as_const(spare[1]).data();
  std::vector<Tensor> inputs;
  for (const Tensor& input : first) inputs.push_back(borrowed(input));
  std::vector<Tensor> outputs = run(inputs, std::move(spare));
  EXPECT_EQ(sums(outputs), of_first);
  EXPECT_EQ(std::as_const(outputs[0]).data(), sum);
  EXPECT_EQ(std::as_const(outputs[1]).data(), product);
  EXPECT_EQ(sums(run(second)), of_second);
  EXPECT_EQ(sums(outputs), of_first) << "outputs are the caller's";
}

TEST_F(LentToCpu, SpareMemoryThatIsTooSmallIsNotUsed) {
  std::vector<Tensor> spare;
  spare.push_back(*Tensor::zeros(f32({640, 400})));
  EXPECT_EQ(sums(run(first, std::move(spare))), of_first);
}

} // namespace
} // namespace tg::test
