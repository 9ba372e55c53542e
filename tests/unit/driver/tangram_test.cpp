// The public API as a program that embeds it sees it: this file includes nothing else of Tangram.
#include "tangram/tangram.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tangram {
namespace {

constexpr const char* kTwins = R"(
model twins(x: f32[4, 8]) -> (left: f32[4, 16], right: f32[4, 16]) {
  param a: f32[8, 16]
  param b: f32[8, 16]
  param c: f32[16]
  (relu(x @ a + c), x @ b)
}
)";

Tensor ramp(const std::vector<int64_t>& shape) {
  Tensor tensor{shape, {}};
  int64_t elements = 1;
  for (int64_t size : shape) elements *= size;
  for (int64_t i = 0; i < elements; ++i)
    tensor.data.push_back(0.05f * static_cast<float>(i % 17) - 0.4f);
  return tensor;
}

double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double difference = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    for (size_t k = 0; k < a[i].data.size(); ++k)
      difference = std::fmax(difference, std::fabs(a[i].data[k] - b[i].data[k]));
  return difference;
}

Model parsed(const char* text) {
  auto model = parse(text);
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return *model;
}

std::vector<Tensor> run(const Model& model, const std::vector<Tensor>& inputs,
                        const CompileOptions& options = {.backend = Backend::Ref}) {
  auto program = compile(model, options);
  EXPECT_TRUE(program) << (program ? "" : program.error().text());
  auto outputs = program->run(inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().text());
  return *outputs;
}

TEST(Api, AModelTellsItsInterface) {
  Model model = parsed(kTwins);
  EXPECT_EQ(model.name(), "twins");
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].shape, (std::vector<int64_t>{4, 8}));
  ASSERT_EQ(model.outputs().size(), 2u);
  EXPECT_EQ(model.outputs()[1].name, "right");
  EXPECT_EQ(model.op_count(), 4u);
}

TEST(Api, AMistakeHasAPlaceAndAText) {
  auto model = parse("model m(x: f32[4, 3], w: f32[5, 2]) {\n  x @ w\n}\n", "bad.tg");
  ASSERT_FALSE(model);
  const Diagnostic& d = model.error().diagnostics.at(0);
  EXPECT_EQ(d.code, "E0213");
  EXPECT_EQ(d.file, "bad.tg");
  EXPECT_EQ(d.line, 2u);
  EXPECT_EQ(d.column, 3u);
  EXPECT_NE(model.error().text().find("inner dimensions differ"), std::string::npos);
}

TEST(Api, ParametersAreSet) {
  const char* text = "model m(x: f32[N, 4], N: int = 2) { relu(x) }";
  auto model = parse(text, "m.tg", {.set = {{"N", "3"}}});
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->inputs()[0].shape[0], 3);
  EXPECT_FALSE(parse(text, "m.tg", {.set = {{"N", "@"}}}));
  EXPECT_FALSE(parse(text, "m.tg", {.model = "other"}));
}

TEST(Api, TensorsOfOtherDTypesAreConverted) {
  Model model = parsed(R"(
model m(table: f32[3, 2], at: i64[2], mask: bool[2])
  -> (rows: f32[2, 2], largest: i64[2], masked: bool[2], half: f16[2]) {
  param w: f16[2]
  let rows = gather(table, at)
  (rows, argmax(rows, 1), mask, w)
}
)");
  CompileOptions options{.backend = Backend::Ref};
  options.weights = [](const std::string&, const std::vector<int64_t>& shape) {
    return Tensor{shape, {0.5f, 65519.0f}};
  };
  auto outputs = run(model, {{{3, 2}, {1, 2, 3, 4, 6, 5}}, {{2}, {2, 1}}, {{2}, {0, 7}}}, options);
  ASSERT_EQ(outputs.size(), 4u);
  EXPECT_EQ(outputs[0].data, (std::vector<float>{6, 5, 3, 4}));
  EXPECT_EQ(outputs[1].data, (std::vector<float>{0, 1}));
  EXPECT_EQ(outputs[2].data, (std::vector<float>{0, 1}));
  EXPECT_EQ(outputs[3].data, (std::vector<float>{0.5f, 65504.0f}));
}

TEST(Api, OptimisedModelsComputeTheSame) {
  Model source = parsed(kTwins);
  for (Extractor extract : {Extractor::Greedy, Extractor::Ilp}) {
    auto fast = optimize(source, {.extract = extract});
    ASSERT_TRUE(fast) << fast.error().text();
    EXPECT_LE(fast->report.cost_after_us, fast->report.cost_before_us);
    EXPECT_LT(largest_difference(run(source, {ramp({4, 8})}), run(fast->model, {ramp({4, 8})})),
              1e-5);
  }
}

