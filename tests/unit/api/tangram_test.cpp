// Tests the public API as a program that embeds it does: the file includes only its header
// and helpers over it.
#include "tangram/tangram.h"
#include "tests/unit/api/public_api.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

namespace tangram {
namespace {

TEST(Api, DescribesTheInterfaceOfAModel) {
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
    // Fixed prices, so that no clock affects the result: with measured prices both graphs would be
    // run.
    OptimizeOptions options{.search = search, .time_limit_s = 2, .node_limit = 500};
    options.cost = CostSpec::analytic("cpu");
    auto fast = optimize(model, options);
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

/// Returns the error's message, or "no error".
template <class T> std::string message(const Expected<T>& failed) {
  return failed ? "no error" : failed.error().diagnostics.at(0).message;
}

TEST(Api, WordsStandForEnumerators) {
  EXPECT_EQ(word(Extractor::GreedyDag), "greedy-dag");
  EXPECT_EQ(from_word<Search>("taso"), Search::Taso);
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
            "`alpha` requires a number from 1 to 1000000, not 0.5");
  EXPECT_EQ(message(optimize(model, {.time_limit_s = NAN})),
            "`time_limit_s` requires a number from 0 to 1000000000, not nan");
  EXPECT_EQ(message(optimize(model, {.threads = -3})),
            "`threads` requires a number from 1 to 1024, not -3");
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
  EXPECT_EQ(best->report.verified, Verified::NotRequested);
  EXPECT_TRUE(best->steps.empty());
}

TEST(Api, ModelsAreCompared) {
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

/// Returns the path of a file in the scratch folder of the tests.
std::string scratch(const char* name) {
  return (std::filesystem::path(testing::TempDir()) / name).string();
}

TEST(Api, AnOptimisationIsReportedAndTracedAsJson) {
  Model source = parsed("model m(x: f32[4, 4]) { relu(relu(x)) }");
  OptimizeOptions options{.search = Search::Saturate, .rules = {"relu_relu"}};
  options.cost = CostSpec::analytic("cpu");
  options.record_trace = true;
  auto best = optimize(source, options);
  ASSERT_TRUE(best) << best.error().text();
  for (const char* field : {R"("model": "m")", R"("nodes_before": 2)", R"("nodes_after": 1)",
                            R"("relu_relu": 1)", R"("priors": "")"})
    EXPECT_NE(best->report_json.find(field), std::string::npos) << field << best->report_json;
  EXPECT_EQ(best->trace_json.find(R"({"tangram_trace":1,"report":{"model":"m")"), 0u)
      << best->trace_json;
  EXPECT_NE(best->trace_json.find(R"("chain":[{"rule":"relu_relu")"), std::string::npos);
  options.record_trace = false;
  best = optimize(source, options);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->trace_json.empty());
  EXPECT_FALSE(best->report_json.empty());
}

/// Two weights are added at load. The saved file has their sum as one weight.
TEST(Api, WeightsOfAResultAreSaved) {
  Model model =
      parsed("model m(x: f32[2, 3]) { param a: f32[3, 4]\n param b: f32[3, 4]\n x @ (a + b) }");
  std::string path = scratch("saved.safetensors");
  CompileOptions options{.backend = Backend::Ref, .seed = 5};
  auto saved = save_weights(model, path, options);
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(saved->op_count(), 1u) << saved->text();
  EXPECT_NE(saved->text().find(".folded"), std::string::npos) << saved->text();
  CompileOptions from_file{.backend = Backend::Ref, .weights_file = path};
  EXPECT_EQ(largest_difference(run(model, {ramp({2, 3})}, options),
                               run(*saved, {ramp({2, 3})}, from_file)),
            0);
  auto equal = verify(model, *saved, {.weights_file_b = path, .seed = 5});
  ASSERT_TRUE(equal) << equal.error().text();
  EXPECT_EQ(equal->verdict, Verification::Verdict::Equal) << equal->why;
  EXPECT_FALSE(save_weights(model, scratch("no/such/folder/w.safetensors"), options));
}

TEST(Api, ModelsAreSavedAsOnnx) {
  Model model = parsed(R"(
model rows(ids: i64[2]) -> (y: f32[2, 3]) {
  param table: f32[5, 3]
  gather(table, ids)
}
)");
  std::string path = scratch("rows.onnx");
  auto notes = save_onnx(model, path, 18, {.backend = Backend::Ref});
  ASSERT_TRUE(notes) << notes.error().text();
  ASSERT_EQ(notes->size(), 1u);
  EXPECT_NE(notes->front().find("`ids` must contain rows from 0 to 4"), std::string::npos);
  EXPECT_GT(std::filesystem::file_size(path), 60u);
  EXPECT_FALSE(save_onnx(model, path, 12, {.backend = Backend::Ref}));
  EXPECT_FALSE(save_onnx(model, scratch("no/such/folder/m.onnx")));
}

TEST(Api, OperatorsOfAnOnnxFileAreKeptForAnother) {
  std::string from = TG_SOURCE_DIR "/tests/golden/import/kept.onnx", to = scratch("kept.onnx");
  auto kept = parse_file(from, {.keep_for_opset = 18}), source = parse_file(from);
  ASSERT_TRUE(kept && source);
  EXPECT_GT(kept->inputs().size(), source->inputs().size()) << "what kept nodes give";
  auto fast = optimize(*kept, {.trust_rules = true, .cost = CostSpec::analytic("cpu")});
  ASSERT_TRUE(fast) << fast.error().text();
  EXPECT_TRUE(verify(*kept, fast->model));
  EXPECT_FALSE(verify(*source, fast->model));
  auto notes = save_onnx(fast->model, to);
  ASSERT_TRUE(notes) << notes.error().text();
  EXPECT_EQ(notes->front(), "kept unchanged: 1 LSTM, 1 GRU, 2 RNN");
  auto written = parse_file(to);
  ASSERT_TRUE(written) << written.error().text();
  auto equal = verify(*source, *written);
  ASSERT_TRUE(equal) << equal.error().text();
  EXPECT_EQ(equal->verdict, Verification::Verdict::Equal) << equal->why;
}

TEST(Api, RulesAreVerified) {
  size_t told = 0;
  VerifyRulesOptions options{.rule_text = R"(
rule twice(x) { x + x => 2 * x where float(x) }
rule wrong(x) { relu(x) => tanh(x) }
)"};
  options.instances = 20;
  options.progress = [&](size_t, size_t total) { told = total; };
  auto verdicts = verify_rules(options);
  ASSERT_TRUE(verdicts) << verdicts.error().text();
  ASSERT_EQ(verdicts->size(), 2u);
  const RuleVerdict &twice = verdicts->at(0), &wrong = verdicts->at(1);
  EXPECT_EQ(twice.rule, "twice");
  EXPECT_EQ(twice.line, 2u);
  EXPECT_EQ(word(twice.status), "tested") << twice.why;
  EXPECT_EQ(twice.cases, 20u);
  EXPECT_LT(twice.error_bound, 1e-9);
  EXPECT_EQ(word(wrong.status), "refuted");
  EXPECT_NE(wrong.counterexample.find("model left"), std::string::npos) << wrong.counterexample;
  EXPECT_TRUE(parse(wrong.counterexample, "c.tg", {.model = "right"}));
  EXPECT_FALSE(wrong.why.empty());
  EXPECT_EQ(told, 2u);
}

/// A rule that cannot be read does not affect the verdicts of the others, wherever its error is, in
/// texts and in files.
TEST(Api, RulesThatCannotBeReadAreReportedBesideTheOthers) {
  const std::pair<const char*, const char*> broken[] = {
      {"rule bad(x) { relu(x) => nosuch(x) }", "nosuch"},              // unknown operator
      {"rule bad(x) { relu(x) => y }", "y"},                           // unbound variable
      {"rule bad(x) { relu(x) => concat([x, x], axis = 0) }", "type"}, // E0303
      {"rule bad(x) { relu(x) => x where rank(x) < 0 }", "never match"},
      {"rule bad(x, y) { relu(x) => x where rank(x) > }", ""}, // incomplete expression
      {"rule bad(x) { conv2d(x) => x }", ""},
  };
  const std::string good = "rule good(x) { relu(relu(x)) => relu(x) }\n";
  for (auto [text, why] : broken)
    for (bool first : {true, false})
      for (bool file : {true, false}) {
        std::string all = first ? text + ("\n" + good) : good + text + "\n";
        VerifyRulesOptions options{.instances = 5};
        if (file) {
          options.rules = {scratch("unread.tg")};
          std::ofstream(options.rules[0]) << all;
        } else {
          options.rule_text = all;
        }
        auto verdicts = verify_rules(options);
        ASSERT_TRUE(verdicts) << text << ": " << verdicts.error().text();
        ASSERT_EQ(verdicts->size(), 2u) << text;
        EXPECT_EQ(verdicts->at(0).rule, "good");
        EXPECT_GE(verdicts->at(0).cases, 5u);
        EXPECT_EQ(verdicts->at(1).rule, "bad");
        EXPECT_EQ(word(verdicts->at(1).status), "unread");
        EXPECT_EQ(verdicts->at(1).line, first ? 1u : 2u);
        EXPECT_NE(verdicts->at(1).why.find(why), std::string::npos) << verdicts->at(1).why;
      }
  // Errors outside of rules, and texts without a valid rule, are errors of the call.
  EXPECT_FALSE(verify_rules({.rule_text = good + "rulee x\n"}));
  EXPECT_FALSE(verify_rules({.rule_text = broken[0].first}));
  EXPECT_TRUE(verify_rules({.rules = {"relu_relu"}, .rule_text = broken[0].first, .instances = 1}));
}

/// Integers in counterexamples are exact, even if a double cannot represent them.
TEST(Api, IntegersOfCounterexamplesAreExact) {
  for (int64_t n : {(int64_t{1} << 24) + 1, (int64_t{1} << 31) + 1, (int64_t{1} << 53) + 1,
                    INT64_MAX, INT64_MIN + 1}) {
    std::string number = std::to_string(n), next = std::to_string(n - 1);
    auto picked = [](const std::string& n) {
      return parsed(("model a(x: i64[1]) { select(x > 0, x * 0 + (" + n + "), x * 0) }").c_str());
    };
    Model a = picked(number), b = picked(next);
    auto found = verify(a, b);
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->verdict, Verification::Verdict::Different) << n;
    EXPECT_EQ(std::get<int64_t>(found->a.value), n);
    EXPECT_EQ(std::get<int64_t>(found->b.value), n - 1);
    ASSERT_EQ(found->inputs.size(), 1u);
    EXPECT_GT(std::get<int64_t>(found->inputs[0].value), 0);
  }
}

TEST(Api, RulesAreSelectedAsForASearch) {
  auto verdicts = verify_rules({.rules = {"relu_relu"}, .instances = 5});
  ASSERT_TRUE(verdicts) << verdicts.error().text();
  ASSERT_EQ(verdicts->size(), 1u);
  EXPECT_EQ(verdicts->at(0).rule, "relu_relu");
  EXPECT_FALSE(verify_rules({.rules = {"no_such_rule"}}));
  EXPECT_FALSE(verify_rules({.rule_text = "rule r(x) { relu(x) => }"}));
  EXPECT_FALSE(verify_rules({.rules = {"relu_relu"}, .instances = 0}));
  verdicts = verify_rules({.rules = {"relu_relu"}, .time_limit_s = 0});
  ASSERT_TRUE(verdicts);
  EXPECT_EQ(verdicts->at(0).status, RuleStatus::Stopped);
}

/// `b` is shared. Counted once, it makes the pair of `left` and `right` the cheaper choice.
constexpr const char* kEGraph = R"({"nodes": {
  "both": {"op": "f", "eclass": "0", "children": ["left", "right"], "cost": 1},
  "alone": {"op": "g", "eclass": "0", "children": [], "cost": 12},
  "left": {"op": "l", "eclass": "1", "children": ["b"], "cost": 1},
  "right": {"op": "r", "eclass": "2", "children": ["b"], "cost": 1},
  "b": {"op": "b", "eclass": "3", "children": [], "cost": 6}
}, "root_eclasses": ["0"]})";

