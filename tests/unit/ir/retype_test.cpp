// Tests that literals stay finite in a graph of a narrower type. Runs test the other parts
// of retype() (property/backends/halves_test.cpp).
#include "compiler/ir/retype.h"

#include "tests/unit/ir/add_node.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tg::test {
namespace {

class Retyped : public testing::Test {
protected:
  Graph wide{std::make_shared<Symbols>(), "m"};
  NodeId x = wide.input("x", f32({4}));

  NodeId add(OpKind op, llvm::ArrayRef<NodeId> operands, llvm::ArrayRef<Value> attrs = {}) {
    return test::add_node(wide, op, operands, attrs);
  }

  /// Returns the dump of the graph of x * factor after retype().
  std::string scaled_by(NodeId factor, DType dtype) {
    wide.add_output("y", add(OpKind::Mul, {x, factor}));
    Result<Graph> narrow = retype(wide, dtype);
    EXPECT_TRUE(narrow.ok());
    EXPECT_EQ(verify(*narrow), "");
    return dump(*narrow);
  }
};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_F(Retyped, LiteralsBeyondTheTypeBecomeItsLargestNumber) {
  std::string text = scaled_by(wide.constant({1e9, -1e9, 1, -2}, f32({4})), DType::F16);
  EXPECT_TRUE(has(text, "[65504.0, -65504.0, 1.0, -2.0]")) << text;
}

TEST_F(Retyped, TheyStayWhereTheTypeHoldsThem) {
  std::string text = scaled_by(wide.constant({1e9}, f32({})), DType::BF16);
  EXPECT_TRUE(has(text, "1e+09")) << text;
}

TEST_F(Retyped, InfiniteLiteralsStayInfinite) {
  std::string text =
      scaled_by(wide.constant({-std::numeric_limits<double>::infinity()}, f32({})), DType::F16);
  EXPECT_TRUE(has(text, "-inf")) << text;
}

TEST_F(Retyped, ClipsConstantsThatAreComputedFromLiterals) {
  NodeId large = wide.constant({5e4}, f32({}));
  std::string text = scaled_by(add(OpKind::Add, {large, large}), DType::F16);
  EXPECT_TRUE(has(text, "clip")) << text;
}

TEST_F(Retyped, WeightsAreRoundedAsTheyAre) {
  NodeId large = wide.constant({5e4}, f32({}));
  NodeId w = wide.weight("w", f32({4}));
  std::string text = scaled_by(add(OpKind::Mul, {large, w}), DType::F16);
  EXPECT_FALSE(has(text, "clip")) << text;
}

TEST_F(Retyped, PaddingIsCutOff) {
  wide.add_output("y", add(OpKind::Pad, {x},
                           {Value::of_ints({1}), Value::of_ints({0}), Value::of_float(-1e9)}));
  std::string text = dump(*retype(wide, DType::F16));
  EXPECT_TRUE(has(text, "-65504.0")) << text;
}

} // namespace
} // namespace tg::test