TEST(Api, EverySearchIsNeverWorseThanItsInput) {
  Model model = parsed(kTwins);
  for (Search search : {Search::None, Search::Saturate, Search::Mcts, Search::Anneal, Search::Taso,
                        Search::Random}) {
    auto fast = optimize(model, {.search = search, .time_limit_s = 2, .node_limit = 500});
    ASSERT_TRUE(fast) << word(search) << ": " << fast.error().text();
    EXPECT_LE(fast->report.cost_after_us, fast->report.cost_before_us) << word(search);
    if (search == Search::Saturate || search == Search::Mcts) {
      EXPECT_LT(fast->report.cost_after_us, fast->report.cost_before_us) << word(search);
    }
  }
}

TEST(Api, TextIsReadAgain) {
  Model source = parsed(kTwins);
  auto fast = optimize(source, {.extract = Extractor::Greedy});
  ASSERT_TRUE(fast);
  auto again = parse(fast->model.text(), "again.tg");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->op_count(), fast->model.op_count());
  EXPECT_EQ(largest_difference(run(fast->model, {ramp({4, 8})}), run(*again, {ramp({4, 8})})), 0);
}

TEST(Api, WeightsComeFromTheCaller) {
  Model model = parsed("model m(x: f32[1, 2]) -> (y: f32[1, 2]) { param w: f32[2, 2]\n x @ w }");
  std::string path;
  CompileOptions options;
  options.backend = Backend::Ref;
  options.weights = [&](const std::string& p, const std::vector<int64_t>& shape) {
    path = p;
    return Tensor{shape, {1, 2, 3, 4}};
  };
  EXPECT_EQ(run(model, {Tensor{{1, 2}, {10, 1}}}, options)[0].data, (std::vector<float>{13, 24}));
  EXPECT_NE(path.find("w"), std::string::npos);
  options.weights = [](const std::string&, const std::vector<int64_t>&) {
    return Tensor{{3}, {1}};
  };
  EXPECT_FALSE(compile(model, options));
}

TEST(Api, WrongInputsAreErrors) {
  auto program = compile(parsed(kTwins), {.backend = Backend::Ref});
  ASSERT_TRUE(program);
  EXPECT_FALSE(program->run({}));
  EXPECT_FALSE(program->run({ramp({8, 4})}));
  EXPECT_FALSE(program->run({Tensor{{4, 8}, {1, 2, 3}}}));
  EXPECT_FALSE(program->run({Tensor{{INT64_MAX, INT64_MAX, 2}, {1}}}));
  EXPECT_FALSE(program->run({Tensor{{-4, -8}, std::vector<float>(32)}}));
  EXPECT_TRUE(program->run({ramp({4, 8})})) << "an error leaves the program usable";
}

/// "no error", or what it is.
template <class T> std::string message(const Expected<T>& failed) {
  return failed ? "no error" : failed.error().diagnostics.at(0).message;
}

TEST(Api, WordsStandForEnumerators) {
  EXPECT_EQ(word(Extractor::GreedyDag), "greedy-dag");
  EXPECT_EQ(from_word<Search>("pact24"), Search::Pact24);
  EXPECT_EQ(from_word<Search>("hope"), std::nullopt);
  EXPECT_EQ(from_word<CacheState>(""), std::nullopt) << "as networks find it has no word";
  EXPECT_EQ(from_word<Backend>("cuda"), Backend::Cuda) << "in this build or not";
}

TEST(Api, SourcesOfPricesAreTexts) {
  for (const char* text : {"calibrated", "calibrated:cuda", "measured", "measured:cpu", "analytic",
                           "analytic:a100", "file:prices.json"}) {
    auto spec = CostSpec::from_text(text);
    ASSERT_TRUE(spec) << text;
    EXPECT_EQ(spec->text(), text);
  }
  EXPECT_EQ(CostSpec::from_text("measured:cuda"), CostSpec::measured(Backend::Cuda));
  for (const char* text :
       {"", "guess", "measured:ref", "measured:abacus", "analytic:abacus", "file:"})
    EXPECT_FALSE(CostSpec::from_text(text)) << text;
}

TEST(Api, RulesDevicesAndLimitsAreChecked) {
  Model model = parsed(kTwins);
  EXPECT_FALSE(optimize(model, {.rules = {"no_such_rule"}}));
  EXPECT_FALSE(optimize(model, {.cost = CostSpec::analytic("abacus")}));
  EXPECT_FALSE(optimize(model, {.cost = CostSpec::table("no_such_file.json")}));
  EXPECT_EQ(message(optimize(model, {.alpha = 0.5})),
            "`alpha` takes a number from 1 to 1000000, not 0.5");
  EXPECT_EQ(message(optimize(model, {.time_limit_s = NAN})),
            "`time_limit_s` takes a number from 0 to 1000000000, not nan");
  EXPECT_EQ(message(optimize(model, {.threads = -3})),
            "`threads` takes a number from 1 to 1024, not -3");
}