TEST(Api, EGraphsAreExtracted) {
  auto trees = extract(kEGraph, "e.json", {.extract = Extractor::Greedy, .check = true});
  ASSERT_TRUE(trees) << trees.error().text();
  EXPECT_EQ(trees->dag_cost, 12);
  auto best = extract(kEGraph, "e.json", {.check = true});
  ASSERT_TRUE(best) << best.error().text();
  EXPECT_EQ(best->dag_cost, 9);
  EXPECT_EQ(best->tree_cost, 15);
  EXPECT_TRUE(best->optimal);
  EXPECT_EQ(best->nodes, 5u);
  EXPECT_EQ(best->classes, 4u);
  EXPECT_EQ(best->roots, 1u);
  ASSERT_EQ(best->choices.size(), 4u);
  EXPECT_EQ(best->choices[0], (std::pair<std::string, std::string>("0", "both")));
}

TEST(Api, WrongEGraphsAreErrors) {
  EXPECT_EQ(extract("{}", "e.json").error().diagnostics.at(0).code, "E0606");
  EXPECT_FALSE(extract_file(scratch("no_such_file.json")));
  auto cyclic = extract(R"({"nodes": {"a": {"op": "f", "eclass": "loop", "children": ["a"]}},
                            "root_eclasses": ["loop"]})");
  ASSERT_FALSE(cyclic);
  EXPECT_EQ(cyclic.error().diagnostics.at(0).code, "E0601");
  EXPECT_NE(cyclic.error().text().find("`loop`"), std::string::npos) << cyclic.error().text();
}

