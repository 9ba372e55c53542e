// Tests that constant folding computes the same as the graph: every operator in the table,
// with random operands and attributes, as an expression that is known at load,
// folded into a weight file and read back, against the same graph without folding.
// A new operator is covered by its row.
#include "compiler/api/files/unfold.h"
#include "compiler/ir/to_text.h"
#include "tests/property/programs/random_operator.h"
#include "tests/unit/api/open_weights.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

namespace tg::test {
namespace {

constexpr uint64_t kEach = 6;

/// Returns a value that is known at load: a weight, a constant, or an iota.
NodeId known(Graph& graph, const TensorType& type, uint64_t seed) {
  std::string path = "w" + std::to_string(graph.size());
  if (type.dtype == DType::Bool) return graph.constant({static_cast<double>(seed % 2)}, type);
  if (!is_float(type.dtype) || seed % 3 == 1)
    return graph.constant({static_cast<double>(seed % 4)}, type);
  NodeId weight = graph.weight(path, type, "uniform(0.5, 1.5)");
  if (seed % 3 == 0 || type.shape.empty()) return weight;
  Symbols& symbols = graph.symbols(); // an operator without operands
  NodeId iota = graph.add(
      OpKind::Iota, {symbols.value(Value::of_type(type)), symbols.value(Value::of_int(0))}, {});
  return iota.valid() ? iota : weight;
}

std::vector<Tensor> run(const Graph& graph, WeightSource weights) {
  PrepareOptions options;
  options.backend = "ref";
  options.weights = std::move(weights);
  auto prepared = prepare_with_inputs(graph, options);
  if (!prepared) return ADD_FAILURE() << prepared.error().message, std::vector<Tensor>();
  EXPECT_TRUE(prepared->executable->run_once().ok());
  auto outputs = prepared->executable->outputs();
  return outputs ? std::move(*outputs) : std::vector<Tensor>();
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Adds the operator's result as an output, and again combined with an input,
/// so that it is also an operand.
void add_outputs(Graph& graph, NodeId id) {
  const TensorType& type = graph.type(id);
  graph.add_output("alone", id);
  NodeId x = graph.input("x", type);
  Symbols& symbols = graph.symbols();
  graph.add_output("beside",
                   graph.add(OpKind::Concat, {symbols.value(Value::of_int(0))}, {x, id}).valid()
                       ? graph.add(OpKind::Concat, {symbols.value(Value::of_int(0))}, {x, id})
                       : x);
}

void fold_and_compare(const Graph& graph, const std::string& path) {
  PrepareOptions options;
  options.backend = "ref";
  Folded folded = fold_weights(graph);
  for (uint32_t i = 0; i < folded.graph.size(); ++i) {
    NodeId id{i};
    EXPECT_TRUE(!folded.graph.node(id).weight_only ||
                op_info(folded.graph.node(id).op).has(Trait::Leaf));
  }
  Result<void> saved = save_folded_weights(folded, options, path);
  ASSERT_TRUE(saved.ok()) << saved.error().message << "\n" << to_text(graph);
  Result<WeightSource> source = open_weights(folded.graph, path);
  ASSERT_TRUE(source.ok()) << source.error().message << "\n" << to_text(graph);
  std::vector<Tensor> plain = run(graph, {}), read = run(folded.graph, *source);
  ASSERT_EQ(plain.size(), read.size());
  for (size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(same_bytes(plain[i], read[i])) << to_text(graph);
}

/// Checks that the record in the file leads back to the weights of the source.
void trace(const Graph& graph, const std::string& path) {
  Folded folded = fold_weights(graph);
  auto file = open_weight_file(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  Result<std::vector<Graph>> foldings = read_foldings(**file);
  ASSERT_TRUE(foldings.ok()) << foldings.error().message << "\n" << to_text(graph);
  ASSERT_EQ(foldings->size(), 1U);
  const Graph& values = foldings->front();
  Result<FoldingCheck> check = check_folding(values, {}, **file);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_FALSE(check->wrong) << check->wrong->path << " " << check->wrong->a.as_real() << " "
                             << check->wrong->b.as_real() << "\n"
                             << to_text(graph);
  EXPECT_TRUE(weights_of_one_side(unfold(folded.graph, values), graph).empty());
}

TEST(Folding, EveryOperatorAsAConstantExpression) {
  std::string path = testing::TempDir() + "tangram_folding_test.safetensors";
  for (const OpInfo& op : all_ops()) {
    // Leaves are not computed, sugar does not occur in graphs, and a declared operator has no
    // kernel here.
    if (op.has(Trait::Leaf | Trait::Sugar) || op.kind == OpKind::Extern) continue;
    for (uint64_t seed = 0; seed < kEach; ++seed) {
      uint64_t draws = seed;
      RandomOperator random(
          seed * 1000 + static_cast<uint64_t>(op.kind),
          [&](Graph& graph, const TensorType& type) { return known(graph, type, draws++); });
      Graph graph(std::make_shared<Symbols>(), "constant");
      NodeId id = random.add(graph, op);
      ASSERT_TRUE(id.valid()) << "no operands were found for " << op.name;
      add_outputs(graph, id);
      fold_and_compare(graph, path);
      trace(graph, path);
    }
  }
  std::remove(path.c_str());
}

} // namespace
} // namespace tg::test
