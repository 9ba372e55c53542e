// Tests integers of types that Tangram does not have, and results whose size depends on data.
#include "tests/unit/import/small_graphs.h"

#include <gtest/gtest.h>

namespace tg::onnx {
namespace {

constexpr int32_t kUint8 = schema::Tensor::UINT8;

Literal wholes(DType dtype, llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values) {
  return {{dtype, Shape(shape.begin(), shape.end())}, std::move(values), {}};
}

/// Returns the outputs of a graph, which must be valid.
Literals outputs_of(const schema::Graph& graph, const Literals& inputs, int64_t opset = 21) {
  std::string messages;
  std::optional<Imported> imported = import_graph(graph, messages, opset);
  EXPECT_TRUE(imported) << messages;
  return imported ? compute(*imported, inputs) : Literals{};
}

TEST(Narrow, PicturesAreCast) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {3}, kUint8);
  set(add_node(graph, "Cast", {"x"}, {"y"}), "to", int64_t{schema::Tensor::FLOAT});
  Literals made = outputs_of(graph, {{"x", wholes(DType::I32, {3}, {0, 128, 255})}});
  EXPECT_EQ(made.at("y").reals, (std::vector<double>{0, 128, 255}));
}

TEST(Narrow, ArithmeticStaysWithinTheType) {
  schema::Graph graph = body({}, {"sum", "left", "right", "signed"});
  add_input(graph, "x", {3}, kUint8);
  add_integers(graph, "one", {1}, {1}, kUint8);
  add_node(graph, "Add", {"x", "one"}, {"sum"});
  set(add_node(graph, "BitShift", {"x", "one"}, {"left"}), "direction", std::string("LEFT"));
  set(add_node(graph, "BitShift", {"x", "one"}, {"right"}), "direction", std::string("RIGHT"));
  set(add_node(graph, "Cast", {"x"}, {"signed"}), "to", int64_t{schema::Tensor::INT8});
  Literals made = outputs_of(graph, {{"x", wholes(DType::I32, {3}, {1, 129, 255})}});
  EXPECT_EQ(made.at("sum").ints, (std::vector<int64_t>{2, 130, 0}));
  EXPECT_EQ(made.at("left").ints, (std::vector<int64_t>{2, 2, 254}));
  EXPECT_EQ(made.at("right").ints, (std::vector<int64_t>{0, 64, 127}));
  EXPECT_EQ(made.at("signed").ints, (std::vector<int64_t>{1, -127, -1}));
}

TEST(Narrow, OtherOperatorsRefuseThem) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {3}, kUint8);
  add_node(graph, "Relu", {"x"}, {"y"});
  EXPECT_NE(messages_of(graph).find("(Relu): its input 1 has elements of ONNX's type uint8"),
            std::string::npos)
      << messages_of(graph);
}

TEST(Narrow, BlocksOfWeightsAreDequantized) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {1, 4});
  add_integers(graph, "q", {0, 100, 200, 255}, {4, 1}, kUint8);
  add_floats(graph, "s", {0.5f, 2.0f}, {2, 1});
  add_integers(graph, "z", {100, 200}, {2, 1}, kUint8);
  schema::Node& node = add_node(graph, "DequantizeLinear", {"q", "s", "z"}, {"w"});
  set(node, "axis", int64_t{0});
  set(node, "block_size", int64_t{2});
  add_node(graph, "MatMul", {"x", "w"}, {"y"});
  Literals made = outputs_of(graph, {{"x", numbers({1, 4}, {1, 10, 100, 1000})}});
  EXPECT_EQ(made.at("y").reals, (std::vector<double>{-50 + 0 + 0 + 110000}));
}