TEST(Api, ACalibrationEndsAtItsLimit) {
  EXPECT_EQ(calibrate({.backend = Backend::Ref}).error().diagnostics.at(0).code, "E0901");
  auto found = calibrate({.time_limit_s = 0, .cost_db = scratch("no_times.db")});
  // A build for ThreadSanitizer does not have the backend `cpu`.
  auto program = compile(parsed("model m(x: f32[1]) { relu(x) }"), {.backend = Backend::Cpu});
  ASSERT_EQ(static_cast<bool>(found), static_cast<bool>(program)) << message(found);
  if (!found) return;
  EXPECT_EQ(found->timed, 0u);
  EXPECT_FALSE(found->finished) << "there was no time";
}

TEST(Api, RunsAreTimed) {
  auto program = compile(parsed(kTwins), {.backend = Backend::Ref});
  ASSERT_TRUE(program);
  EXPECT_EQ(program->info().backend, "ref");
  EXPECT_GT(program->info().memory_mb, 0);
  auto timing = program->time({ramp({4, 8})}, {.runs = 7});
  ASSERT_TRUE(timing) << timing.error().text();
  EXPECT_EQ(timing->runs, 7u);
  EXPECT_LE(timing->min_us, timing->p10_us);
  EXPECT_LE(timing->p10_us, timing->median_us);
  EXPECT_LE(timing->median_us, timing->p90_us);
  EXPECT_TRUE(timing->steps.empty());
  EXPECT_FALSE(program->time({}));
  EXPECT_FALSE(program->time({ramp({4, 8})}, {.streams = 2})) << "the reference runs one";
}

