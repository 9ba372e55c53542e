// Tests nodes that pass unchanged from file to file: each is written as it was read.
#include "compiler/import/onnx/write/export.h"
#include "tests/unit/import/small_graphs.h"

#include <gtest/gtest.h>

namespace tg::onnx {
namespace {

schema::Model model_around(const schema::Graph& graph, int64_t opset) {
  schema::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  *model.mutable_graph() = graph;
  return model;
}

std::optional<Imported> imported(const schema::Model& model, int keep_for = 0) {
  DiagnosticSink sink;
  ImportOptions options;
  options.keep_for = keep_for;
  std::optional<Imported> made = import_model(file_of(model), options, sink);
  for (const Diagnostic& one : sink.all()) ADD_FAILURE() << one.message;
  return made;
}

/// Returns the written file with its weights.
schema::Model written(const Imported& source, int opset) {
  std::optional<Graph> joined = join_kept(source.graph, *source.kept);
  EXPECT_TRUE(joined.has_value());
  Result<Exported> made = export_graph(*joined, {opset, "1", &*source.kept});
  EXPECT_TRUE(made.ok()) << message_of(made);
  schema::Model model = made->model;
  *model.mutable_graph() = made->graph;
  for (const ExportedWeight& weight : made->weights) {
    schema::Tensor& tensor = *model.mutable_graph()->add_initializer();
    tensor = weight.tensor;
    for (const ImportedWeight& own : source.weights) {
      if (own.path != joined->attr(weight.node, 0).text) continue;
      Result<std::vector<double>> values = source.file->doubles(*own.tensor);
      for (double x : *values) tensor.add_float_data(static_cast<float>(x));
    }
  }
  return model;
}

/// Reads, writes and reads the graph again. Expects equal results.
schema::Model kept_and_equal(const schema::Graph& graph, int opset, const Literals& inputs) {
  std::optional<Imported> kept = imported(model_around(graph, opset), opset);
  std::optional<Imported> source = imported(model_around(graph, opset));
  if (!kept || !kept->kept || !source) {
    ADD_FAILURE() << "nothing is kept";
    return {};
  }
  EXPECT_EQ(verify(kept->graph), "");
  schema::Model model = written(*kept, opset);
  std::optional<Imported> again = imported(model);
  if (!again) return model;
  Literals expected = compute(*source, inputs), found = compute(*again, inputs);
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(found[name].type.text(), value.type.text()) << name;
    EXPECT_EQ(found[name].reals, value.reals) << name;
  }
  return model;
}

std::string ops(const schema::Model& model) {
  std::string text;
  for (const schema::Node& node : model.graph().node())
    text += (text.empty() ? "" : " ") + node.op_type();
  return text;
}

std::vector<float> some(int64_t count) {
  std::vector<float> made;
  for (int64_t i = 0; i < count; ++i) made.push_back(static_cast<float>(i * 7 % 11 - 5) / 8);
  return made;
}
Literal some(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  std::vector<float> values = some(count);
  return numbers(shape, {values.begin(), values.end()});
}
/// Adds the weights w and r of a recurrent operator of one direction, and returns their names.
Names weights(schema::Graph& graph, const std::string& name, int64_t gates, int64_t features,
              int64_t hidden) {
  add_floats(graph, name + ".w", some(gates * hidden * features), {1, gates * hidden, features});
  add_floats(graph, name + ".r", some(gates * hidden * hidden), {1, gates * hidden, hidden});
  return {name + ".w", name + ".r"};
}
Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

// --- graphs --------------------------------------------------------------------------------------

TEST(Kept, SeveralInARow) {
  schema::Graph graph = body({}, {"y", "cell", "walked"});
  add_input(graph, "x", {4, 1, 3});
  add_node(graph, "LSTM", with({"x"}, weights(graph, "lstm", 4, 3, 2)), {"all", "", "cell"});
  add_integers(graph, "axes", {1}, {1});
  add_node(graph, "Squeeze", {"all", "axes"}, {"steps"});
  add_integers(graph, "lengths", {3}, {1}, schema::Tensor::INT32);
  add_node(graph, "GRU",
           with({"steps"}, with(weights(graph, "gru", 3, 2, 2), {"", "lengths", "cell"})),
           {"gated", "last"});
  add_floats(graph, "table", some(4), {2, 1, 2});
  add_node(graph, "Tanh", {"table"}, {"places"});
  add_node(graph, "RNN", with({"places"}, with(weights(graph, "rnn", 1, 2, 2), {"", "", "last"})),
           {"", "walked"});
  add_node(graph, "Relu", {"gated"}, {"y"});
  schema::Model model = kept_and_equal(graph, 18, {{"x", some({4, 1, 3})}});
  EXPECT_EQ(ops(model), "Tanh LSTM Reshape GRU Relu RNN");
  ASSERT_EQ(model.graph().node_size(), 6);
  EXPECT_EQ(model.graph().node(1).output(2), "cell") << "the model's own output";
  EXPECT_EQ(model.graph().node(1).output(1), "");
  EXPECT_EQ(model.graph().node(3).input(5), "cell");
  EXPECT_EQ(model.graph().node(5).output(1), "walked");
  EXPECT_EQ(model.graph().input_size(), 1);
  EXPECT_EQ(model.graph().output_size(), 3);
}

/// A bidirectional recurrence of `op` over `steps` steps, with a first state.
schema::Graph long_recurrence(const std::string& op, int64_t gates, int64_t steps,
                              llvm::ArrayRef<int64_t> state) {
  schema::Graph graph = body({}, {"y", "h"});
  add_input(graph, "x", {steps, 1, 3});
  add_floats(graph, "w", some(2 * gates * 2 * 3), {2, gates * 2, 3});
  add_floats(graph, "r", some(2 * gates * 2 * 2), {2, gates * 2, 2});
  add_input(graph, "first", state);
  add_node(graph, op, {"x", "w", "r", "", "", "first"}, {"y", "h"});
  schema::Attribute& direction = *graph.mutable_node(0)->add_attribute();
  direction.set_name("direction");
  direction.set_type(schema::Attribute::STRING);
  direction.set_s("bidirectional");
  return graph;
}

TEST(Kept, HasNoStepsHoweverLongItIs) {
  for (auto [op, gates] : {std::pair("RNN", 1), {"GRU", 3}, {"LSTM", 4}}) {
    SCOPED_TRACE(op);
    schema::Graph graph = long_recurrence(op, gates, 100'000, {2, 1, 2});
    std::optional<Imported> kept = imported(model_around(graph, 18), 18);
    ASSERT_TRUE(kept && kept->kept);
    EXPECT_LT(kept->graph.size(), 50U);
    EXPECT_EQ(kept->graph.type(kept->graph.outputs()[0].node).text(), "f32[100000, 2, 1, 2]");
    EXPECT_EQ(ops(written(*kept, 18)), op);
  }
}

TEST(Kept, ReportsTheFaultsOfItsDecomposition) {
  DiagnosticSink sink;
  ImportOptions options;
  options.keep_for = 18;
  schema::Graph graph = long_recurrence("GRU", 3, 5, {2, 1, 3});
  EXPECT_FALSE(import_model(file_of(model_around(graph, 18)), options, sink));
  ASSERT_EQ(sink.all().size(), 1U);
  EXPECT_TRUE(llvm::StringRef(sink.all()[0].message).contains("its initial state is f32[2, 1, 3]"))
      << sink.all()[0].message;
}

TEST(Kept, ANodeIsAWholeModel) {
  schema::Graph graph = body({}, {"y", "same"});
  for (const char* name : {"q", "k", "v"}) add_input(graph, name, {1, 2, 3, 4});
  add_node(graph, "Attention", {"q", "k", "v"}, {"y"});
  add_node(graph, "Identity", {"y"}, {"same"});
  Literal x = some({1, 2, 3, 4});
  schema::Model model = kept_and_equal(graph, 23, {{"q", x}, {"k", x}, {"v", x}});
  EXPECT_EQ(ops(model), "Attention Identity");
  EXPECT_EQ(model.opset_import(0).version(), 23);
}

TEST(Kept, AttentionExtendsACache) {
  schema::Graph graph = body({}, {"y", "keys", "values"});
  for (const char* name : {"q", "k", "v"}) add_input(graph, name, {1, 3, 8});
  for (const char* name : {"past_k", "past_v"}) add_input(graph, name, {1, 2, 5, 4});
  add_node(graph, "Neg", {"q"}, {"minus"});
  schema::Node& node = add_node(graph, "Attention", {"minus", "k", "v", "", "past_k", "past_v"},
                                {"z", "keys", "values"});
  for (const char* name : {"q_num_heads", "kv_num_heads"}) set(node, name, 2);
  set(node, "is_causal", 1);
  add_node(graph, "Neg", {"z"}, {"y"});
  Literal x = some({1, 3, 8}), past = some({1, 2, 5, 4});
  schema::Model model =
      kept_and_equal(graph, 23, {{"q", x}, {"k", x}, {"v", x}, {"past_k", past}, {"past_v", past}});
  EXPECT_EQ(ops(model), "Neg Attention Neg");
}

TEST(Kept, TurnsByPositionsAreOneOperator) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {1, 2, 3, 4});
  for (const char* name : {"cos", "sin"}) add_input(graph, name, {1, 3, 2});
  add_node(graph, "Neg", {"x"}, {"minus"});
  add_node(graph, "RotaryEmbedding", {"minus", "cos", "sin"}, {"turned"});
  add_node(graph, "Neg", {"turned"}, {"y"});
  Literal angles = some({1, 3, 2});
  schema::Model model =
      kept_and_equal(graph, 23, {{"x", some({1, 2, 3, 4})}, {"cos", angles}, {"sin", angles}});
  EXPECT_EQ(ops(model), "Neg RotaryEmbedding Neg");
}

