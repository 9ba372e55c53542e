// Tests models that are written as ONNX files with their weights, and searches for such files.
#include "compiler/api/files/onnx_export.h"

#include "compiler/api/files/model.h"
#include "compiler/api/files/unfold.h"
#include "compiler/api/files/weights.h"
#include "compiler/api/optimize_model.h"
#include "compiler/import/onnx/file/schema.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace tg {
namespace {

struct OnnxExportTest : testing::Test {
  SourceManager sources;
  DiagnosticSink sink;
  std::vector<std::string> notes; // of the export
  std::string path = testing::TempDir() + "tangram_onnx_export_test.onnx";

  ~OnnxExportTest() override { std::remove(path.c_str()); }

  Graph load(const std::string& text) {
    std::optional<Graph> graph = load_model(sources, sources.add("test.tg", text), {}, sink);
    for (const Diagnostic& d : sink.all()) ADD_FAILURE() << d.message;
    return *graph;
  }
  static PrepareOptions on_ref() {
    PrepareOptions options;
    options.backend = "ref";
    return options;
  }
  onnx::schema::Model exported(const Graph& graph, const KeptOperators* kept = nullptr) {
    Result<OnnxExport> written = export_onnx(graph, kept, on_ref(), 18, path);
    EXPECT_TRUE(written.ok()) << written.error().message;
    notes = written->notes;
    std::stringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    onnx::schema::Model model;
    EXPECT_TRUE(model.ParseFromString(bytes.str()));
    return model;
  }
  /// Reads the only folding that the graph's file records into `values`, and returns its check.
  Result<FoldingCheck> check_exported_folding(const Graph& graph, Graph& values) {
    exported(graph);
    TG_TRY(auto file, open_weight_file(path));
    TG_TRY(std::vector<Graph> foldings, read_foldings(*file));
    EXPECT_EQ(foldings.size(), 1U);
    if (foldings.size() != 1) return FoldingCheck{};
    values = foldings[0];
    return check_folding(values, on_ref(), *file);
  }
  Graph optimized(const Graph& source, bool portable) {
    tangram::OptimizeOptions options;
    options.cost = tangram::CostSpec::analytic("cpu");
    options.trust_rules = true;
    options.portable = portable;
    auto found = optimize_model(source, options, nullptr, {}, sources, sink);
    EXPECT_TRUE(found.has_value());
    return found->result.graph;
  }
};

bool has(const Graph& graph, OpKind op) {
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (needed[i] && graph.node({i}).op == op) return true;
  return false;
}

TEST_F(OnnxExportTest, FoldsExpressionsOfWeightsIntoWeights) {
  Graph graph = load("model m(x: f32[2, 4]) -> (y: f32[2, 3]) {\n"
                     "  param w: f32[4, 3]\n"
                     "  x @ (w * 2)\n"
                     "}\n");
  onnx::schema::Model model = exported(graph);
  ASSERT_EQ(model.graph().node_size(), 1);
  ASSERT_EQ(model.graph().initializer_size(), 1);
  const onnx::schema::Tensor& folded = model.graph().initializer(0);
  EXPECT_EQ(folded.name(), "w.folded");
  Folded parts = fold_weights(graph);
  Result<WeightSource> weights = folded_weights(parts, on_ref());
  ASSERT_TRUE(weights.ok());
  PlanValue value;
  value.name = "w.folded";
  Result<Tensor> tensor = (*weights)(value);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(folded.raw_data(), std::string(reinterpret_cast<const char*>(tensor->data()),
                                           static_cast<size_t>(tensor->bytes())));
}

TEST_F(OnnxExportTest, RecordsTheSourcesOfFoldedWeights) {
  Graph graph = load("model m(x: f32[2, 4]) -> (y: f32[2, 3]) {\n"
                     "  param w: f32[4, 3] = weight(\"a layer's w\")\n"
                     "  x @ (w * 2)\n"
                     "}\n");
  Graph values = graph;
  Result<FoldingCheck> check = check_exported_folding(graph, values);
  ASSERT_TRUE(check.ok());
  ASSERT_EQ(values.outputs().size(), 1U);
  EXPECT_EQ(values.outputs()[0].name, "a layer's w.folded");
  EXPECT_EQ(check->weights, 1U);
  EXPECT_FALSE(check->wrong);
  EXPECT_EQ(check->max_rel_diff, 0) << "a product by two rounds nothing";
}

TEST_F(OnnxExportTest, AFileOfWeightsAsTheyAreSaysNothing) {
  Graph graph = load("model m(x: f32[2, 4]) -> (y: f32[2, 3]) {\n"
                     "  param w: f32[4, 3]\n"
                     "  x @ w\n"
                     "}\n");
  EXPECT_EQ(exported(graph).metadata_props_size(), 0);
}

TEST_F(OnnxExportTest, ASearchForOneLeavesOwnOperatorsOut) {
  Graph graph = load("model m(x: f32[64, 64], y: f32[64, 64]) -> (z: f32[64, 64]) {\n"
                     "  tanh(x * y + x)\n"
                     "}\n");
  EXPECT_TRUE(has(optimized(graph, false), OpKind::FusedMap));
  EXPECT_FALSE(has(optimized(graph, true), OpKind::FusedMap));
}

TEST_F(OnnxExportTest, ASearchForOnePaysForTheCopiesOfSlices) {
  Graph graph =
      load("model m(x: f32[1, 32, 14, 14]) -> (y: f32[1, 16, 14, 14], z: f32[1, 8, 14, 14]) {\n"
           "  param a: f32[16, 32, 1, 1]\n"
           "  param b: f32[8, 32, 1, 1]\n"
           "  (conv2d(x, a, act = relu), conv2d(x, b, act = relu))\n"
           "}\n");
  EXPECT_TRUE(has(optimized(graph, false), OpKind::Slice));
  EXPECT_FALSE(has(optimized(graph, true), OpKind::Slice));
}

/// Returns true if both graphs are written with the same nodes and weights, ignoring names.
bool have_same_export(const Graph& a, const Graph& b) {
  std::optional<UsedForm> form_a = written_form(a), form_b = written_form(b);
  return form_a && form_b && form_a->digest == form_b->digest;
}

TEST_F(OnnxExportTest, GraphsAreAlikeIfTheirFilesAre) {
  auto of = [&](const std::string& y) {
    return load("model m(x: f32[2, 4], z: f32[2, 3]) -> (y: f32[2, 3]) {\n"
                "  param v: f32[4, 3]\n"
                "  param w: f32[4, 3]\n" +
                y + "\n}\n");
  };
  Graph plain = of("tanh(x @ v + z)");
  EXPECT_TRUE(have_same_export(plain, of("tanh(matmul(x, v, residual = z))")));
  EXPECT_TRUE(have_same_export(of("tanh(z + x @ v)"), of("tanh(matmul(x, v, residual = z))")));
  EXPECT_TRUE(have_same_export(of("x @ v + z"), of("matmul(x, v, residual = z)")));
  EXPECT_TRUE(have_same_export(of("(x @ v) * sigmoid(x @ v)"),
                               of("(x @ v) * matmul(x, v, act = sigmoid)")));
  EXPECT_FALSE(have_same_export(of("z - x @ v"), of("x @ v - z")));
  EXPECT_TRUE(have_same_export(of("tanh(x @ v)"), of("matmul(x, v, act = tanh)")));
  EXPECT_TRUE(have_same_export(of("tanh(x @ (v * 2))"), of("matmul(x, v * 2, act = tanh)")));
  for (const char* other : {"sigmoid(x @ v + z)", "tanh(x @ w + z)", "tanh(x @ v)",
                            "tanh(x @ v + z + z)", "tanh(x @ v + 1)", "tanh(x @ (v * 2) + z)"})
    EXPECT_FALSE(have_same_export(plain, of(other))) << other;
}

TEST_F(OnnxExportTest, EqualNodesAreWrittenOnce) {
  Graph graph = load("model m(x: f32[2, 4]) -> (y: f32[2, 3], z: f32[2, 3]) {\n"
                     "  param v: f32[4, 3]\n"
                     "  ((x @ v) * matmul(x, v, act = sigmoid), matmul(x, v, act = tanh))\n"
                     "}\n");
  onnx::schema::Model model = exported(graph);
  std::vector<std::string> operators;
  for (const onnx::schema::Node& node : model.graph().node()) operators.push_back(node.op_type());
  EXPECT_EQ(llvm::count(operators, "MatMul"), 1);
  EXPECT_EQ(operators.size(), 4U);
}

TEST_F(OnnxExportTest, AnInfiniteLimitIsWritten) {
  onnx::schema::Model model =
      exported(load("model m(x: f32[2]) -> (y: f32[2]) { clip(x, -inf, 1.0) }\n"));
  ASSERT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().node(0).input_size(), 3);
  EXPECT_EQ(model.graph().node(0).input(1).empty(), false) << "runtimes clip to a finite number";
}