TEST(Api, StepsAreTimed) {
  auto program =
      compile(parsed("model m(x: f32[4, 8]) { relu(tanh(x)) }"), {.backend = Backend::Ref});
  ASSERT_TRUE(program);
  auto timing = program->time({ramp({4, 8})}, {.steps = true});
  ASSERT_TRUE(timing) << timing.error().text();
  EXPECT_EQ(timing->runs, 1u) << "of the reference once is enough";
  ASSERT_EQ(timing->steps.size(), 2u);
  EXPECT_EQ(timing->steps[0].name, "tanh");
  EXPECT_EQ(timing->steps[1].result, "f32[4, 8]");
  EXPECT_EQ(timing->steps[1].bytes, 2 * 4 * 8 * 4);
}

/// Half types round: outputs differ from f32 within their bounds.
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
  // Half types halve the bytes of memory-bound operators, so that the prices of the graph fall.
  OptimizeOptions options{.search = Search::None, .cost = CostSpec::analytic("cpu")},
      half = options;
  half.dtype = DType::F16;
  EXPECT_LT(optimize(model, half)->report.cost_before_us,
            optimize(model, options)->report.cost_before_us);
}

TEST(Api, TypesOfRunsAreChecked) {
  Model model = parsed(kTwins);
  EXPECT_EQ(message(compile(model, {.dtype = DType::I64})),
            "`dtype` requires one of f32, f16, bf16, not `i64`");
  EXPECT_EQ(message(optimize(model, {.dtype = DType::Bool})),
            "`dtype` requires one of f32, f16, bf16, not `bool`");
  EXPECT_EQ(message(compile(model, {.allow_tf32 = true})), "`allow_tf32` requires cuda, not `cpu`");
  EXPECT_EQ(message(optimize(model, {.allow_tf32 = true, .cost = CostSpec::analytic()})),
            "`allow_tf32` requires cuda, not `analytic`");
}

