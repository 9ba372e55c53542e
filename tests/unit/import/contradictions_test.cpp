// Tests nodes that contradict themselves or their inputs: the error names the node and the reason.
#include <gtest/gtest.h>

#include "tests/unit/import/small_graphs.h"

namespace tg::onnx {
namespace {

/// The errors of a graph with the input x f32[2, 3] and the output y, computed by one node n.
class Contradiction : public ::testing::Test {
protected:
  schema::Node& node(const std::string& op, const Names& inputs, const Names& outputs = {"y"}) {
    schema::Node& made = add_node(graph_, op, inputs, outputs);
    made.set_name("n");
    return made;
  }
  void integers(const std::string& name, const std::vector<int64_t>& values) {
    add_integers(graph_, name, values, {static_cast<int64_t>(values.size())});
  }
  void scalar(const std::string& name, int64_t value) { add_integers(graph_, name, {value}, {}); }
  void list(schema::Node& node, const std::string& name, const std::vector<int64_t>& values) {
    schema::Attribute& made = attribute(node, name, schema::Attribute::INTS);
    for (int64_t value : values) made.add_ints(value);
  }
  /// Returns the messages without the file's name.
  std::string message(int64_t opset = 18) {
    std::string all = messages_of(graph_, opset);
    size_t at = all.find("`: ");
    return at == std::string::npos ? all : all.substr(at + 3);
  }

  schema::Graph graph_ = [] {
    schema::Graph made = body({}, {"y"});
    add_input(made, "x", {2, 3});
    return made;
  }();
};

TEST_F(Contradiction, APermutationTakesEachAxisOnce) {
  list(node("Transpose", {"x"}), "perm", {0, 0});
  EXPECT_EQ(message(), "node `n` (Transpose): its permutation [0, 0] takes an axis twice\n");
}

TEST_F(Contradiction, APermutationHasNoOtherAxes) {
  list(node("Transpose", {"x"}), "perm", {0, 2});
  EXPECT_EQ(message(), "node `n` (Transpose): there is no axis 2 of 2\n");
}

TEST_F(Contradiction, NothingIsRepeatedLessThanNever) {
  integers("times", {-1, 2});
  node("Tile", {"x", "times"});
  EXPECT_EQ(message(), "node `n` (Tile): it repeats an axis -1 times\n");
}

TEST_F(Contradiction, NoPieceHasANegativeSize) {
  integers("sizes", {-1, 4});
  set(node("Split", {"x", "sizes"}, {"y", "z"}), "axis", 1);
  EXPECT_EQ(message(), "node `n` (Split): a piece of the size -1\n");
}

TEST_F(Contradiction, IndicesAreIntegers) {
  add_floats(graph_, "at", {1}, {1});
  node("Gather", {"x", "at"});
  EXPECT_EQ(message(), "node `n` (Gather): its indices are f32[1], but must be integers\n");
}

TEST_F(Contradiction, PaddingFromWithinIsBounded) {
  integers("pads", {0, 0, 0, int64_t{1} << 40});
  set(node("Pad", {"x", "pads"}), "mode", std::string("reflect"));
  EXPECT_EQ(message(), "node `n` (Pad): it pads an axis by more than 1048576 elements of it\n");
}

TEST_F(Contradiction, RefusesAShapeWithTooManyElements) {
  int64_t large = int64_t{1} << 40;
  integers("shape", {large, large});
  node("ConstantOfShape", {"shape"});
  EXPECT_EQ(message(),
            "node `n` (ConstantOfShape): [1099511627776, 1099511627776] has too many elements\n");
}

TEST_F(Contradiction, RefusesANewShapeWithTooManyElements) {
  int64_t large = int64_t{1} << 40;
  integers("shape", {large, large, -1});
  node("Reshape", {"x", "shape"});
  EXPECT_EQ(message(), "node `n` (Reshape): its shape has too many elements\n");
}

TEST_F(Contradiction, RefusesTooManyRepeats) {
  integers("times", {1, int64_t{1} << 62});
  node("Tile", {"x", "times"});
  EXPECT_EQ(message(), "node `n` (Tile): its result has too many elements\n");
}

TEST_F(Contradiction, AnAxisThatIsTurnedRoundIsBounded) {
  add_input(graph_, "long", {int64_t{1} << 30});
  scalar("axis", 0);
  set(node("CumSum", {"long", "axis"}), "reverse", 1);
  EXPECT_EQ(message(), "node `n` (CumSum): it reverses an axis of more than 1048576 elements\n");
}

TEST_F(Contradiction, ARangeHasAStep) {
  scalar("from", 0), scalar("to", 5), scalar("step", 0);
  node("Range", {"from", "to", "step"});
  EXPECT_EQ(message(), "node `n` (Range): its step is 0\n");
}

TEST_F(Contradiction, AShapeThatNoTensorHasIsNamed) {
  integers("shape", {int64_t{1} << 33, int64_t{1} << 33});
  node("ConstantOfShape", {"shape"});
  EXPECT_EQ(message(), "node `n` (ConstantOfShape): [8589934592, 8589934592] has too many "
                       "elements\n");
}

TEST_F(Contradiction, AnAttributeIsGivenOnce) {
  schema::Node& softmax = node("Softmax", {"x"});
  set(softmax, "axis", 0);
  set(softmax, "axis", 1);
  EXPECT_EQ(message(), "node `n` (Softmax): its attribute `axis` is given twice\n");
}

/// Returns the errors of a file with the function f(a) = relu(a) and a graph that calls it.
std::string said_of_call(const Names& inputs, int64_t ir_version = 8) {
  schema::Model model;
  model.set_ir_version(ir_version);
  model.add_opset_import()->set_version(18);
  schema::Graph& graph = *model.mutable_graph();
  graph = body({}, {"y"});
  add_input(graph, "x", {2});
  schema::Node& call = add_node(graph, "f", inputs, {"y"});
  call.set_name("n");
  call.set_domain("own");
  schema::Function& function = *model.add_functions();
  function.set_domain("own");
  function.set_name("f");
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(18);
  schema::Node& relu = *function.add_node();
  relu.set_op_type("Relu");
  relu.add_input("a");
  relu.add_output("b");
  auto file = file_of(model);
  DiagnosticSink sink;
  (void)import_model(file, {}, sink);
  std::string all;
  for (const Diagnostic& one : sink.all()) all += one.message + "\n";
  return all;
}

TEST(Call, HasNoMoreInputsThanItsFunction) {
  EXPECT_EQ(said_of_call({"x"}), "");
  EXPECT_NE(said_of_call({"x", "x"}).find("the node `n` has more inputs than its function `f`"),
            std::string::npos);
}

TEST(Format, NewerThanTheNewestIsRefused) {
  EXPECT_EQ(said_of_call({"x"}, 14), "");
  EXPECT_NE(
      said_of_call({"x"}, 15).find("version 15 of the format is not supported: the newest is 14"),
      std::string::npos);
}

} // namespace
} // namespace tg::onnx
