// Tests nodes that the import expands to several operators: they are written as they were read.
#include "compiler/import/onnx/write/restore.h"

#include "compiler/import/onnx/write/export.h"
#include "tests/unit/import/small_graphs.h"

#include <gtest/gtest.h>

namespace tg::onnx {
namespace {

constexpr int kOpset = 18;

std::optional<Imported> imported(const schema::Graph& graph, int64_t opset, int keep_for) {
  schema::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  *model.mutable_graph() = graph;
  DiagnosticSink sink;
  ImportOptions options;
  options.keep_for = keep_for;
  std::optional<Imported> made = import_model(file_of(model), options, sink);
  for (const Diagnostic& one : sink.all()) ADD_FAILURE() << one.message;
  return made;
}

/// Returns the file of the graph, which may differ from the source's graph.
Exported written(const Imported& source, const Graph& graph) {
  KeptNodes none{{}, Graph(source.graph.shared_symbols()), {}};
  const KeptNodes& kept = source.kept ? *source.kept : none;
  std::optional<Graph> joined = join_kept(graph, kept);
  EXPECT_TRUE(joined.has_value());
  Restored restored = restore_nodes(*joined, kept, source.graph, *source.facts, kOpset);
  EXPECT_EQ(verify(restored.graph), "");
  Result<Exported> made = export_graph(prepare_for_export(restored.graph).graph,
                                       {kOpset, "1", &restored.kept, nullptr, &*source.facts});
  EXPECT_TRUE(made.ok()) << message_of(made);
  return std::move(*made);
}

std::string ops(const schema::Graph& graph) {
  std::string text;
  for (const schema::Node& node : graph.node()) text += (text.empty() ? "" : " ") + node.op_type();
  return text;
}

/// A node whose inputs are `reals` in f32 and `wholes` in i64.
schema::Graph around(const std::string& op, llvm::ArrayRef<Shape> reals,
                     llvm::ArrayRef<Shape> wholes, size_t results) {
  Names inputs, outputs;
  for (size_t i = 0; i < reals.size(); ++i) inputs.push_back("x" + std::to_string(i));
  for (size_t i = 0; i < wholes.size(); ++i) inputs.push_back("i" + std::to_string(i));
  for (size_t i = 0; i < results; ++i) outputs.push_back("y" + std::to_string(i));
  schema::Graph graph = body({}, outputs);
  for (size_t i = 0; i < reals.size(); ++i) add_input(graph, "x" + std::to_string(i), reals[i]);
  for (size_t i = 0; i < wholes.size(); ++i)
    add_input(graph, "i" + std::to_string(i), wholes[i], schema::Tensor::INT64);
  add_node(graph, op, inputs, outputs);
  return graph;
}

std::string written_as(const schema::Graph& graph, int64_t opset = kOpset) {
  std::optional<Imported> source = imported(graph, opset, kOpset);
  if (!source || !source->facts) return "nothing";
  return ops(written(*source, source->graph).graph);
}

TEST(Restored, NodesOfSeveralOperators) {
  EXPECT_EQ(written_as(around("GatherElements", {{4, 5}}, {{4, 2}}, 1)), "GatherElements");
  EXPECT_EQ(written_as(around("GatherND", {{4, 5}}, {{3, 2}}, 1)), "GatherND");
  EXPECT_EQ(written_as(around("Gather", {{4, 5}}, {{3}}, 1)), "Gather");
  EXPECT_EQ(written_as(around("Div", {}, {{4, 5}, {4, 5}}, 1)), "Div");
  EXPECT_EQ(written_as(around("Trilu", {{4, 5}}, {}, 1)), "Trilu");
  EXPECT_EQ(written_as(around("InstanceNormalization", {{1, 3, 4}, {3}, {3}}, {}, 1)),
            "InstanceNormalization");
  EXPECT_EQ(written_as(around("PRelu", {{2, 3, 4}, {3, 1}}, {}, 1)), "PRelu");
  EXPECT_EQ(written_as(around("Softsign", {{4}}, {}, 1)), "Softsign");
}

TEST(Restored, NodesOfSeveralResults) {
  schema::Graph graph = around("MaxPool", {{1, 2, 4, 4}}, {}, 2);
  schema::Attribute& kernel =
      attribute(*graph.mutable_node(0), "kernel_shape", schema::Attribute::INTS);
  kernel.add_ints(2);
  kernel.add_ints(2);
  EXPECT_EQ(written_as(graph), "MaxPool");
}

TEST(Restored, NodesOfOlderOpsetsAsNewerOnesSpellThem) {
  EXPECT_EQ(written_as(around("Split", {{6, 2}}, {}, 3), 13), "Split");
  schema::Graph graph = around("ReduceL2", {{4, 5}}, {}, 1);
  attribute(*graph.mutable_node(0), "axes", schema::Attribute::INTS).add_ints(1);
  std::optional<Imported> source = imported(graph, 13, kOpset);
  schema::Graph made = written(*source, source->graph).graph;
  EXPECT_EQ(ops(made), "ReduceL2");
  EXPECT_EQ(made.node(0).input_size(), 2) << "axes are an input since opset 18";
  EXPECT_EQ(made.node(0).attribute_size(), 0);
  EXPECT_EQ(written_as(around("Hardmax", {{4, 5}}, {}, 1), 11).find("Hardmax"), std::string::npos)
      << "another operator before opset 13";
}

TEST(Restored, KeepsSeveralNodesOfOneKindAndTheirNeighbours) {
  schema::Graph graph = body({}, {"y"});
  add_input(graph, "x", {4, 4});
  add_node(graph, "Trilu", {"x"}, {"a"});
  add_node(graph, "Neg", {"a"}, {"b"});
  add_node(graph, "Trilu", {"b"}, {"c"});
  add_node(graph, "Softsign", {"c"}, {"y"});
  EXPECT_EQ(written_as(graph), "Trilu Neg Trilu Softsign");
}

TEST(Restored, LeavesRewrittenNodesDecomposed) {
  std::optional<Imported> source = imported(around("Softsign", {{4}}, {}, 1), kOpset, kOpset);
  Graph other(source->graph.shared_symbols(), "m"); // x / (1 + |x| + |x|) is not a softsign
  NodeId x = other.input("x0", f32({4}));
  NodeId size = other.add(OpKind::Abs, {}, {x});
  NodeId sum = other.add(OpKind::Add, {}, {size, size});
  other.add_output("y0", other.add(OpKind::Div, {}, {x, sum}));
  EXPECT_EQ(ops(written(*source, other).graph), "Abs Add Div");
}

TEST(Restored, RowsThatDataSelectsHaveNoPadding) {
  schema::Graph graph = around("NonMaxSuppression", {{1, 6, 4}, {1, 2, 6}}, {}, 1);
  add_integers(graph, "most", {3}, {1});
  graph.mutable_node(0)->add_input("most");
  std::optional<Imported> source = imported(graph, kOpset, kOpset);
  schema::Graph made = written(*source, source->graph).graph;
  EXPECT_EQ(ops(made), "NonMaxSuppression");
  ASSERT_EQ(made.output_size(), 1);
  const schema::Shape& shape = made.output(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 2);
  EXPECT_FALSE(shape.dim(0).has_dim_value());
  EXPECT_EQ(shape.dim(1).dim_value(), 3);
}

TEST(Restored, InputsWithDefaultValues) {
  schema::Graph graph = around("Add", {{9}, {9}}, {}, 1);
  add_floats(graph, "x1", std::vector<float>(9, 2), {9});
  std::optional<Imported> source = imported(graph, kOpset, kOpset);
  schema::Graph made = written(*source, source->graph).graph;
  ASSERT_EQ(made.input_size(), 2);
  EXPECT_EQ(made.input(1).name(), "x1");
}

} // namespace
} // namespace tg::onnx