TEST(Kept, EachCallOfAFunctionHasItsOwn) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {4, 1, 2});
  schema::Graph inner; // its nodes are the function's body
  schema::Node& rnn = add_node(inner, "RNN", {"x", "w", "r"}, {"all"});
  rnn.set_name("rnn");
  schema::Attribute& passed = attribute(rnn, "direction", schema::Attribute::STRING);
  passed.set_ref_attr_name("way");
  add_node(inner, "Squeeze", {"all", "axes"}, {"y"});
  add_integers(graph, "axes", {1}, {1});
  Names of = weights(graph, "rnn", 1, 2, 2);
  for (auto [from, to, way] : {std::tuple("x", "h", "forward"), std::tuple("h", "y", "reverse")}) {
    schema::Node& call = add_node(graph, "Layer", {from, of[0], of[1], "axes"}, {to});
    call.set_domain("own");
    set(call, "way", std::string(way));
  }
  schema::Model model = model_around(graph, 18);
  schema::OperatorSet& own = *model.add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  schema::Function& function = *model.add_functions();
  function.set_name("Layer");
  function.set_domain("own");
  for (const char* name : {"x", "w", "r", "axes"}) function.add_input(name);
  function.add_output("y");
  function.add_attribute("way");
  for (const schema::Node& node : inner.node()) *function.add_node() = node;
  std::optional<Imported> kept = imported(model, 18), source = imported(model);
  ASSERT_TRUE(kept && kept->kept && source);
  std::optional<Imported> again = imported(written(*kept, 18));
  ASSERT_TRUE(again);
  Literals inputs{{"x", some({4, 1, 2})}};
  EXPECT_EQ(compute(*again, inputs)["y"].reals, compute(*source, inputs)["y"].reals);
  EXPECT_EQ(kept->kept->text(), "2 RNN");
  EXPECT_EQ(kept->kept->nodes[1].node.attribute(0).name(), "direction");
  EXPECT_EQ(kept->kept->nodes[1].node.attribute(0).s(), "reverse");
}