TEST(Api, AResultIsVerifiedAndExplained) {
  Model source = parsed("model m(x: f32[4, 4]) { relu(relu(x)) }");
  OptimizeOptions options{.search = Search::Saturate, .rules = {"relu_relu"}, .verify = true};
  options.cost = CostSpec::analytic("cpu");
  options.explain = true;
  auto best = optimize(source, options);
  ASSERT_TRUE(best) << best.error().text();
  EXPECT_EQ(best->report.verified, Verified::Equal);
  ASSERT_EQ(best->steps.size(), 1u);
  EXPECT_EQ(best->steps[0].rule, "relu_relu");
  EXPECT_TRUE(best->steps[0].built_in);
  EXPECT_NE(best->steps[0].before.find("relu(relu(x))"), std::string::npos)
      << best->steps[0].before;
  options.verify = options.explain = false;
  best = optimize(source, options);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->report.verified, Verified::NotAsked);
  EXPECT_TRUE(best->steps.empty());
}

TEST(Api, ModelsAreHeldAgainstEachOther) {
  Model twice = parsed("model m(x: f32[3]) -> (y: f32[3]) { x + x }");
  Model doubled = parsed("model m(x: f32[3]) -> (y: f32[3]) { 2 * x }");
  Model squared = parsed("model m(x: f32[3]) -> (y: f32[3]) { x * x }");
  auto same = verify(twice, doubled);
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ(same->verdict, Verification::Verdict::Equal);
  EXPECT_EQ(same->method, Verification::Method::Field);
  EXPECT_GT(same->error_bound, 0);
  EXPECT_LT(same->error_bound, 1e-9);
  auto other = verify(twice, squared);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->verdict, Verification::Verdict::Different);
  EXPECT_EQ(other->a.name, "y");
  EXPECT_NE(other->a.value, other->b.value);
  EXPECT_EQ(message(verify(twice, parsed(kTwins))).find("no error"), std::string::npos);
}

TEST(Api, RunsAreTimed) {
  auto program = compile(parsed(kTwins), {.backend = Backend::Ref});
  ASSERT_TRUE(program);
  auto timing = program->time({ramp({4, 8})}, 7);
  ASSERT_TRUE(timing) << timing.error().text();
  EXPECT_EQ(timing->runs, 7u);
  EXPECT_LE(timing->p10_us, timing->median_us);
  EXPECT_LE(timing->median_us, timing->p90_us);
  EXPECT_FALSE(program->time({}));
}

/// Half types round: what comes out differs from f32, and by no more than their bounds.
TEST(Api, AModelIsOptimisedForTheTypeThatItRunsIn) {
  Model model = parsed(kTwins);
  Tensor x = ramp({4, 8});
  std::vector<Tensor> wide = run(model, {x});
  for (DType dtype : {DType::F16, DType::BF16}) {
    auto best = optimize(model, {.dtype = dtype});
    ASSERT_TRUE(best) << best.error().text();
    EXPECT_EQ(best->model.inputs()[0].dtype, DType::F32) << "the model keeps its types";
    std::vector<Tensor> narrow = run(best->model, {x}, {.backend = Backend::Ref, .dtype = dtype});
    double difference = largest_difference(wide, narrow);
    EXPECT_GT(difference, 0) << word(dtype);
    EXPECT_LE(difference, 2e-2) << word(dtype);
  }
  // Half the bytes of memory-bound operators, so lower prices of the same graph.
  OptimizeOptions options{.search = Search::None, .cost = CostSpec::analytic("cpu")},
      half = options;
  half.dtype = DType::F16;
  EXPECT_LT(optimize(model, half)->report.cost_before_us,
            optimize(model, options)->report.cost_before_us);
}

TEST(Api, TypesOfRunsAreChecked) {
  Model model = parsed(kTwins);
  EXPECT_EQ(message(compile(model, {.dtype = DType::I64})),
            "`dtype` takes one of f32, f16, bf16, not `i64`");
  EXPECT_EQ(message(optimize(model, {.dtype = DType::Bool})),
            "`dtype` takes one of f32, f16, bf16, not `bool`");
  EXPECT_EQ(message(compile(model, {.allow_tf32 = true})), "`allow_tf32` is of cuda, not of `cpu`");
  EXPECT_EQ(message(optimize(model, {.allow_tf32 = true, .cost = CostSpec::analytic()})),
            "`allow_tf32` is of cuda, not of `analytic`");
}

TEST(Api, AModelOverTheMemoryLimitIsRefused) {
  Model model = parsed("model m(x: f32[1024, 1024]) { relu(x) + x }");
  auto program = compile(model, {.backend = Backend::Ref, .memory_limit_mb = 1});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().diagnostics.at(0).code, "E0701");
}

} // namespace
} // namespace tangram