TEST_F(OnnxExportTest, ASearchForOneChangesNothingThatItsFileDoesNotShow) {
  tangram::OptimizeOptions options;
  options.cost = tangram::CostSpec::analytic("cpu");
  options.trust_rules = true;
  Graph graph = load("model m(x: f32[8, 8], y: f32[8, 8]) -> (z: f32[8, 8]) { tanh(x @ y) }\n");
  for (bool portable : {false, true}) {
    options.portable = portable;
    auto found = optimize_model(graph, options, nullptr, {}, sources, sink);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->result.report.changed(), !portable);
    EXPECT_EQ(difference(found->result.graph, graph).empty(), portable);
  }
}

std::string bytes_of(const std::string& path) {
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

TEST_F(OnnxExportTest, AFileOfOursThatDidNotChangeStaysAsItIs) {
  exported(load("model m(x: f64[4], y: f64[4]) -> (z: f64[4]) {\n"
                "  param w: f64[4]\n"
                "  x % y + w * 2\n"
                "}\n"));
  std::string before = bytes_of(path), again = path + ".again.onnx";
  ModelRequest request;
  request.onnx_options.keep_for = 18;
  std::optional<LoadedModel> model = load_model(sources, path, request, sink);
  ASSERT_TRUE(model && model->kept && model->kept->own_file);
  PrepareOptions own = on_ref(), others = on_ref();
  take_weights(own, model->weights);
  take_weights(others, *open_weight_file(path));
  auto written = [&](const Graph& graph, const PrepareOptions& options, int opset) {
    Result<OnnxExport> done = export_onnx(*model, graph, options, opset, again);
    EXPECT_TRUE(done.ok()) << done.error().message;
    return bytes_of(again);
  };
  EXPECT_EQ(written(model->graph, own, 0), before);
  EXPECT_EQ(written(model->graph, own, 18), before);
  EXPECT_NE(written(model->graph, own, 17), before);
  EXPECT_NE(written(model->graph, others, 0), before) << "names are those of a new file";
  EXPECT_NE(written(load("model m(x: f64[4], y: f64[4]) -> (z: f64[4]) { x % y }\n"), own, 0),
            before);
  std::remove(again.c_str());
}

TEST_F(OnnxExportTest, HalvesOnTheWayToAFoldedWeightRoundIt) {
  Graph graph = load("model m(x: f32[4]) -> (y: f32[4]) {\n"
                     "  param w: f32[4]\n"
                     "  x * cast(cast(w, bf16) * cast(w, bf16), f32)\n"
                     "}\n");
  Graph values = graph;
  Result<FoldingCheck> check = check_exported_folding(graph, values);
  ASSERT_TRUE(check.ok());
  EXPECT_FALSE(check->wrong);
  EXPECT_GT(check->max_rel_diff, 1e-4) << "a product of bf16";
}

TEST_F(OnnxExportTest, WeightsThatTheSourceHasItselfAreNotTraced) {
  Graph values = load("model folded() -> (w_folded: f32[4]) { full([4], 2.0) }\n");
  Graph graph = load("model m(x: f32[4]) -> (y: f32[4]) {\n"
                     "  param w_folded: f32[4]\n"
                     "  x * w_folded\n"
                     "}\n");
  auto holding = [](const char* name, Shape shape) {
    return weight_file({TensorInMemory{name, {DType::F32, std::move(shape)}}});
  };
  EXPECT_FALSE(has(unfold(graph, values), OpKind::Weight));
  EXPECT_TRUE(has(unfold(graph, values, holding("w_folded", {4}).get()), OpKind::Weight));
  EXPECT_FALSE(has(unfold(graph, values, holding("w_folded", {2, 2}).get()), OpKind::Weight));
  EXPECT_FALSE(has(unfold(graph, values, holding("w", {4}).get()), OpKind::Weight));
}

/// A kept node that reads `a` and `w` and gives `b`.
KeptOperators kept_around(const Graph& source) {
  onnx::KeptNode node{{}, 7};
  node.node.set_op_type("LSTM");
  for (const char* name : {"a", "kept w"}) node.node.add_input(name);
  node.node.add_output("b");
  Graph fixed(source.shared_symbols());
  NodeId w = fixed.weight("w", {DType::F32, {4}});
  fixed.add_output("kept w", fixed.add(OpKind::Neg, {}, {w}));
  onnx::FileFacts facts{0, {}, Graph(source.shared_symbols())};
  return {{{node}, std::move(fixed), {"a", "b", "kept w"}}, std::move(facts), source};
}

TEST_F(OnnxExportTest, WritesKeptOperatorsWithComputedWeights) {
  Graph source = load("model m(x: f32[4], b: f32[4]) -> (y: f32[4], a: f32[4]) {\n"
                      "  (relu(b), tanh(x))\n"
                      "}\n");
  KeptOperators kept = kept_around(source);
  onnx::schema::Model model = exported(source, &kept);
  EXPECT_EQ(notes, std::vector<std::string>{"kept unchanged: 1 LSTM"});
  ASSERT_EQ(model.graph().node_size(), 3);
  EXPECT_EQ(model.graph().node(1).op_type(), "LSTM");
  EXPECT_EQ(model.graph().node(1).input(0), model.graph().node(0).output(0));
  EXPECT_EQ(model.graph().node(1).input(1), "w.folded");
  EXPECT_EQ(model.graph().node(2).input(0), model.graph().node(1).output(0));
  EXPECT_EQ(model.graph().input_size(), 1);
  EXPECT_EQ(model.graph().output_size(), 1);
}

TEST_F(OnnxExportTest, TheSourceIsWrittenWhereAKeptNodeWouldWaitForItself) {
  Graph source = load("model m(x: f32[4], b: f32[4]) -> (y: f32[4], a: f32[4]) {\n"
                      "  (relu(b), relu(x))\n"
                      "}\n");
  Graph joined = load("model m(x: f32[4], b: f32[4]) -> (y: f32[4], a: f32[4]) {\n"
                      "  let both = relu(concat([x, b], axis = 0))\n"
                      "  (both[4:], both[:4])\n"
                      "}\n");
  KeptOperators kept = kept_around(source);
  onnx::schema::Model model = exported(joined, &kept);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[1].find("the source is written"), std::string::npos);
  ASSERT_EQ(model.graph().node_size(), 3);
  EXPECT_EQ(model.graph().node(0).op_type(), "Relu");
}

} // namespace
} // namespace tg