// --- which ---------------------------------------------------------------------------------------

schema::Graph lstm(int64_t layout) {
  schema::Graph graph = body({}, {"last"});
  add_input(graph, "x", {4, 2, 3});
  schema::Node& node =
      add_node(graph, "LSTM", with({"x"}, weights(graph, "lstm", 4, 3, 2)), {"", "last"});
  if (layout >= 0) set(node, "layout", layout);
  return graph;
}

TEST(Kept, RequiresAnOperatorOfTheWrittenOpset) {
  auto why_not = [](const schema::Graph& graph, int64_t opset, int keep_for) {
    std::optional<Imported> made = imported(model_around(graph, opset), keep_for);
    EXPECT_TRUE(made->kept.has_value() || made->written_out.size() == 1);
    return made->kept ? "" : made->written_out[0];
  };
  EXPECT_EQ(why_not(lstm(-1), 22, 13), "");
  EXPECT_EQ(why_not(lstm(1), 14, 13), "LSTM `last`");
  EXPECT_EQ(why_not(lstm(1), 14, 14), "");
  schema::Graph attention = body({}, {"y"});
  for (const char* name : {"q", "k", "v"}) add_input(attention, name, {1, 2, 3, 4});
  add_node(attention, "Attention", {"q", "k", "v"}, {"y"}).set_name("all");
  EXPECT_EQ(why_not(attention, 23, 22), "Attention `all`");
  EXPECT_EQ(why_not(attention, 24, 23), "Attention `all`");
}

