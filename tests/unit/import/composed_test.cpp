// Tests imported operators that become several operators here: they need as few products
// as possible, and no work for cases that are known not to occur.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/import/small_graphs.h"

namespace tg::onnx {
namespace {

/// Returns the number of uses of an operator at run time. Work on weights alone does not count.
int64_t count(const Graph& graph, OpKind op) {
  std::vector<bool> needed = graph.reachable();
  int64_t found = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(NodeId{i});
    found += needed[i] && node.op == op && !node.weight_only;
  }
  return found;
}

std::optional<Imported> imported(const schema::Graph& graph, int64_t opset = 24) {
  std::string messages;
  auto made = import_graph(graph, messages, opset);
  EXPECT_TRUE(made) << messages;
  return made;
}

std::vector<float> some(size_t count) {
  std::vector<float> made;
  for (size_t i = 0; i < count; ++i) made.push_back(static_cast<float>(i % 5) - 2);
  return made;
}

// --- padding -------------------------------------------------------------------------------------

TEST(Padding, WritesIndicesOnlyForAddedElements) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {2, 100'000});
  add_integers(graph, "pads", {0, 2, 0, 3}, {4});
  set(add_node(graph, "Pad", {"x", "pads"}, {"y"}), "mode", std::string("reflect"));
  auto made = imported(graph);
  EXPECT_EQ(made->graph.type(made->graph.outputs().front().node).shape, Shape({2, 100'005}));
  std::vector<bool> needed = made->graph.reachable();
  for (uint32_t i = 0; i < made->graph.size(); ++i)
    if (needed[i] && made->graph.node(NodeId{i}).op == OpKind::Constant) {
      EXPECT_LE(made->graph.type(NodeId{i}).elements(), 3);
    }
}

// --- recurrent operators -------------------------------------------------------------------------

/// An LSTM with 2 hidden features over x f32[4, 1, 3], with its weights in the file.
schema::Graph lstm() {
  schema::Graph graph = body({}, {"last"});
  add_input(graph, "x", {4, 1, 3});
  add_floats(graph, "w", some(24), {1, 8, 3});
  add_floats(graph, "r", some(16), {1, 8, 2});
  set(add_node(graph, "LSTM", {"x", "w", "r", "", "lengths"}, {"", "last"}), "hidden_size", 2);
  return graph;
}

TEST(Recurrent, TakesOneProductForAllInputsAndOneForEachState) {
  schema::Graph graph = lstm();
  graph.mutable_node(0)->set_input(4, "");
  auto made = imported(graph);
  // The first state is known, so that its product is computed at load.
  EXPECT_EQ(count(made->graph, OpKind::Matmul), 4);
  EXPECT_EQ(count(made->graph, OpKind::Transpose), 0);
}

TEST(Recurrent, StopsWhereAKnownSequenceEnds) {
  schema::Graph graph = lstm();
  add_integers(graph, "lengths", {2}, {1}, schema::Tensor::INT32);
  auto made = imported(graph);
  EXPECT_EQ(count(made->graph, OpKind::Matmul), 2);
  EXPECT_EQ(count(made->graph, OpKind::Select), 0);
}

TEST(Recurrent, KeepsTheStateOfSequencesThatDataEnds) {
  schema::Graph graph = lstm(), known = lstm();
  add_input(graph, "lengths", {1}, schema::Tensor::INT32);
  add_integers(known, "lengths", {3}, {1}, schema::Tensor::INT32);
  auto by_data = imported(graph), by_file = imported(known);
  Literal x = numbers({4, 1, 3}, {1, 2, 3, 4, 5, 6, 1, 3, 5, 2, 4, 6});
  Literal lengths{{DType::I32, {1}}, {3}, {}};
  EXPECT_EQ(compute(*by_data, {{"x", x}, {"lengths", lengths}})["last"].reals,
            compute(*by_file, {{"x", x}})["last"].reals);
}

TEST(Recurrent, NamesAnActivationThatItDoesNotKnow) {
  schema::Graph graph = lstm();
  graph.mutable_node(0)->set_input(4, "");
  schema::Attribute& names =
      attribute(*graph.mutable_node(0), "activations", schema::Attribute::STRINGS);
  for (const char* name : {"Sigmoid", "Swoosh", "Tanh"}) names.add_strings(name);
  EXPECT_EQ(messages_of(graph),
            "`m.onnx`: node `last` (LSTM): the activation `Swoosh` is unknown\n");
}

// --- einsum --------------------------------------------------------------------------------------

schema::Graph einsum(const std::string& equation, const std::vector<std::vector<int64_t>>& shapes) {
  schema::Graph graph = body({}, {"y"});
  Names names;
  for (const std::vector<int64_t>& shape : shapes) {
    names.push_back("x" + std::to_string(names.size()));
    add_input(graph, names.back(), shape);
  }
  set(add_node(graph, "Einsum", names, {"y"}), "equation", equation);
  return graph;
}

TEST(Einsum, BecomesOneProductForAttention) {
  auto made = imported(einsum("bhqd,bhkd->bhqk", {{2, 3, 4, 5}, {2, 3, 6, 5}}));
  EXPECT_EQ(count(made->graph, OpKind::Matmul), 1);
  EXPECT_EQ(count(made->graph, OpKind::Transpose), 1);
  EXPECT_EQ(made->graph.op_count(), 2u);
}

TEST(Einsum, SumsBeforeItMultiplies) {
  auto made = imported(einsum("ab,bc->c", {{2, 3}, {3, 4}}));
  EXPECT_EQ(count(made->graph, OpKind::ReduceSum), 1);
  Literal a = numbers({2, 3}, {1, 2, 3, 4, 5, 6});
  Literal b = numbers({3, 4}, {1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1});
  EXPECT_EQ(compute(*made, {{"x0", a}, {"x1", b}})["y"].reals, std::vector<double>({5, 7, 9, 21}));
}

TEST(Einsum, TakesDiagonals) {
  auto made = imported(einsum("...ii->...i", {{2, 2, 2}}));
  EXPECT_EQ(compute(*made, {{"x0", numbers({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}})["y"].reals,
            std::vector<double>({1, 4, 5, 8}));
}

TEST(Einsum, RefusesAnEquationThatDoesNotFit) {
  EXPECT_EQ(messages_of(einsum("ij,jk->ik", {{2, 3}, {4, 5}})),
            "`m.onnx`: node `y` (Einsum): its equation gives one axis the sizes 3 and 4\n");
  EXPECT_EQ(messages_of(einsum("ij->k", {{2, 3}})),
            "`m.onnx`: node `y` (Einsum): its equation has a result with axes that are not in its "
            "inputs\n");
}

// --- attention -----------------------------------------------------------------------------------

/// Attention with 4 heads of queries and 2 of keys.
schema::Graph attention(bool causal) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "q", {1, 4, 3, 8});
  add_input(graph, "k", {1, 2, 5, 8});
  add_input(graph, "v", {1, 2, 5, 8});
  set(add_node(graph, "Attention", {"q", "k", "v"}, {"y"}), "is_causal", causal ? 1 : 0);
  return graph;
}

TEST(Attention, RepeatsNoKeysForHeadsThatShareThem) {
  auto made = imported(attention(false));
  EXPECT_EQ(count(made->graph, OpKind::Matmul), 2);
  EXPECT_EQ(count(made->graph, OpKind::Concat) + count(made->graph, OpKind::Gather), 0);
}

TEST(Attention, GuardsQueriesWithoutKeysWhereDataCanHideAll) {
  schema::Graph graph = attention(true);
  EXPECT_EQ(count(imported(graph)->graph, OpKind::Select), 0);
  add_input(graph, "mask", {3, 5}, schema::Tensor::BOOL);
  graph.mutable_node(0)->add_input("mask");
  auto made = imported(graph);
  EXPECT_EQ(count(made->graph, OpKind::Select), 2); // the mask, and the guard
  Literal mask{{DType::Bool, {3, 5}}, std::vector<int64_t>(15, 0), {}};
  Literal q = numbers({1, 4, 3, 8}, std::vector<double>(96, 1)),
          k = numbers({1, 2, 5, 8}, std::vector<double>(80, 1));
  Literals results = compute(*made, {{"q", q}, {"k", k}, {"v", k}, {"mask", mask}});
  EXPECT_EQ(results["y"].reals, std::vector<double>(96, 0));
}

// --- scatters ------------------------------------------------------------------------------------

/// Windows that are shifted by zero write such slices.
TEST(Scatter, WithoutUpdatesIsRemoved) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {3, 2});
  add_integers(graph, "places", {}, {0, 1});
  add_integers(graph, "elements", {}, {0, 2});
  add_floats(graph, "updates", {}, {0, 2});
  set(add_node(graph, "ScatterND", {"x", "places", "updates"}, {"by_rows"}), "reduction", "add");
  set(add_node(graph, "ScatterElements", {"by_rows", "elements", "updates"}, {"kept"}), "axis", 0);
  add_node(graph, "ScatterND", {"updates", "places", "updates"}, {"none"});
  set(add_node(graph, "Concat", {"kept", "none"}, {"y"}), "axis", 0);
  auto made = imported(graph);
  ASSERT_TRUE(made);
  EXPECT_EQ(count(made->graph, OpKind::Scatter), 0);
  Literal x = numbers({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(compute(*made, {{"x", x}}).at("y").reals, x.reals);
}

} // namespace
} // namespace tg::onnx
