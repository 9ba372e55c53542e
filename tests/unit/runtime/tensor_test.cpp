#include "runtime/random.h"
#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Tensor, AVectorThatGrowsMovesTensors) {
  std::vector<Tensor> tensors;
  tensors.push_back(*Tensor::zeros(f32({64})));
  const std::byte* data = tensors.front().data();
  tensors.reserve(tensors.capacity() + 1);
  EXPECT_EQ(tensors.front().data(), data);
}

TEST(Tensor, IsAlignedAndCopiesDeeply) {
  Tensor a = Tensor::of_floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % kAlignment, 0u);
  Tensor b = a;
  b.floats()[0] = 9;
  EXPECT_EQ(a.floats()[0], 1);
  EXPECT_EQ(summarise(a).mean, 2.5);
  EXPECT_NEAR(summarise(a).std, std::sqrt(1.25), 1e-12);
  EXPECT_NE(summarise(a).checksum, summarise(b).checksum);
}

// As for the tensors of a mapped file: elements are copied only for a write or for alignment.
TEST(Tensor, LentElementsStayWhereTheyAre) {
  Tensor memory = Tensor::of_floats({4}, {1, 2, 3, 4});
  auto owner = std::make_shared<const Tensor>(memory);
  auto at = [&](int64_t place) {
    return std::shared_ptr<const std::byte>(owner, owner->data() + place);
  };
  Tensor whole = Tensor::borrowed(f32({4}), at(0)), copy = whole,
         rest = Tensor::borrowed(f32({3}), at(4));
  EXPECT_EQ(std::as_const(copy).data(), owner->data());
  EXPECT_EQ(std::as_const(*Tensor::aligned(whole)).data(), owner->data());
  const Tensor aligned = *Tensor::aligned(rest);
  EXPECT_NE(aligned.data(), owner->data() + 4);
  EXPECT_EQ(aligned.floats()[2], 4);
  copy.floats()[0] = 9;
  EXPECT_EQ(whole.doubles()[0], 1);
  EXPECT_EQ(copy.doubles(), (std::vector<double>{9, 2, 3, 4}));
  owner.reset(); // the remaining tensors keep the memory
  EXPECT_EQ(max_rel_diff(whole, memory), 0);
}

TEST(Tensor, MaxRelDiffFailsOnNonfiniteValues) {
  auto vector = [](float a, float b) { return Tensor::of_floats({2}, {a, b}); };
  EXPECT_EQ(max_rel_diff(vector(1, -4), vector(1, -4)), 0);
  EXPECT_DOUBLE_EQ(max_rel_diff(vector(1, -4), vector(2, -4)), 0.25);
  EXPECT_EQ(max_rel_diff(vector(0, 0), vector(0, 0)), 0);
  EXPECT_EQ(max_rel_diff(vector(1, 0), vector(0, 0)), kInfinity);
  EXPECT_EQ(max_rel_diff(vector(NAN, 0), vector(NAN, 0)), kInfinity);
  EXPECT_EQ(max_rel_diff(vector(INFINITY, 0), vector(INFINITY, 0)), kInfinity);
  EXPECT_EQ(max_rel_diff(vector(1, 1), Tensor::of_floats({1, 2}, {1, 1})), kInfinity);
}

TEST(Random, AWeightDependsOnSeedAndPathAlone) {
  auto draw = [](const char* path, uint64_t seed) {
    return summarise(*random_weight(path, f32({8, 8}), "", seed)).checksum;
  };
  EXPECT_EQ(draw("a.w", 1), draw("a.w", 1));
  EXPECT_NE(draw("a.w", 1), draw("b.w", 1));
  EXPECT_NE(draw("a.w", 1), draw("a.w", 2));
  EXPECT_NE(draw("x", 1), summarise(*random_input("x", f32({8, 8}), 1)).checksum);
  // A larger tensor with the same path starts with the same numbers (up to the scale).
  Tensor small = *random_weight("w", f32({4}), "normal(1)", 1);
  Tensor large = *random_weight("w", f32({64}), "normal(1)", 1);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(small.floats()[i], large.floats()[i]);
}

TEST(Random, TheNumbersNeverChange) { // results in files and reports depend on them
  EXPECT_FLOAT_EQ(random_weight("fire2.w", f32({2, 2}), "", 1)->floats()[0], 0.041978486f);
}

TEST(Random, ScalesByFanIn) {
  EXPECT_EQ(fan_in({64, 32, 3, 3}), 288);
  EXPECT_EQ(fan_in({512, 1000}), 512);
  EXPECT_EQ(fan_in({8, 64, 32}), 64);
  EXPECT_EQ(fan_in({10}), 10);
  EXPECT_EQ(fan_in({}), 1);
  TensorSummary s = summarise(*random_weight("w", f32({256, 400}), "", 3));
  EXPECT_NEAR(s.std, 1.0 / 16, 0.001);
  EXPECT_NEAR(s.mean, 0, 0.001);
}

TEST(Random, InitTexts) {
  auto weight = [](const char* init) { return *random_weight("w", f32({100, 100}), init, 1); };
  EXPECT_NEAR(summarise(weight("normal(0.02)")).std, 0.02, 0.001);
  EXPECT_EQ(summarise(weight("zeros")).std, 0);
  EXPECT_EQ(summarise(weight("ones")).mean, 1);
  Tensor uniform = weight("uniform(0.5, 1.5)");
  for (float x : uniform.floats()) EXPECT_TRUE(x >= 0.5f && x <= 1.5f) << x;
  EXPECT_NEAR(summarise(uniform).mean, 1, 0.02);
  for (const char* bad :
       {"normal", "normal()", "normal(a)", "normal(-1)", "normal(1, 2)", "uniform(1)",
        "uniform(2, 1)", "uniform(0, inf)", "one", "zeros()", "orthogonal", "orthogonal()",
        "orthogonal(1, 2)", "orthogonal(inf)", "orthogonal(1)"}) { // for a vector
    Result<Tensor> tensor = random_weight("w", f32({2}), bad, 1);
    ASSERT_FALSE(tensor) << bad;
    EXPECT_EQ(tensor.error().code, Code::bad_attribute);
  }
}

} // namespace
} // namespace tg
