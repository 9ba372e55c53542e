// The models of examples/: operator counts of the published graphs, and sizes of the complete ones.
#include "tests/unit/ir/ir_test.h"

#include <llvm/ADT/StringExtras.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tg {
namespace {

using test::Built;

Built example(const std::string& name) {
  std::string file = "examples/" + name + ".tg"; // "paper/bert" is a skeleton
  return Built(test::read_source(file), {}, "", TG_SOURCE_DIR "/" + file);
}

int64_t parameters(const Built& b, llvm::function_ref<bool(llvm::StringRef)> counts) {
  int64_t total = 0;
  for (uint32_t i = 0; i < b.graph->size(); ++i)
    if (b.graph->node({i}).op == OpKind::Weight && counts(b.graph->attr({i}, 0).text))
      total += b.graph->type({i}).elements();
  return total;
}

// Counts of the graphs that the TENSAT program builds; its noops, which only tie outputs together,
// are no operators here.
TEST(Models, SqueezeNet) {
  Built b = example("paper/squeezenet");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.graph->op_count(), 66u);
  EXPECT_EQ(b.census(), "1 avg_pool2d, 8 concat, 26 conv2d, 1 identity, 3 max_pool2d, 26 relu, "
                        "1 reshape");
  EXPECT_EQ(b.weight_paths().size(), 26u);
}

TEST(Models, NasRnn) {
  Built b = example("paper/nasrnn");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.graph->op_count(), 230u);
  EXPECT_EQ(b.census(), "55 add, 80 matmul, 20 mul, 10 relu, 25 sigmoid, 40 tanh");
  EXPECT_EQ(b.weight_paths().size(), 81u);
  EXPECT_EQ(b.graph->inputs().size(), 5u);
}

TEST(Models, Bert) {
  Built b = example("paper/bert");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.graph->op_count(), 113u); // 121 with the 8 noops
  EXPECT_EQ(b.census(), "48 matmul, 1 relu, 32 reshape, 32 transpose");
  EXPECT_EQ(b.weight_paths().size(), 32u);
  EXPECT_EQ(b.graph->outputs().size(), 9u);
}

TEST(Models, ResNeXt50) {
  Built b = example("paper/resnext50");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.graph->op_count(), 86u);
  EXPECT_EQ(b.census(), "16 add, 53 conv2d, 1 max_pool2d, 16 relu");
}

TEST(Models, ResNet50IsComplete) {
  Built b = example("resnet50");
  ASSERT_TRUE(b.graph) << b.rendered();
  auto statistic = [](llvm::StringRef path) {
    return path.endswith(".mean") || path.endswith(".variance");
  };
  EXPECT_EQ(parameters(b, [&](llvm::StringRef path) { return !statistic(path); }), 25'557'032);
  EXPECT_EQ(parameters(b, statistic), 53'120);
  EXPECT_EQ(b.census(), "17 add, 53 batch_norm, 53 conv2d, 1 matmul, 1 max_pool2d, 1 reduce_mean, "
                        "49 relu, 1 softmax");
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

/// Shapes of all convolutions, in order: the published file against ours. The file is data of the
/// papers and not part of this repository; TANGRAM_PAPER_MODELS names the folder.
TEST(Models, SqueezeNetIsThePublishedGraph) {
  const char* folder = std::getenv("TANGRAM_PAPER_MODELS");
  if (!folder) GTEST_SKIP() << "TANGRAM_PAPER_MODELS is not set";
  std::ifstream in(std::string(folder) + "/squeezenet.model");
  ASSERT_TRUE(in) << folder;
  std::vector<std::string> theirs, ours;
  std::string id, code, operands, numbers;
  while (std::getline(in, id) && std::getline(in, code) && std::getline(in, operands) &&
         std::getline(in, numbers)) {
    std::vector<std::string> n = split_commas(numbers);
    if (code == "3") // conv2d: x, w, stride
      theirs.push_back(llvm::formatv("x {0} w {1} stride {2}",
                                     llvm::join(llvm::makeArrayRef(n).slice(0, 4), ","),
                                     llvm::join(llvm::makeArrayRef(n).slice(4, 4), ","), n[8]));
  }
  Built b = example("paper/squeezenet");
  ASSERT_TRUE(b.graph);
  auto dims = [&](NodeId node) {
    std::vector<std::string> parts;
    for (int64_t d : b.graph->type(node).shape) parts.push_back(std::to_string(d));
    return llvm::join(parts, ",");
  };
  for (uint32_t i = 0; i < b.graph->size(); ++i)
    if (b.graph->node({i}).op == OpKind::Conv2d)
      ours.push_back(llvm::formatv("x {0} w {1} stride {2}", dims(b.graph->operands({i})[0]),
                                   dims(b.graph->operands({i})[1]), b.graph->attr({i}, 0).ints[0]));
  EXPECT_EQ(ours, theirs);
}

} // namespace
} // namespace tg
