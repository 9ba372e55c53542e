// Tests that an optimised network can be saved: every complete network of examples/
// is optimised, written as text and weights, and read again. It keeps its names,
// has nothing left to fold, and computes the same without another optimisation.
// Transformers are narrow and short here, and otherwise equal to the full ones.
#include "compiler/api/files/model.h"
#include "compiler/api/files/weights.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/rules/from_ast.h"
#include "tests/unit/api/open_weights.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

namespace tg {
namespace {

struct Network {
  const char* name;
  std::vector<std::pair<std::string, std::string>> settings;
};

const Network kNetworks[] = {
    {"resnet50", {}},
    {"mobilenetv2", {}},
    {"squeezenet", {}},
    {"inceptionv3", {}},
    {"vit_base", {{"layers", "1"}}},
    {"bert_base",
     {{"layers", "2"}, {"width", "64"}, {"heads", "4"}, {"vocabulary", "99"}, {"S", "8"}}},
    {"gpt2", {{"layers", "2"}, {"width", "64"}, {"heads", "4"}, {"vocabulary", "99"}, {"S", "8"}}},
    {"llama_block", {{"D", "64"}, {"heads", "4"}, {"kv_heads", "2"}, {"hidden", "96"}, {"S", "8"}}},
    {"lstm", {{"S", "4"}}},
};

class KeptNetwork : public ::testing::TestWithParam<Network> {
protected:
  SourceManager sources;
  DiagnosticSink sink;
  std::string path = testing::TempDir() + "tangram_kept_" + GetParam().name + ".safetensors";

  ~KeptNetwork() override { std::remove(path.c_str()); }

  Graph optimised(const Graph& graph) {
    auto rules = load_rules(sources, library(), {}, sink);
    auto costs = make_analytic_cost("cpu");
    OptimizeOptions options;
    options.explore.iterations = 3;
    options.explore.node_limit = 3000;
    options.extract.extractor = Extractor::Greedy;
    auto result = optimize(graph, *rules, **costs, options, nullptr);
    EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
    return result ? result->graph : graph;
  }
  static PrepareOptions on_cpu(WeightSource weights = {}) {
    PrepareOptions options;
    options.weights = std::move(weights);
    return options;
  }
  static std::vector<Tensor> run(const Graph& graph, WeightSource weights = {}) {
    auto prepared = prepare_with_inputs(graph, on_cpu(std::move(weights)));
    EXPECT_TRUE(prepared.ok()) << (prepared ? "" : prepared.error().message);
    EXPECT_TRUE(prepared->executable->run_once().ok());
    return *prepared->executable->outputs();
  }
};

/// Returns the inputs or outputs: "x f32[1, 3]; y f32[2]".
std::string interface_of(const Graph& graph, bool inputs) {
  std::string text;
  if (inputs)
    for (NodeId input : graph.inputs())
      text += graph.attr(input, 0).text + " " + graph.type(input).text() + "; ";
  else
    for (const auto& output : graph.outputs())
      text += output.name + " " + graph.type(output.node).text() + "; ";
  return text;
}

std::set<std::string> weight_paths(const Graph& graph) {
  std::set<std::string> paths;
  for (const WeightRow& row : compare_weights(graph, nullptr)) paths.insert(row.path);
  return paths;
}

TEST_P(KeptNetwork, HasItsNamesAndComputesTheSame) {
  if (!make_backend("cpu")) GTEST_SKIP() << "this build has no cpu backend";
  ModelRequest request;
  request.settings = GetParam().settings;
  std::string file = std::string(TG_SOURCE_DIR "/examples/") + GetParam().name + ".tg";
  std::optional<Graph> source = load_graph(sources, file, request, sink);
  ASSERT_TRUE(source) << file;
  Folded folded = fold_weights(optimised(*source));
  ASSERT_TRUE(save_folded_weights(folded, on_cpu(), path).ok());

  FileId kept = sources.add("kept.tg", to_text(folded.graph));
  std::optional<Graph> again = load_model(sources, kept, {}, sink);
  ASSERT_TRUE(again) << sink.all().front().message;
  EXPECT_EQ(again->name(), source->name());
  EXPECT_EQ(interface_of(*again, true), interface_of(*source, true));
  EXPECT_EQ(interface_of(*again, false), interface_of(*source, false));
  EXPECT_EQ(fold_weights(*again).values.outputs().size(), 0u) << "nothing is left to fold";
  std::set<std::string> paths = weight_paths(*source);
  paths.insert("constant");
  for (const std::string& weight : weight_paths(*again))
    EXPECT_TRUE(paths.count(llvm::StringRef(weight).split(".folded").first.str())) << weight;

  Result<WeightSource> weights = open_weights(*again, path);
  ASSERT_TRUE(weights) << weights.error().message;
  std::vector<Tensor> before = run(*source), after = run(*again, *weights);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_LT(max_rel_diff(after[i], before[i]), 1e-4) << "output " << i;
}

INSTANTIATE_TEST_SUITE_P(Examples, KeptNetwork, ::testing::ValuesIn(kNetworks),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace tg
