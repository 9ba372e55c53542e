// Tests that the groups for analytic prices are those of the backend if the device behaves
// as assumed. Every example network, as written and optimised, in f32 and f16,
// runs on a GPU whose clock follows the roofline and with libraries that refuse the graphs
// that are assumed to be refused.
#include "compiler/api/backends/cuda_groups.h"
#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/cudnn/conv_lowering.h"
#include "runtime/cuda/grouping.h"
#include "tests/property/cuda/networks.h"
#include "tests/property/cuda/recorded_run.h"
#include "tests/unit/runtime/plan_writer.h"

namespace tg::test {
namespace {

/// Returns a unit's kind and its steps; "|last" if its results are channels last.
std::vector<std::string> texts_of(const Plan& plan, llvm::ArrayRef<cuda::Unit> units,
                                  const cuda::StridesOf& strides) {
  std::vector<std::string> texts;
  for (const cuda::Unit& unit : units) {
    if (unit.kind == cuda::Unit::Kind::View) continue;
    std::string text = unit.kind == cuda::Unit::Kind::Library ? "library" : "generated";
    for (PlanStepId s : unit.group.steps) {
      const PlanStep& step = plan.steps[s];
      const TensorType& type = plan.values[step.result].type;
      text += " " + std::string(cuda::is_attention(step) ? "attention" : op_info(step.op).name) +
              ":" + type.text();
      if (!cuda::is_row_major(type.shape, strides(step.result))) text += "|last";
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

/// Measures the executable on a clock that follows the assumed prices. f32 may round:
/// in strict f32, generated kernels are timed against the library's convolutions,
/// which the prices do not assume.
class Measured {
public:
  Measured(const Network& network, const cuda::AssumedPrices& prices, RecordingCompiler& compiler)
      : plans_(cuda::PlanDb::open("", {"recording", "none", "none"})) {
    FakeCudnn::reset();
    FakeCudnn::strict = true;
    FakeCudnn::graphs.push_back(nullptr); // the name in stored plans; never run
    Plan plan = cuda::lower_winograd(network.plan).plan;
    for (const PlanStep& step : plan.steps)
      if (step.op == OpKind::Conv2d) know(plan, step, prices);
    // Two parameters: a layout conversion of an image, or a convolution of few terms.
    record_.launch_us = [&](llvm::ArrayRef<cuda::Address> parameters) {
      if (parameters.size() != 2) return 0.0;
      auto elements =
          static_cast<int64_t>(parameters[1] - parameters[0]) / dtype_size(network.dtype);
      return prices.conversion({network.dtype, {1, 1, 1, elements}});
    };
    cuda::ExecutableLibraries libraries = fake_libraries();
    libraries.dnn_plans = plans_;
    CompileOptions options;
    options.allow_tf32 = true;
    auto made = make_recorded(network.plan, libraries, record_, compiler, options);
    EXPECT_TRUE(made.ok()) << network.name << ": " << (made.ok() ? "" : made.error().message);
    if (made) executable_ = std::move(*made);
  }
  const cuda::CudaExecutable& executable() const { return *executable_; }

private:
  /// Stores the library's prices in both layouts. Activations other than relu are expensive.
  void know(const Plan& plan, const PlanStep& step, const cuda::AssumedPrices& prices) {
    constexpr double kDear = 1e9;
    Act act = parse_act(step.attrs[3].text).value_or(Act::None);
    PlanStep bare = step;
    bare.attrs[3] = Value::of_enum("none");
    for (bool last : {false, true}) {
      auto store = [&](const PlanStep& of, double microseconds) {
        auto problem = cuda::dnn_problem(plan, of, cuda::all_images(plan, last));
        for (const char* conditions : {"tf32 ", "cold tf32 "})
          if (problem)
            plans_->store(conditions + problem->graph.text(), {"engine 2 0", microseconds});
      };
      bool cut = act != Act::None && act != Act::Relu;
      store(step, cut ? kDear : prices.convolution(plan, step, last));
      if (cut) store(bare, prices.convolution(plan, bare, last));
    }
  }

  GpuRecord record_;
  std::shared_ptr<cuda::PlanDb> plans_;
  std::unique_ptr<cuda::CudaExecutable> executable_;
};

/// Adds networks with attention: without a mask, with one known at load, and with one that is not.
void add_attentions_in_halves(std::vector<Network>& networks) {
  for (const char* name : {"vit_base.tg", "bert_base.tg", "gpt2.tg", "llama_block.tg"}) {
    SourceManager sources;
    DiagnosticSink sink;
    std::string file = std::string(TG_SOURCE_DIR) + "/examples/" + name;
    std::optional<Graph> graph = load_graph(sources, file, {}, sink);
    ASSERT_TRUE(graph) << name;
    Result<Graph> narrow = retype(*graph, DType::F16);
    ASSERT_TRUE(narrow.ok()) << name;
    networks.push_back(
        {std::string(name) + ", f16", without_load_phase(plan_from_graph(*narrow)), DType::F16});
  }
}

/// Attention whose heads share keys and values in groups, as the standard library writes it:
/// source graphs and rewritten ones.
std::vector<Network> grouped_attentions() {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<std::vector<Rule>> rules = load_rules(sources, library(), {}, sink);
  EXPECT_TRUE(rules);
  AnalyticCost costs(*find_device_profile("h200"), cuda_patterns());
  std::vector<Network> networks;
  for (const char* options : {"causal = false, rotary_base = 0.0", "rotary_base = 0.0",
                              "causal = true", "causal = false, bias = true"}) {
    std::string text = "use std.attention: grouped_attention\n"
                       "model grouped(x: f32[2, 64, 256]) -> (y: f32[2, 64, 256]) {\n"
                       "  grouped_attention(x, 8, 2, " +
                       std::string(options) + ") as a\n}\n";
    std::optional<Graph> graph = load_model(sources, sources.add("grouped.tg", text), {}, sink);
    EXPECT_TRUE(graph) << text;
    if (!graph) continue;
    Result<Optimized> optimised = optimize(*graph, *rules, costs, small_search(), nullptr);
    EXPECT_TRUE(optimised.ok());
    for (const Graph* each : {&*graph, &optimised->graph})
      for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
        Result<Graph> typed = retype(*each, dtype);
        EXPECT_TRUE(typed.ok());
        networks.push_back({std::string(options) + (each == &*graph ? "" : ", optimised") + ", " +
                                dtype_name(dtype).str(),
                            without_load_phase(plan_from_graph(*typed)), dtype});
      }
  }
  return networks;
}

/// Expects the backend's groups. Returns their texts, so that they can be counted.
std::vector<std::string> expect_same_groups(const Network& network,
                                            const cuda::AssumedPrices& prices,
                                            RecordingCompiler& compiler) {
  auto assumed = cuda::group_plan(network.plan, prices);
  EXPECT_TRUE(assumed.ok()) << network.name;
  if (!assumed) return {};
  Measured measured(network, prices, compiler);
  const cuda::CudaExecutable& executable = measured.executable();
  std::vector<std::string> predicted = texts_of(
      assumed->plan, assumed->units, cuda::strides_of(assumed->plan, assumed->channels_last));
  EXPECT_EQ(predicted, texts_of(executable.plan(), executable.units(), executable.strides()))
      << network.name;
  return predicted;
}

TEST(AnalyticGroupsOfExamples, AreThoseOfTheBackend) {
  size_t changed = 0, attentions = 0, conversions = 0;
  std::vector<Network> networks = example_networks(changed);
  add_attentions_in_halves(networks);
  AnalyticCost costs(*find_device_profile("h200"), cuda_patterns());
  cuda::AssumedPrices prices = assumed_prices(costs);
  RecordingCompiler compiler;
  for (const Network& network : networks)
    for (const std::string& text : expect_same_groups(network, prices, compiler)) {
      attentions += llvm::StringRef(text).contains("attention");
      conversions += llvm::StringRef(text).contains("identity");
    }
  EXPECT_GE(attentions, 12u) << "of ViT; others have a mask";
  EXPECT_GT(conversions, 0u);
}

/// A depthwise convolution between two pointwise convolutions, which are faster with channels last.
/// The library's depthwise convolution is slow in that layout. So a kernel is generated,
/// and no image is converted.
TEST(Layouts, MatchTheKernelsThatRun) {
  PlanWriter w;
  auto convolve = [&](PlanValueId x, const char* name, Shape kernel) {
    int64_t pad = kernel[2] / 2;
    return w.run(OpKind::Conv2d,
                 {Value::of_ints({1, 1}), Value::of_ints({pad, pad}), Value::of_ints({1, 1}),
                  Value::of_enum("relu")},
                 {x, w.weight(name, kernel), kNoValue, kNoValue});
  };
  PlanValueId wide = convolve(w.input("x", {1, 256, 28, 28}), "expand", {512, 256, 1, 1});
  PlanValueId deep = convolve(wide, "depthwise", {512, 1, 3, 3});
  w.output("y", convolve(deep, "project", {256, 512, 1, 1}));
  cuda::AssumedPrices prices{[](const Plan& plan, const PlanStep& step, bool last) {
                               bool depthwise = cuda::has_few_terms(plan, step);
                               return depthwise ? (last ? 60.0 : 1.0) : (last ? 4.0 : 12.0);
                             },
                             [](const TensorType&) { return 2.0; }};
  RecordingCompiler compiler;
  Measured measured({"mobile block", w.finish()}, prices, compiler);
  EXPECT_EQ(measured.executable().layout_conversions(), 2) << "of the input and the output";
}

TEST(AnalyticGroups, MatchTheBackendForAttentionWithSharedHeads) {
  AnalyticCost costs(*find_device_profile("h200"), cuda_patterns());
  cuda::AssumedPrices prices = assumed_prices(costs);
  RecordingCompiler compiler;
  for (const Network& network : grouped_attentions()) {
    std::vector<std::string> groups = expect_same_groups(network, prices, compiler);
    auto attentions = llvm::count_if(groups, [](const std::string& text) {
      return llvm::StringRef(text).startswith("library attention");
    });
    bool masked = !llvm::StringRef(network.name).contains("causal = false");
    EXPECT_EQ(attentions, network.dtype == DType::F32 || masked ? 0 : 1) << network.name;
  }
}

} // namespace
} // namespace tg::test
