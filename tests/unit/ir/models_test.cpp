// Tests the models of examples/: operator counts of the published graphs,
// and sizes of the complete networks.
#include "tests/unit/ir/ir_test.h"

#include <llvm/ADT/StringExtras.h>

#include <cstdlib>
#include <fstream>

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

// Counts of the graphs that the TENSAT program builds. Its noops, which only connect outputs,
// are not operators here.
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

TEST(Models, PaperResNet50) {
  Built b = example("paper/resnet50");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.graph->op_count(), 84u);
  EXPECT_EQ(b.census(), "16 add, 52 conv2d, 16 relu");
}

// TENSAT has 383, of which 18 are equal to another one.
TEST(Models, NasNetA) {
  Built b = example("paper/nasneta");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.census(), "90 add, 36 avg_pool2d, 18 concat, 217 conv2d, 4 max_pool2d");
  EXPECT_EQ(b.weight_paths().size(), 217u);
}

TEST(Models, InceptionV3) {
  Built b = example("paper/inceptionv3");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.graph->op_count(), 138u);
  EXPECT_EQ(b.census(), "9 avg_pool2d, 30 concat, 94 conv2d, 5 max_pool2d");
}

TEST(Models, MobileNetV2) {
  Built b = example("paper/mobilenetv2");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.graph->op_count(), 155u);
  EXPECT_EQ(b.census(), "10 add, 1 avg_pool2d, 53 batch_norm, 54 conv2d, 36 relu, 1 reshape");
  EXPECT_EQ(b.weight_paths().size(), 266u);
}

TEST(Models, Vgg19) {
  Built b = example("paper/vgg19");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.graph->op_count(), 50u);
  EXPECT_EQ(b.census(), "16 conv2d, 2 identity, 3 matmul, 5 max_pool2d, 18 relu, 3 reshape, "
                        "3 transpose");
  EXPECT_EQ(b.weight_paths().size(), 19u);
}

// A layer has eight products, two sums, four reshapes and four transposes.
TEST(Models, VisionTransformers) {
  for (auto [name, layers, keys] :
       {std::tuple("vit_base", 12, 64), {"vit_large", 24, 64}, {"vit_huge", 32, 80}}) {
    Built b = example(std::string("paper/") + name);
    ASSERT_TRUE(b.graph) << b.rendered();
    EXPECT_EQ(b.census(), llvm::formatv("{0} add, {1} matmul, 1 relu, {2} reshape, {2} transpose",
                                        2 * layers, 8 * layers, 4 * layers)
                              .str());
    EXPECT_EQ(b.weight_paths().size(), 6u * layers);
  }
}

TEST(Models, TransformerTransducer) {
  Built b = example("paper/transformer_transducer");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.census(), "28 add, 1 concat, 116 matmul, 15 relu, 56 reshape, 56 transpose");
}

TEST(Models, DallE) {
  Built b = example("paper/dalle");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(b.census(), "24 add, 72 matmul, 8 mul, 8 relu, 32 reshape, 32 transpose");
}

// --- the complete networks: trained parameters as published ------------------------------------

bool is_statistic(llvm::StringRef path) {
  return path.endswith(".mean") || path.endswith(".variance");
}
bool is_trained(llvm::StringRef path) { return !is_statistic(path); }

TEST(Models, ResNet50IsComplete) {
  Built b = example("resnet50");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 25'557'032);
  EXPECT_EQ(parameters(b, is_statistic), 53'120);
  EXPECT_EQ(b.census(), "17 add, 53 batch_norm, 53 conv2d, 1 matmul, 1 max_pool2d, 1 reduce_mean, "
                        "49 relu, 1 softmax");
}

TEST(Models, SqueezeNetIsComplete) {
  Built b = example("squeezenet");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 1'235'496);
  EXPECT_EQ(b.census(), "8 concat, 26 conv2d, 3 max_pool2d, 1 reduce_mean, 26 relu, 1 softmax");
}