TEST(Kept, DecomposesRecurrencesOfOneStep) {
  for (int64_t layout : {0, 1}) {
    schema::Graph graph = lstm(layout);
    graph.mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(static_cast<int>(layout))
        ->set_dim_value(1);
    std::optional<Imported> made = imported(model_around(graph, 18), 18);
    EXPECT_FALSE(made->kept.has_value()) << layout;
    EXPECT_TRUE(made->written_out.empty());
  }
}

TEST(Kept, KeepsNothingByDefault) {
  std::optional<Imported> made = imported(model_around(lstm(-1), 18));
  EXPECT_FALSE(made->kept.has_value());
  EXPECT_TRUE(made->written_out.empty());
}

TEST(Kept, ACacheWithoutPlacesIsNotATensorOfAGraph) {
  schema::Graph graph = body({}, {"y"});
  for (const char* name : {"q", "k", "v"}) add_input(graph, name, {1, 2, 3, 4});
  for (const char* name : {"past_k", "past_v"}) add_input(graph, name, {1, 2, 0, 4});
  add_node(graph, "Attention", {"q", "k", "v", "", "past_k", "past_v"}, {"y"});
  std::optional<Imported> made = imported(model_around(graph, 23), 23);
  EXPECT_FALSE(made->kept.has_value());
  EXPECT_EQ(made->written_out, Names{"Attention `y`"});
}

TEST(Kept, AnOpsetThatIsTooOldIsRefused) {
  std::optional<Imported> made = imported(model_around(lstm(1), 18), 18);
  std::optional<Graph> joined = join_kept(made->graph, *made->kept);
  EXPECT_EQ(message_of(export_graph(*joined, {13, "1", &*made->kept})),
            "opset 13 is too old for the kept nodes (1 LSTM), which require 14");
}

// --- cycles --------------------------------------------------------------------------------------

TEST(Kept, ANodeThatWaitsForItselfIsFound) {
  auto symbols = std::make_shared<Symbols>();
  KeptNodes kept{{}, Graph(symbols), {"a", "b", "c", "d"}};
  for (auto [from, to] : {std::pair("a", "b"), std::pair("c", "d")}) {
    kept.nodes.push_back({{}, 7});
    kept.nodes.back().node.add_input(from);
    kept.nodes.back().node.add_output(to);
  }
  for (bool circle : {false, true}) {
    Graph graph(symbols);
    NodeId x = graph.input("x", f32({2})), b = graph.input("b", f32({2})),
           d = graph.input("d", f32({2}));
    graph.add_output("y", graph.add(OpKind::Add, {}, {b, d}));
    graph.add_output("a", circle ? graph.add(OpKind::Mul, {}, {x, d}) : x);
    graph.add_output("c", graph.add(OpKind::Mul, {}, {x, b}));
    EXPECT_EQ(join_kept(graph, kept).has_value(), !circle);
  }
}

} // namespace
} // namespace tg::onnx
