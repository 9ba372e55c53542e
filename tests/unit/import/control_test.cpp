// Tests branches, loops and sequences of ONNX graphs, which the import removes.
#include <gtest/gtest.h>

#include "tests/unit/import/small_graphs.h"

namespace tg::onnx {
namespace {

using schema::Tensor;

std::vector<OpKind> operators(const Graph& graph) {
  std::vector<OpKind> made;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    OpKind op = graph.node(NodeId{i}).op;
    bool leaf = op_info(op).has(static_cast<uint32_t>(Trait::Leaf));
    if (needed[i] && !leaf) made.push_back(op);
  }
  return made;
}

/// y = condition ? x * x : x * x^T, for x f32[2, 2].
schema::Graph branching() {
  schema::Graph yes = body({}, {"a"}), no = body({}, {"b"});
  add_node(yes, "MatMul", {"x", "x"}, {"a"});
  set(add_node(no, "Gemm", {"x", "x"}, {"b"}), "transB", 1);
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {2, 2});
  schema::Node& branch = add_node(graph, "If", {"condition"}, {"y"});
  set(branch, "then_branch", yes);
  set(branch, "else_branch", no);
  return graph;
}

TEST(If, TakesTheBranchOfAKnownCondition) {
  schema::Graph graph = branching();
  add_integers(graph, "condition", {1}, {}, Tensor::BOOL);
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  EXPECT_EQ(operators(imported->graph), std::vector({OpKind::Matmul}));
}

TEST(If, SelectsByAConditionThatDependsOnData) {
  schema::Graph graph = branching();
  add_input(graph, "condition", {1}, Tensor::BOOL);
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  Literal x = numbers({2, 2}, {1, 2, 3, 4}), flag = truth(true);
  flag.type.shape = {1};
  EXPECT_EQ(compute(*imported, {{"x", x}, {"condition", flag}})["y"].reals,
            std::vector<double>({7, 10, 15, 22}));
  flag.ints = {0};
  EXPECT_EQ(compute(*imported, {{"x", x}, {"condition", flag}})["y"].reals,
            std::vector<double>({5, 11, 11, 25}));
}

TEST(If, IsRefusedWhereDataDecidesAShape) {
  schema::Graph graph = branching();
  add_input(graph, "condition", {}, Tensor::BOOL);
  schema::Graph& no = *graph.mutable_node(0)->mutable_attribute(1)->mutable_g();
  no.mutable_node(0)->set_op_type("Det");
  no.mutable_node(0)->mutable_input()->RemoveLast();
  no.mutable_node(0)->clear_attribute();
  EXPECT_NE(messages_of(graph).find("its condition `condition` depends on data, and its "
                                    "branches give f32[2, 2] and f32"),
            std::string::npos)
      << messages_of(graph);
}

/// x^(2^3) by squaring in each round, and the squares of all rounds.
schema::Graph squaring() {
  schema::Graph square = body({"round", "go", "p"}, {"go", "q", "q2"});
  add_node(square, "MatMul", {"p", "p"}, {"q"});
  add_node(square, "Optional", {"q"}, {"q2"});
  schema::Graph graph = body({}, {"y", "all"});
  add_input(graph, "x", {1, 1});
  set(add_node(graph, "Loop", {"count", "", "x"}, {"y", "all"}), "body", square);
  return graph;
}

TEST(Loop, IsWrittenOutAndItsResultsStacked) {
  schema::Graph graph = squaring();
  add_integers(graph, "count", {3}, {});
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  Literals made = compute(*imported, {{"x", numbers({1, 1}, {2})}});
  EXPECT_EQ(made["y"].reals, std::vector<double>({256}));
  EXPECT_EQ(made["all"].reals, std::vector<double>({4, 16, 256}));
  EXPECT_EQ(made["all"].type, f32({3, 1, 1}));
}