TEST(Api, ComparesOutputsWithTheReference) {
  Model source = parsed(kTwins);
  auto best = optimize(source, {.extract = Extractor::Greedy, .cost = CostSpec::analytic("cpu")});
  ASSERT_TRUE(best) << best.error().text();
  CompileOptions options{.backend = Backend::Ref};
  auto same = check_outputs(best->model, source, {ramp({4, 8})}, options);
  ASSERT_TRUE(same) << same.error().text();
  ASSERT_EQ(same->size(), 2u);
  EXPECT_EQ(same->at(0).name, "left");
  for (const OutputDifference& output : *same)
    EXPECT_TRUE(output.within_bound) << output.difference;
  Model doubled = parsed("model m(x: f32[3]) -> (y: f32[3]) { 2 * x }");
  Model squared = parsed("model m(x: f32[3]) -> (y: f32[3]) { x * x }");
  auto other = check_outputs(doubled, squared, {Tensor{{3}, {1, 2, 4}}}, options);
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(other->at(0).difference, 0.5) << "8 and 16 at most";
  EXPECT_FALSE(other->at(0).within_bound);
  EXPECT_FALSE(check_outputs(doubled, squared, {}, options));
  EXPECT_EQ(check_outputs(doubled, source, {}, options).error().diagnostics.at(0).code, "E0801");
  Model ab = parsed("model m(a: f32[3], b: f32[3]) -> (y: f32[3]) { a - b }");
  Model ba = parsed("model m(b: f32[3], a: f32[3]) -> (y: f32[3]) { a - b }");
  EXPECT_FALSE(check_outputs(ab, ba, {ramp({3}), ramp({3})}, options));
}

TEST(Api, AModelOverTheMemoryLimitIsRefused) {
  Model model = parsed("model m(x: f32[1024, 1024]) { relu(x) + x }");
  auto program = compile(model, {.backend = Backend::Ref, .memory_limit_mb = 1});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().diagnostics.at(0).code, "E0701");
}

// --- functions that other languages need ---------------------------------------------------------

TEST(Api, RunsReadAndWriteMemoryOfTheCaller) {
  for (Backend backend : {Backend::Ref, Backend::Cpu}) {
    auto program = compile(parsed("model m(x: i64[3], y: f32[2, 2]) -> (a: i64[3], b: f32[2, 2]) "
                                  "{ (x + 1, relu(y)) }"),
                           {.backend = backend, .threads = 1});
    if (!program) continue; // a build without this backend
    const int64_t x[] = {1, -2, int64_t{1} << 60};
    const float y[] = {1, -1, 2, -2};
    int64_t a[3];
    float b[4];
    std::vector<ConstTensorView> inputs = {{x, DType::I64, {3}}, {y, DType::F32, {2, 2}}};
    std::vector<TensorView> outputs = {{a, DType::I64, {3}}, {b, DType::F32, {2, 2}}};
    auto failed = program->run(inputs, outputs);
    ASSERT_FALSE(failed) << failed->text();
    EXPECT_EQ(a[2], (int64_t{1} << 60) + 1) << "nothing goes through floats";
    EXPECT_EQ(std::vector<float>(b, b + 4), (std::vector<float>{1, 0, 2, 0}));

    inputs[0].dtype = DType::I32;
    EXPECT_TRUE(program->run(inputs, outputs)) << "another type";
    inputs[0].dtype = DType::I64, outputs[1].shape = {4};
    EXPECT_TRUE(program->run(inputs, outputs)) << "another shape of an output";
    outputs.pop_back();
    EXPECT_TRUE(program->run(inputs, outputs)) << "a place is missing";
  }
}

TEST(Api, WeightsInMemoryAreTheModelsOwn) {
  Model model = parsed("model m(x: f32[2]) {\n  param w: f32[2]\n  x * w\n}");
  ASSERT_EQ(model.weights().size(), 1u);
  EXPECT_EQ(model.weights()[0].name, "w");
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{3, 5});
  std::weak_ptr<std::vector<float>> alive = owner;
  ConstTensorView view{owner->data(), DType::F32, {2}};
  {
    auto given = with_weights(model, {{"w", view, std::move(owner)}});
    ASSERT_TRUE(given) << given.error().text();
    EXPECT_FALSE(alive.expired()) << "the model keeps them";
    EXPECT_EQ(run(*given, {Tensor{{2}, {1, 2}}})[0].data, (std::vector<float>{3, 10}));
    auto fast = optimize(*given, {.cost = CostSpec::analytic("cpu")});
    ASSERT_TRUE(fast);
    EXPECT_EQ(run(fast->model, {Tensor{{2}, {1, 2}}})[0].data, (std::vector<float>{3, 10}));
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_FALSE(with_weights(model, std::vector<GivenWeight>())) << "one is missing";
  view.shape = {1};
  EXPECT_FALSE(with_weights(model, {{"w", view}})) << "one is mismatched";
}

