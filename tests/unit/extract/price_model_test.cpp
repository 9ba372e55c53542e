// Tests the price model on invented prices: it reproduces its samples, interpolates,
// reports its uncertainty, and keeps families of operators apart.
#include "compiler/extract/cost/price_model.h"

#include "compiler/extract/cost/price_features.h"

#include <gtest/gtest.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>

namespace tg {
namespace {

struct PriceModelTest : testing::Test {
  Symbols symbols;
  AnalyticCost roofline{*find_device_profile("cpu")};
  PriceModel model;

  PriceFeatures features(const std::string& key, double washed_mib = 16) {
    std::optional<OwnedInstance> read = read_instance(symbols, key);
    EXPECT_TRUE(read) << key;
    return price_features(roofline, symbols, read->instance(), washed_mib);
  }
  static std::string product(int64_t m, int64_t n) {
    return llvm::formatv("matmul(f32[{0}, 256], w f32[256, {1}], none, none) {{act = none}", m, n);
  }
  static std::string conv(int64_t channels, const char* act = "none") {
    return llvm::formatv(
        "conv2d(f32[1, {0}, 28, 28], w f32[{0}, {0}, 1, 1], none, none) {{stride = "
        "[1, 1], pad = valid, dilation = [1, 1], act = {1}}",
        channels, act);
  }
};

TEST_F(PriceModelTest, KnowsNothingAtFirst) {
  PriceFeatures at = features(product(64, 512));
  PriceGuess guess = model.guess(at);
  EXPECT_NEAR(guess.microseconds, at.roofline_us, 1e-9);
  EXPECT_GT(guess.deviation, 0.9) << "a roofline may be off by factors";
}

TEST_F(PriceModelTest, ReproducesItsSamples) {
  for (int64_t n : {128, 256, 512, 1024})
    model.learn(features(product(64, n)), 0.5 * double(n), 0.02);
  for (int64_t n : {128, 256, 512, 1024}) {
    PriceGuess guess = model.guess(features(product(64, n)));
    EXPECT_NEAR(guess.microseconds / (0.5 * double(n)), 1, 0.05) << n;
    EXPECT_LT(guess.deviation, 0.05) << n;
  }
}

TEST_F(PriceModelTest, GuessesBetweenAndIsLessSureFartherAway) {
  for (int64_t n : {128, 256, 1024, 2048})
    model.learn(features(product(64, n)), 0.5 * double(n), 0.02);
  PriceGuess between = model.guess(features(product(64, 512)));
  EXPECT_NEAR(between.microseconds / 256, 1, 0.15);
  PriceGuess beyond = model.guess(features(product(64, 16384)));
  PriceGuess other_rows = model.guess(features(product(1, 512)));
  EXPECT_GT(beyond.deviation, between.deviation);
  EXPECT_GT(other_rows.deviation, between.deviation);
}

TEST_F(PriceModelTest, ADeviceThatIsSlowerThanItsProfileIsSlowerForAll) {
  // Always three times the roofline. The nearest samples have that in common.
  for (int64_t m : {16, 64, 256})
    for (int64_t n : {128, 512, 2048}) {
      PriceFeatures at = features(product(m, n));
      model.learn(at, 3 * at.roofline_us, 0.02);
    }
  PriceFeatures at = features(product(1024, 4096));
  EXPECT_NEAR(model.guess(at).microseconds / at.roofline_us, 3, 0.6);
}

TEST_F(PriceModelTest, FamiliesAreApart) {
  for (int64_t n : {128, 256, 512, 1024}) model.learn(features(product(64, n)), 1e6, 0.02);
  PriceFeatures at = features(conv(64));
  EXPECT_NEAR(model.guess(at).microseconds, at.roofline_us, 1e-9);
  EXPECT_EQ(model.samples(), 4u);
}

TEST_F(PriceModelTest, KeepsNearGuessesDespiteManyDistantSamples) {
  for (int64_t n : {480, 496, 528, 544}) model.learn(features(product(64, n)), 100, 0.02);
  for (int64_t m = 2000; m < 2200; ++m) model.learn(features(product(m, 4096)), 10, 0.02);
  EXPECT_NEAR(model.guess(features(product(64, 504))).microseconds, 100, 10);
}

TEST_F(PriceModelTest, ActivationsAndSizesTellInstancesApart) {
  PriceFeatures plain = features(conv(64)), gelu = features(conv(64, "gelu"));
  EXPECT_NE(plain.x, gelu.x);
  EXPECT_EQ(plain.x.size(), gelu.x.size());
  EXPECT_NE(features(conv(64), 16).x, features(conv(64), 64).x) << "how cold the caches are";
}

/// The processor runs f64 by the operators' definitions, which is slow.
TEST_F(PriceModelTest, FloatsSayNothingOfDoubles) {
  auto of = [&](const char* dtype, int64_t n) {
    return features(
        llvm::formatv("matmul({0}[64, 256], w {0}[256, {1}], none, none) {{act = none}", dtype, n));
  };
  for (int64_t n : {128, 256, 1024, 2048}) model.learn(of("f32", n), 0.5 * double(n), 0.02);
  EXPECT_LT(model.guess(of("f32", 512)).deviation, 0.4);
  EXPECT_GT(model.guess(of("f64", 512)).deviation, 0.8);
  for (int64_t n : {128, 256, 1024, 2048}) model.learn(of("f64", n), 50 * double(n), 0.02);
  EXPECT_NEAR(model.guess(of("f32", 512)).microseconds / 256, 1, 0.15);
  EXPECT_NEAR(model.guess(of("f64", 512)).microseconds / 25600, 1, 0.15);
}

/// Groups of one channel have special kernels, four times as fast as those for two.
TEST_F(PriceModelTest, OnlyGroupsOfOneChannelAreDepthwise) {
  auto grouped = [&](int64_t of_group) {
    return features(llvm::formatv("conv2d(f32[1, 64, 28, 28], w f32[64, {0}, 3, 3], none, none) "
                                  "{{stride = [1, 1], pad = same, dilation = [1, 1], act = none}",
                                  of_group));
  };
  EXPECT_EQ(grouped(1).family, PriceFamily::Depthwise);
  for (int64_t of_group : {2, 16, 64})
    EXPECT_EQ(grouped(of_group).family, PriceFamily::Convolution) << of_group;
  EXPECT_EQ(grouped(2).x.size(), grouped(64).x.size());
}

/// Rows of 4 KiB take twice the time. Their samples affect only such rows.
TEST_F(PriceModelTest, RowsOfWholePagesDoNotSpeakForOthers) {
  auto us = [&](int64_t n) { return double(n) * (n % 1024 == 0 ? 2 : 1); };
  for (int64_t n : {256, 768, 1024, 1280, 2048, 2304, 4096})
    model.learn(features(product(128, n)), us(n), 0.05);
  for (int64_t n : {896, 1792, 3072})
    EXPECT_NEAR(model.guess(features(product(128, n))).microseconds / us(n), 1, 0.2) << n;
}

TEST_F(PriceModelTest, DistinguishesChannelsThatDoNotFillVectors) {
  auto away = [&](int64_t a, int64_t b) {
    PriceFeatures one = features(conv(a)), other = features(conv(b));
    double square = 0;
    for (size_t i = 0; i < one.x.size(); ++i)
      square += (one.x[i] - other.x[i]) * (one.x[i] - other.x[i]);
    return square;
  };
  EXPECT_LT(away(32, 48), away(36, 54)) << "by the same factor, but whole vectors";
  PriceFeatures whole =
                    features("reduce_mean(f32[1, 48, 28, 28]) {axes = [2, 3], keepdims = true}"),
                part = features("reduce_mean(f32[1, 40, 28, 28]) {axes = [2, 3], keepdims = true}");
  EXPECT_GT(std::abs(part.x[4] - whole.x[4]), 1);
}

TEST_F(PriceModelTest, EveryFamilyHasOneLengthOfFeatures) {
  const char* pairs[][2] = {
      {"softmax(f32[64, 128]) {axis = 1}",
       "reduce_mean(f32[1, 8, 4, 4]) {axes = [2, 3], keepdims = "
       "true}"},
      {"relu(f32[8])", "fused_map(f32[8], f32[8]) {body = \"relu(add($0, $1))\"}"},
      {"concat(f32[4, 8], f32[4, 8]) {axis = 1}", "transpose(f32[4, 8]) {perm = [1, 0]}"},
      {"max_pool2d(f32[1, 8, 8, 8]) {kernel = [2, 2], stride = [2, 2], pad = valid}",
       "avg_pool2d(f32[1, 8, 8, 8]) {kernel = [2, 2], stride = [2, 2], pad = valid, count_padding "
       "= "
       "false}"}};
  for (auto& [a, b] : pairs) {
    PriceFeatures first = features(a), second = features(b);
    EXPECT_EQ(first.family, second.family) << a;
    EXPECT_EQ(first.x.size(), second.x.size()) << a;
  }
}

} // namespace
} // namespace tg