TEST(Loop, RequiresAKnownNumberOfIterations) {
  schema::Graph graph = squaring();
  add_input(graph, "count", {}, Tensor::INT64);
  EXPECT_NE(messages_of(graph).find(
                "(Loop): its input 1 must be known when the file is read, but it depends on data"),
            std::string::npos)
      << messages_of(graph);
}

TEST(Loop, RefusesTooManyIterations) {
  schema::Graph graph = squaring();
  add_integers(graph, "count", {1'000'000}, {});
  EXPECT_NE(messages_of(graph).find("it has 1000000 iterations, but at most 4096 are unrolled"),
            std::string::npos)
      << messages_of(graph);
}

TEST(Loop, EndsWhereItsConditionDoes) {
  schema::Graph once = body({"round", "go", "p"}, {"stop", "q"});
  add_integers(once, "stop", {0}, {}, Tensor::BOOL);
  add_node(once, "MatMul", {"p", "p"}, {"q"});
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {1, 1});
  add_integers(graph, "go", {1}, {}, Tensor::BOOL);
  set(add_node(graph, "Loop", {"", "go", "x"}, {"y"}), "body", once);
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  EXPECT_EQ(imported->graph.op_count(), 1u);
}

TEST(Loop, NamesTheNodeOfItsBodyThatIsRefused) {
  schema::Graph graph = squaring();
  add_integers(graph, "count", {3}, {});
  graph.mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Frob");
  EXPECT_EQ(messages_of(graph), "`m.onnx`: node `q` (Frob): the operator is not supported\n");
}

