// Models as ONNX files with their weights, and searches for such files.
#include "compiler/driver/files/onnx_export.h"

#include "compiler/driver/files/model.h"
#include "compiler/driver/files/weights.h"
#include "compiler/driver/optimize_model.h"
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
  onnx::schema::Model exported(const Graph& graph) {
    Result<OnnxExport> written = export_onnx(graph, on_ref(), 18, path);
    EXPECT_TRUE(written.ok()) << written.error().message;
    std::stringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    onnx::schema::Model model;
    EXPECT_TRUE(model.ParseFromString(bytes.str()));
    return model;
  }
  Graph optimized(const Graph& source, bool plain) {
    tangram::OptimizeOptions options;
    options.cost = tangram::CostSpec::analytic("cpu");
    options.trust_rules = true;
    OptimizeHost host;
    host.plain = plain;
    auto found = optimize_model(source, options, nullptr, host, sources, sink);
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

TEST_F(OnnxExportTest, WhatDependsOnWeightsAloneIsAWeight) {
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

} // namespace
} // namespace tg