TEST(OpenSizes, RowsAreCounted) {
  schema::Graph graph = body({}, {"places", "kept", "values", "ranks"});
  add_input(graph, "x", {4}, schema::Tensor::INT64);
  add_input(graph, "mask", {3}, schema::Tensor::BOOL);
  add_node(graph, "NonZero", {"x"}, {"places"});
  add_node(graph, "Compress", {"x", "mask"}, {"kept"});
  add_node(graph, "Unique", {"x"}, {"values", "", "ranks"});
  Literals made = outputs_of(graph, {{"x", wholes(DType::I64, {4}, {7, 0, 5, 7})},
                                     {"mask", wholes(DType::Bool, {3}, {0, 1, 1})}});
  EXPECT_EQ(made.at("places").ints, (std::vector<int64_t>{0, 2, 3, -1}));
  EXPECT_EQ(made.at("places_count").ints, (std::vector<int64_t>{3}));
  EXPECT_EQ(made.at("kept").ints, (std::vector<int64_t>{0, 5, 0}));
  EXPECT_EQ(made.at("kept_count").ints, (std::vector<int64_t>{2}));
  EXPECT_EQ(made.at("values").ints, (std::vector<int64_t>{0, 5, 7, 0}));
  EXPECT_EQ(made.at("values_count").ints, (std::vector<int64_t>{3}));
  EXPECT_EQ(made.at("ranks").ints, (std::vector<int64_t>{2, 0, 1, 2}));
}

TEST(OpenSizes, BagsAreReduced) {
  schema::Graph graph = body({}, {"sum", "mean", "most"});
  add_input(graph, "x", {4, 1});
  add_input(graph, "from", {1}, schema::Tensor::INT64);
  add_input(graph, "to", {1}, schema::Tensor::INT64);
  add_integers(graph, "rows", {0}, {1});
  add_node(graph, "Slice", {"x", "from", "to"}, {"bag"});
  add_node(graph, "ReduceSum", {"bag", "rows"}, {"sum"});
  add_node(graph, "ReduceMean", {"bag", "rows"}, {"mean"});
  add_node(graph, "ReduceMax", {"bag", "rows"}, {"most"});
  Literals made = outputs_of(graph, {{"x", numbers({4, 1}, {9, -1, -3, 9})},
                                     {"from", wholes(DType::I64, {1}, {1})},
                                     {"to", wholes(DType::I64, {1}, {-1})}});
  EXPECT_EQ(made.at("sum").reals, (std::vector<double>{-4}));
  EXPECT_EQ(made.at("mean").reals, (std::vector<double>{-2}));
  EXPECT_EQ(made.at("most").reals, (std::vector<double>{-1}));
}

TEST(OpenSizes, RowsAreTakenOneByOne) {
  schema::Graph graph = body({}, {"y", "n"});
  add_input(graph, "x", {2, 3}, schema::Tensor::INT64);
  add_node(graph, "NonZero", {"x"}, {"places"});
  add_node(graph, "Transpose", {"places"}, {"indices"});
  add_node(graph, "GatherND", {"x", "indices"}, {"rows"});
  add_node(graph, "Neg", {"rows"}, {"less"});
  add_node(graph, "ScatterND", {"x", "indices", "less"}, {"y"});
  add_node(graph, "Size", {"rows"}, {"n"});
  Literals made = outputs_of(graph, {{"x", wholes(DType::I64, {2, 3}, {0, 5, 0, 7, 0, -2})}});
  EXPECT_EQ(made.at("y").ints, (std::vector<int64_t>{0, -5, 0, -7, 0, 2}));
  EXPECT_EQ(made.at("n").ints, (std::vector<int64_t>{3}));
}

TEST(OpenSizes, AreRefusedAsOperandsOfOtherOperators) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {4}, schema::Tensor::INT64);
  add_node(graph, "NonZero", {"x"}, {"places"});
  add_node(graph, "ArgMax", {"places"}, {"y"});
  EXPECT_NE(
      messages_of(graph).find("(ArgMax): its input 1 has a number of rows that depends on data"),
      std::string::npos)
      << messages_of(graph);
}

} // namespace
} // namespace tg::onnx
