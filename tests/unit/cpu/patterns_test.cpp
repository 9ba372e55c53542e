// Tests that each pattern that the cpu backend declares as one kernel runs as one kernel.

#include "runtime/cpu/backend.h"
#include "tests/unit/cpu/compare.h"

namespace tg::test {
namespace {

/// A pattern's head operator with all of its operands, and an activation.
NodeId head(Builder& b, const KernelPattern& pattern, Act activation) {
  Value name = act(std::string(act_name(activation)).c_str());
  if (pattern.head == OpKind::Matmul) {
    NodeId x = b.input("x", {16, 64}), r = b.input("r", {16, 32});
    return b.op(OpKind::Matmul, {x, b.weight("w", {64, 32}), b.weight("b", {32}), r}, {name});
  }
  NodeId x = b.input("x", {1, 16, 14, 14}), r = b.input("r", {1, 32, 14, 14});
  return b.op(OpKind::Conv2d, {x, b.weight("w", {32, 16, 3, 3}), b.weight("b", {32}), r},
              {pair(1, 1), act("same"), pair(1, 1), name});
}

TEST(CpuPatterns, AreOneKernelEach) {
  for (const KernelPattern& pattern : make_cpu_backend()->patterns()) {
    EXPECT_TRUE(pattern.bias && pattern.residual);
    for (Act activation : pattern.acts) {
      Builder b;
      b.output(head(b, pattern, activation));
      Comparison c = compare(b.graph);
      EXPECT_LE(c.difference, 2e-5) << act_name(activation).str();
      size_t kernels = 0;
      for (const StepInfo& step : c.steps) {
        // Layouts change at the border of the network, and an input may not be overwritten.
        bool moves = step.name == "reorder" || llvm::StringRef(step.name).contains("copy");
        kernels += !moves;
      }
      EXPECT_EQ(kernels, 1u) << op_info(pattern.head).name << " " << act_name(activation).str();
    }
  }
}

} // namespace
} // namespace tg::test