TEST(Scan, RunsBackwardsAlongAnAxisAndStacksInFront) {
  schema::Graph step = body({"s", "e"}, {"next", "out"});
  set(add_node(step, "Einsum", {"s", "e"}, {"next"}), "equation", std::string("i,i->i"));
  add_node(step, "Optional", {"next"}, {"out"});
  schema::Graph graph = body({}, {"last", "all"});
  add_input(graph, "s", {2});
  add_input(graph, "x", {2, 3});
  schema::Node& scan = add_node(graph, "Scan", {"s", "x"}, {"last", "all"});
  set(scan, "body", step);
  set(scan, "num_scan_inputs", 1);
  for (const char* name :
       {"scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"})
    attribute(scan, name, schema::Attribute::INTS).add_ints(1);
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  Literals made =
      compute(*imported, {{"s", numbers({2}, {1, 1})}, {"x", numbers({2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(made["last"].reals, std::vector<double>({6, 120}));
  EXPECT_EQ(made["all"].reals, std::vector<double>({6, 6, 3, 120, 30, 6}));
}

TEST(Sequences, VanishWhereTheyAreTakenApart) {
  schema::Graph graph = body({}, {"y", "count"});
  add_input(graph, "a", {2, 2});
  add_input(graph, "b", {1, 2});
  add_integers(graph, "front", {0}, {});
  set(add_node(graph, "SplitToSequence", {"a"}, {"s1"}), "axis", 0);
  add_node(graph, "SequenceInsert", {"s1", "b", "front"}, {"s2"});
  add_node(graph, "SequenceErase", {"s2"}, {"s3"});
  add_node(graph, "SequenceLength", {"s3"}, {"count"});
  set(add_node(graph, "ConcatFromSequence", {"s3"}, {"y"}), "axis", -2);
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  Literals made =
      compute(*imported, {{"a", numbers({2, 2}, {1, 2, 3, 4})}, {"b", numbers({1, 2}, {5, 6})}});
  EXPECT_EQ(made["y"].reals, std::vector<double>({5, 6, 1, 2}));
  EXPECT_EQ(made["count"].ints, std::vector<int64_t>({2}));
}

TEST(Sequences, AreMappedItemByItem) {
  schema::Graph square = body({"e", "w"}, {"f"});
  add_node(square, "MatMul", {"e", "w"}, {"f"});
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "a", {2, 1});
  add_input(graph, "w", {1, 1});
  set(add_node(graph, "SplitToSequence", {"a"}, {"s"}), "axis", 0);
  set(add_node(graph, "SequenceMap", {"s", "w"}, {"t"}), "body", square);
  set(add_node(graph, "ConcatFromSequence", {"t"}, {"y"}), "axis", 0);
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  Literals made =
      compute(*imported, {{"a", numbers({2, 1}, {3, 4})}, {"w", numbers({1, 1}, {10})}});
  EXPECT_EQ(made["y"].reals, std::vector<double>({30, 40}));
}

TEST(Sequences, AreRefusedAsOutputsOfAGraph) {
  schema::Graph graph = body({}, {"s"});
  add_input(graph, "a", {2});
  add_node(graph, "SequenceConstruct", {"a"}, {"s"});
  EXPECT_EQ(messages_of(graph), "`m.onnx`: the output `s` is not a tensor\n");
}

TEST(Optional, HoldsAValueOrNone) {
  schema::Graph graph = body({}, {"yes", "no"});
  add_input(graph, "a", {2});
  add_node(graph, "Optional", {"a"}, {"full"});
  add_node(graph, "Optional", {}, {"empty"});
  add_node(graph, "OptionalHasElement", {"full"}, {"yes"});
  add_node(graph, "OptionalHasElement", {"empty"}, {"no"});
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  Literals made = compute(*imported, {{"a", numbers({2}, {1, 2})}});
  EXPECT_EQ(made["yes"].ints, std::vector<int64_t>({1}));
  EXPECT_EQ(made["no"].ints, std::vector<int64_t>({0}));
}

TEST(Scopes, SeparateWeightsOfOneNameInTwoBranches) {
  schema::Graph yes = body({}, {"a"}), no = body({}, {"b"});
  add_floats(yes, "w", {1, 0, 0, 1}, {2, 2});
  add_floats(no, "w", {0, 1, 1, 0}, {2, 2});
  add_node(yes, "MatMul", {"x", "w"}, {"a"});
  add_node(no, "MatMul", {"x", "w"}, {"b"});
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {1, 2});
  add_input(graph, "condition", {}, Tensor::BOOL);
  schema::Node& branch = add_node(graph, "If", {"condition"}, {"y"});
  set(branch, "then_branch", yes);
  set(branch, "else_branch", no);
  std::string messages;
  auto imported = import_graph(graph, messages);
  ASSERT_TRUE(imported) << messages;
  Literal x = numbers({1, 2}, {1, 2});
  EXPECT_EQ(compute(*imported, {{"x", x}, {"condition", truth(true)}})["y"].reals,
            std::vector<double>({1, 2}));
  EXPECT_EQ(compute(*imported, {{"x", x}, {"condition", truth(false)}})["y"].reals,
            std::vector<double>({2, 1}));
}

TEST(Functions, UnfoldWithTheAttributesOfTheirCall) {
  schema::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(18);
  schema::OperatorSet& own = *model.add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  schema::Function& function = *model.add_functions();
  function.set_domain("own");
  function.set_name("Turn");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("how");
  schema::Graph nodes;
  schema::Node& inner = add_node(nodes, "Einsum", {"a"}, {"b"});
  attribute(inner, "equation", schema::Attribute::STRING).set_ref_attr_name("how");
  *function.add_node() = inner;
  schema::Graph& graph = *model.mutable_graph() = body({}, {"y"});
  add_input(graph, "x", {1, 2});
  schema::Node& call = add_node(graph, "Turn", {"x"}, {"y"});
  call.set_domain("own");
  set(call, "how", std::string("ij->ji"));
  DiagnosticSink sink;
  auto imported = import_model(file_of(model), {}, sink);
  ASSERT_TRUE(imported) << (sink.all().empty() ? "" : sink.all()[0].message);
  EXPECT_EQ(imported->graph.type(imported->graph.outputs()[0].node), f32({2, 1}));
}

} // namespace
} // namespace tg::onnx
