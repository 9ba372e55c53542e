// Tests parsing of instance keys, and the rejection of other texts.
#include "compiler/extract/cost/price_features.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

const char* const kKeys[] = {
    "relu(f32[8])",
    "add(f32[1, 256, 56, 56], w f32[256, 1, 1])",
    "matmul(f32[16, 1, 128], w f32[128, 1024], none, none) {act = gelu}",
    "conv2d(f32[1, 64, 56, 56], w f32[64, 64, 3, 3], w f32[64], none) {stride = [1, 1], pad = "
    "same, "
    "dilation = [1, 1], act = relu}",
    "conv2d(f32[1, 64, 56, 56], w f32[64, 64, 3, 3], none, none) {stride = [2, 2], pad = [1, 1, 1, "
    "1], dilation = [1, 1], act = none}",
    "winograd_conv2d(f32[1, 32, 27, 27], w f32[16, 512, 32], none, none) {pad = same, act = relu}",
    "attention(f32[1, 4, 5, 8], f32[1, 4, 8, 7], f32[1, 4, 7, 8], none, w bool[5, 7]) {otherwise = "
    "-1e+09}",
    "fused_map(f32[1, 512], f32[1, 512]) {body = \"mul(sigmoid($0), tanh($1))\"}",
    "batch_norm(f32[1, 8, 4, 4], w f32[8], w f32[8], w f32[8], w f32[8]) {eps = 1e-05}",
    "reduce_mean(f32[1, 1000, 13, 13]) {axes = [2, 3], keepdims = true}",
    "gather(f32[1000, 64], i64[128]) {axis = 0}",
};

TEST(InstanceText, RoundTrips) {
  for (llvm::StringRef key : kKeys) {
    Symbols symbols;
    std::optional<OwnedInstance> read = read_instance(symbols, key);
    ASSERT_TRUE(read) << key.str();
    EXPECT_EQ(instance_key(symbols, read->instance()), key.str());
  }
}

TEST(InstanceText, ResultsAreInferred) {
  Symbols symbols;
  auto read = read_instance(symbols, "matmul(f32[2, 3], w f32[3, 5], none, none) {act = none}");
  ASSERT_TRUE(read);
  EXPECT_EQ(symbols.type(read->result), f32({2, 5}));
  EXPECT_EQ(read->weight_operands, 2u);
}

TEST(InstanceText, OtherTextIsRejected) {
  for (const char* key : {"",
                          "relu",
                          "relu(",
                          "relu()",
                          "relu(f32[8]",
                          "relu(f32[8]) ",
                          "relu(f32[8]) {}",
                          "relu(f32[8], f32[8])",
                          "relu(none)",
                          "relu(f99[8])",
                          "relu(f32[-1])",
                          "relu(f32[0])",
                          "relu(f32[9999999999999999999])",
                          "relu(f32[99999999999, 99999999999])",
                          "no_such(f32[8])",
                          "input() {name = \"x\", type = f32[8]}",
                          "split(f32[8]) {axis = 0, sizes = [4, 4]}",
                          "matmul(f32[2, 3], f32[4, 5], none, none) {act = none}",
                          "matmul(f32[2, 3], f32[3, 5], none, none) {act = loud}",
                          "matmul(f32[2, 3], f32[3, 5], none, none) {act = }",
                          "matmul(f32[2, 3], f32[3, 5], none, none) {activation = none}",
                          "concat() {axis = 0}",
                          "concat(f32[4], none) {axis = 0}",
                          "concat(f32[4]) {axis = 7}",
                          "concat(f32[4]) {axis = [1, 2]}",
                          "fused_map(f32[8]) {body = \"relu($3)\"}",
                          "fused_map(f32[8]) {body = \"relu($0",
                          "transpose(f32[4, 8]) {perm = \"01\"}",
                          "softmax(f32[4]) {axis = relu}"}) {
    Symbols symbols;
    EXPECT_FALSE(read_instance(symbols, key)) << key;
  }
}

} // namespace
} // namespace tg