// torchvision states 27,161,264, of which 3,326,696 belong to the auxiliary classifier.
TEST(Models, InceptionV3IsComplete) {
  Built b = example("inceptionv3");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 27'161'264 - 3'326'696);
  EXPECT_EQ(parameters(b, is_statistic), 34'432);
  EXPECT_EQ(b.census(), "1 add, 9 avg_pool2d, 94 batch_norm, 15 concat, 94 conv2d, 1 matmul, "
                        "4 max_pool2d, 1 reduce_mean, 94 relu, 1 softmax");
}

TEST(Models, VitBaseIsComplete) {
  Built b = example("vit_base");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 86'567'656);
  EXPECT_EQ(b.output_type(), "f32[1, 1000]");
}

TEST(Models, MobileNetV2IsComplete) {
  Built b = example("mobilenetv2");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 3'504'872);
  EXPECT_EQ(parameters(b, is_statistic), 34'112);
  EXPECT_EQ(b.census(), "11 add, 52 batch_norm, 52 conv2d, 1 matmul, 1 reduce_mean, 35 relu6, "
                        "1 softmax");
}

TEST(Models, BertBaseIsComplete) {
  Built b = example("bert_base");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 109'482'240);
  EXPECT_EQ(b.output_type(0), "f32[1, 128, 768]");
  EXPECT_EQ(b.output_type(1), "f32[1, 768]");
}

TEST(Models, Gpt2IsComplete) {
  Built b = example("gpt2");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 124'439'808);
  EXPECT_EQ(b.output_type(), "f32[1, 64, 50257]");
}

// Grattafiori et al. 2024, table 3: two square matrices, two of a quarter,
// three of 3.5 times the size.
TEST(Models, LlamaBlockIsComplete) {
  Built b = example("llama_block");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 218'112'000);
}

TEST(Models, LstmIsComplete) {
  Built b = example("lstm");
  ASSERT_TRUE(b.graph) << b.rendered();
  EXPECT_EQ(parameters(b, is_trained), 4 * 256 * (128 + 256 + 2) + 4 * 256 * (256 + 256 + 2));
  EXPECT_EQ(b.output_type(0), "f32[16, 1, 256]");
  EXPECT_EQ(b.output_type(1), "f32[2, 1, 256]");
}

// --- the published files ----------------------------------------------------------------------

/// Numbers distinct subgraphs. A subgraph's key is its operator with its settings
/// and the numbers of its operands. Weights are distinguished only by shape.
/// So two graphs with equal numbers are equal except for the assignment of weights.
class Subgraphs {
public:
  uint32_t number(const std::string& key) {
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }

private:
  std::map<std::string, uint32_t> numbers_;
};

std::string dims_text(llvm::ArrayRef<int64_t> dims) {
  std::string text;
  for (int64_t dim : dims) text += " " + std::to_string(dim);
  return text;
}

std::vector<int64_t> integers(llvm::StringRef text) {
  std::vector<int64_t> numbers;
  llvm::SmallVector<llvm::StringRef, 16> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    int64_t number = 0;
    if (!part.getAsInteger(10, number)) numbers.push_back(number);
  }
  return numbers;
}

/// The key of an operator in the published form: `op`, the numbers of its operands,
/// and its settings.
std::string key(llvm::StringRef op, llvm::ArrayRef<uint32_t> operands, llvm::StringRef settings) {
  std::string text = op.str();
  for (uint32_t operand : operands) text += " %" + std::to_string(operand);
  return text + ";" + settings.str();
}