TEST(Api, AProgramKeepsNoWeightsOfItsModelButThoseItRunsOn) {
  Model model = parsed("model m(x: f32[1, 64]) {\n  param w: f32[64, 64]\n  x @ w\n}");
  auto owner = std::make_shared<std::vector<float>>(64 * 64, 0.5F);
  std::weak_ptr<std::vector<float>> alive = owner;
  ConstTensorView view{owner->data(), DType::F32, {64, 64}};
  std::optional<Program> program;
  std::vector<float> x(64, 1);
  {
    auto given = with_weights(model, {{"w", view, std::move(owner)}});
    ASSERT_TRUE(given);
    auto compiled = compile(*given);
    ASSERT_TRUE(compiled) << compiled.error().text();
    program.emplace(std::move(*compiled));
  }
  EXPECT_TRUE(alive.expired());
  auto outputs = program->run({Tensor{{1, 64}, x}});
  ASSERT_TRUE(outputs);
  EXPECT_EQ((*outputs)[0].data, std::vector<float>(64, 32));
  EXPECT_TRUE(program->time({Tensor{{1, 64}, x}}, {.runs = 2}));
}

TEST(Api, AnInterruptEndsASearchWithTheBestSoFar) {
  Model model = parsed(kTwins);
  Interrupt interrupt;
  OptimizeOptions options{.budget = 1'000'000, .cost = CostSpec::analytic("cpu")};
  options.time_limit_s = 600;
  options.node_limit = 1'000'000;
  options.interrupt = interrupt;
  options.progress = [interrupt](const SearchProgress&) { interrupt.request(); };
  auto best = optimize(model, options);
  ASSERT_TRUE(best) << best.error().text();
  EXPECT_LE(best->report.cost_after_us, best->report.cost_before_us);
  EXPECT_LT(best->report.total_s, 60);
}

/// Two products, which a rule merges.
constexpr const char* kProducts = R"(
model products(x: f32[64, 64]) {
  param a: f32[64, 64]
  param b: f32[64, 64]
  x @ a + x @ b
}
)";

/// Options with a judge that returns invented times: a fixed time for a product, zero otherwise.
OptimizeOptions judged(double product_us) {
  OptimizeOptions options;
  options.cost = CostSpec::analytic("cpu");
  options.verify = true;
  options.judge = [product_us](const Model& model) -> std::function<double()> {
    double products = 0;
    std::string text = model.text();
    for (size_t at = 0; (at = text.find('@', at)) != std::string::npos; ++at) ++products;
    return [us = 100 + product_us * products] { return us; };
  };
  return options;
}

TEST(Api, AJudgeDecidesInThePlaceOfThisMachine) {
  Model model = parsed(kProducts);
  auto faster = optimize(model, judged(10));
  ASSERT_TRUE(faster) << faster.error().text();
  EXPECT_FALSE(faster->report.source_returned);
  EXPECT_EQ(faster->report.median_before_us, 120);
  EXPECT_DOUBLE_EQ(faster->report.median_after_us.value_or(0), 110);
  EXPECT_EQ(faster->report.speedup, 120.0 / 110);
  auto slower = optimize(model, judged(-10));
  ASSERT_TRUE(slower) << slower.error().text();
  EXPECT_TRUE(slower->report.source_returned);
  EXPECT_EQ(slower->model.text(), model.text());
  auto same = optimize(model, judged(0));
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_TRUE(same->report.source_returned) << "no gain beyond the noise";
}

/// Returns a field of the report as text, "null" included, or "" if the report does not have it.
std::string value_of(const Optimized& found, const std::string& field) {
  size_t at = found.report_json.find("\"" + field + "\": ");
  if (at == std::string::npos) return "";
  at += field.size() + 4;
  return found.report_json.substr(at, found.report_json.find_first_of(",\n", at) - at);
}