/// Returns the operators of a published file as sorted numbers. A node has four lines:
/// id, operator code, operands as `id:output`, numbers. Unused weights are ignored.
std::vector<uint32_t> published(std::istream& in, Subgraphs& subgraphs) {
  static const std::map<std::string, const char*> kNames = {
      {"3", "conv2d"},     {"4", "identity"},    {"6", "max_pool2d"}, {"7", "avg_pool2d"},
      {"8", "relu"},       {"11", "batch_norm"}, {"12", "concat"},    {"14", "reshape"},
      {"15", "transpose"}, {"16", "add"},        {"18", "matmul"}};
  std::map<std::string, uint32_t> number_of;
  std::vector<uint32_t> all;
  std::string id, code, operands, text;
  while (std::getline(in, id) && std::getline(in, code) && std::getline(in, operands) &&
         std::getline(in, text)) {
    std::vector<int64_t> n = integers(text);
    if (code == "0" || code == "1") {
      number_of[id] = subgraphs.number((code == "0" ? "input" : "weight") + dims_text(n));
      continue;
    }
    std::vector<uint32_t> inputs;
    llvm::SmallVector<llvm::StringRef, 6> parts;
    llvm::StringRef(operands).split(parts, ',');
    for (llvm::StringRef part : parts) inputs.push_back(number_of[part.split(':').first.str()]);
    std::string settings;
    llvm::ArrayRef<int64_t> numbers(n);
    if (code == "3") // x, w, stride, padding, activation
      settings = dims_text(numbers.slice(8, 2)) + (n[11] == 2 ? " relu" : " none") +
                 (n[6] * n[7] == 1 || n[10] == 1 ? " valid" : " same");
    if (code == "6" || code == "7") { // x, code, kernel, stride, padding
      settings = dims_text(numbers.slice(5, 4)) + (n[9] == 1 ? " valid" : " same");
      inputs.resize(1); // the second input is a constant of the format
    }
    if (code == "14") settings = dims_text(n);
    EXPECT_TRUE(kNames.count(code)) << code;
    all.push_back(number_of[id] = subgraphs.number(key(kNames.at(code), inputs, settings)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Returns the operators of Tangram's graph in the same form.
std::vector<uint32_t> written(const Graph& graph, Subgraphs& subgraphs) {
  std::vector<uint32_t> number_of(graph.size()), all;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    NodeId id{i};
    OpKind op = graph.node(id).op;
    if (!needed[i] || op == OpKind::None) continue;
    if (op == OpKind::Input || op == OpKind::Weight) {
      number_of[i] = subgraphs.number((op == OpKind::Input ? "input" : "weight") +
                                      dims_text(graph.type(id).shape));
      continue;
    }
    std::vector<uint32_t> inputs;
    for (NodeId operand : graph.operands(id))
      if (graph.node(operand).op != OpKind::None) inputs.push_back(number_of[operand.index]);
    std::string settings;
    auto ints = [&](size_t slot) { return dims_text(graph.attr(id, slot).ints); };
    auto padding = [&](size_t slot) {
      return graph.attr(id, slot).text == "same" ? " same" : " valid";
    };
    if (op == OpKind::Conv2d) {
      const TensorType& w = graph.type(graph.operands(id)[1]);
      settings =
          ints(0) + " " + graph.attr(id, 3).text + (w[2] * w[3] == 1 ? " valid" : padding(1));
    }
    if (op == OpKind::MaxPool2d || op == OpKind::AvgPool2d)
      settings = ints(0) + ints(1) + padding(2);
    if (op == OpKind::Reshape) settings = dims_text(graph.type(id).shape);
    std::string name(op_info(op).name);
    all.push_back(number_of[i] = subgraphs.number(key(name, inputs, settings)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// The files are data of the papers and not a part of this repository. TANGRAM_PAPER_MODELS names
/// their folder.
TEST(Models, SkeletonsAreThePublishedGraphs) {
  const char* folder = std::getenv("TANGRAM_PAPER_MODELS");
  if (!folder) GTEST_SKIP() << "TANGRAM_PAPER_MODELS is not set";
  for (auto [file, name] : {std::pair("squeezenet", "squeezenet"),
                            {"inceptionv3", "inceptionv3"},
                            {"mobilenetv2", "mobilenetv2"},
                            {"vgg", "vgg19"}}) {
    SCOPED_TRACE(name);
    std::ifstream in(std::string(folder) + "/" + file + ".model");
    ASSERT_TRUE(in) << folder;
    Subgraphs subgraphs;
    std::vector<uint32_t> theirs = published(in, subgraphs);
    Built b = example(std::string("paper/") + name);
    ASSERT_TRUE(b.graph) << b.rendered();
    EXPECT_EQ(written(*b.graph, subgraphs), theirs);
    EXPECT_EQ(theirs.size(), b.graph->op_count());
  }
}

} // namespace
} // namespace tg