/// On a busy machine, the medians of the two graphs come from different moments.
TEST(Api, TimesOfWholeRunsHaveTheRatioThatIsReported) {
  Model model = parsed(kProducts);
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    OptimizeOptions options = judged(10);
    std::mt19937 random(seed);
    options.judge = [&, judge = options.judge](const Model& graph) -> std::function<double()> {
      std::function<double()> run = judge(graph);
      return [&, run] { return run() * (random() % 2 ? 1 : 1 + random() % 500 / 100.0); };
    };
    auto found = optimize(model, options);
    ASSERT_TRUE(found) << found.error().text();
    const Report& report = found->report;
    ASSERT_TRUE(report.median_before_us && report.median_after_us && report.speedup);
    if (report.changed) {
      EXPECT_DOUBLE_EQ(*report.median_before_us / *report.median_after_us, *report.speedup);
    } else {
      EXPECT_EQ(*report.speedup, 1);
    }
    for (auto [field, number] : {std::pair("median_before_us", *report.median_before_us),
                                 std::pair("median_after_us", *report.median_after_us),
                                 std::pair("speedup", *report.speedup)})
      EXPECT_DOUBLE_EQ(std::stod(value_of(*found, field)), number) << field;
  }
}

/// Each row of the table is in the struct and, as its column states, in JSON.
TEST(Api, AReportHasTheFieldsOfTheTable) {
  auto found = optimize(parsed(kProducts), judged(10));
  ASSERT_TRUE(found) << found.error().text();
  enum class Written { Always, Drawn, Known, Never };
#define TG_ROW(section, origin, written, type, field, value, meaning)                              \
  if (Written::written != Written::Known) {                                                        \
    EXPECT_EQ(value_of(*found, #field).empty(), Written::written == Written::Never) << #field;     \
  }                                                                                                \
  EXPECT_FALSE(std::string(meaning).empty()) << #field;
#include "tangram/tables/report.def"
  EXPECT_EQ(value_of(*found, "nodes_after"), std::to_string(found->report.nodes_after));
  EXPECT_EQ(value_of(*found, "group_cost_before_us"), "") << "not requested";
  EXPECT_FALSE(found->report.group_cost_before_us);
  EXPECT_EQ(found->report.verified, Verified::Equal);
  EXPECT_FALSE(found->report.rules_applied.empty());
}

TEST(Api, AJudgeMayRefuse) {
  Model model = parsed(kProducts);
  OptimizeOptions options{.cost = CostSpec::analytic("cpu")};
  options.judge = [source = model.text()](const Model& judged) -> std::function<double()> {
    if (judged.text() != source) return {};
    return [] { return 1.0; };
  };
  auto refused = optimize(model, options);
  ASSERT_TRUE(refused) << refused.error().text();
  EXPECT_TRUE(refused->report.source_returned);
  options.judge = [](const Model&) -> std::function<double()> { return [] { return -1.0; }; };
  auto failed = optimize(model, options);
  ASSERT_TRUE(failed) << failed.error().text();
}

TEST(Api, APortableResultHasNoOperatorsOfThisRuntime) {
  Model model = parsed("model m(x: f32[64, 64], y: f32[64, 64]) { tanh(x + y) * sigmoid(x) }");
  OptimizeOptions options{.cost = CostSpec::analytic("cpu")};
  auto own = optimize(model, options);
  ASSERT_TRUE(own);
  EXPECT_NE(own->model.text(), model.text()) << "fused";
  options.portable = true;
  auto portable = optimize(model, options);
  ASSERT_TRUE(portable);
  EXPECT_EQ(portable->model.op_count(), model.op_count());
}

TEST(Api, ReportsAreDrawn) {
  Model model = parsed(kTwins);
  auto best = optimize(model, {.cost = CostSpec::analytic("cpu"), .record_trace = true});
  ASSERT_TRUE(best);
  auto page = report_page(best->trace_json);
  ASSERT_TRUE(page) << page.error().text();
  EXPECT_EQ(page->rfind("<!doctype html>", 0), 0u);
  EXPECT_FALSE(report_page("{}"));
  EXPECT_EQ(graph_svg(model).find("changed"), std::string::npos);
  EXPECT_NE(graph_svg(best->model, &model).find("changed"), std::string::npos);
  EXPECT_NE(svg_style().find(".changed"), std::string::npos);
}

} // namespace
} // namespace tangram
