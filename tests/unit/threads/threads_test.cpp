// Tests that no state is global: two threads, each with its own models, read, optimise,
// compile and run at once, and a third shares a model with each. Equal inputs give equal outputs.
// The main purpose is `./dev test --tsan`, which runs it under ThreadSanitizer without the cpu
// backend (the sanitizer does not support OpenMP's runtime).
#include "tangram/tangram.h"

#include <gtest/gtest.h>

#include <thread>

namespace tangram {
namespace {

constexpr const char* kTwins = R"(
model twins(x: f32[4, 8]) -> (left: f32[4, 16], right: f32[4, 16]) {
  param a: f32[8, 16]
  param b: f32[8, 16]
  (relu(relu(x @ a)), x @ b)
}
)";

constexpr const char* kBlock = R"(
use std.nn: conv

model block(image: f32[1, 3, 8, 8]) {
  let x = relu(conv(image, 8, kernel = 3))
  relu(conv(x, 8, kernel = 3, pad = same)) + x
}
)";

constexpr const char* kRules = R"(
rule relu_twice(x) { relu(relu(x)) => relu(x) }
)";

struct Outcome {
  std::string text; // the optimised model
  std::vector<Tensor> outputs;
  std::string mistake;
};

Tensor input_of(const Model& model) {
  Tensor tensor{model.inputs()[0].shape, {}};
  size_t elements = 1;
  for (int64_t size : tensor.shape) elements *= static_cast<size_t>(size);
  for (size_t i = 0; i < elements; ++i) tensor.data.push_back(0.1f * static_cast<float>(i % 7));
  return tensor;
}

/// Processes a model from text to outputs, and a mistake in another model.
Outcome work(const Model& model, Extractor extract) {
  Outcome outcome;
  auto fast = optimize(model, {.extract = extract,
                               .cost = CostSpec::analytic("cpu"),
                               .node_limit = 2000,
                               .rule_text = kRules});
  if (!fast) return {fast.error().text(), {}, {}};
  outcome.text = fast->model.text();
  auto program = compile(fast->model, {.backend = Backend::Ref});
  if (!program) return {program.error().text(), {}, {}};
  auto outputs = program->run({input_of(model)});
  if (!outputs) return {outputs.error().text(), {}, {}};
  outcome.outputs = *outputs;
  auto wrong = parse("model bad(x: f32[4, 3]) { rleu(x) }", "bad.tg");
  outcome.mistake = wrong ? "" : wrong.error().text();
  return outcome;
}

Outcome work(const char* text, Extractor extract) {
  auto model = parse(text);
  return model ? work(*model, extract) : Outcome{model.error().text(), {}, {}};
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.mistake, b.mistake);
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i) EXPECT_EQ(a.outputs[i].data, b.outputs[i].data);
}

TEST(Threads, CompileTwoModelsAtOnce) {
  Outcome alone[2] = {work(kTwins, Extractor::Greedy), work(kBlock, Extractor::Ilp)};
  ASSERT_EQ(alone[0].outputs.size(), 2u) << alone[0].text;
  ASSERT_EQ(alone[1].outputs.size(), 1u) << alone[1].text;
  EXPECT_NE(alone[0].mistake.find("did you mean"), std::string::npos);
  for (int round = 0; round < 2; ++round) {
    Outcome together[2];
    std::thread first([&] { together[0] = work(kTwins, Extractor::Greedy); });
    std::thread second([&] { together[1] = work(kBlock, Extractor::Ilp); });
    first.join();
    second.join();
    for (int i = 0; i < 2; ++i) expect_same(alone[i], together[i]);
  }
}

TEST(Threads, ShareOneModel) {
  Outcome alone = work(kTwins, Extractor::Greedy), together[2];
  auto model = parse(kTwins); // not used before
  ASSERT_TRUE(model);
  std::thread first([&] { together[0] = work(*model, Extractor::Greedy); });
  std::thread second([&] { together[1] = work(*model, Extractor::Greedy); });
  first.join();
  second.join();
  for (const Outcome& outcome : together) expect_same(alone, outcome);
}

/// Each search and each dtype adds symbols.
TEST(Threads, SearchAndRetypeOneModel) {
  auto model = parse(kTwins);
  ASSERT_TRUE(model);
  std::vector<OptimizeOptions> ways(4);
  ways[0].search = Search::Saturate;
  ways[1].dtype = DType::F16;
  ways[2].search = Search::Taso;
  ways[3].dtype = DType::BF16;
  for (OptimizeOptions& way : ways) {
    way.cost = CostSpec::analytic("cpu");
    way.finalists = 0;
    way.node_limit = 500;
    way.time_limit_s = 5;
  }
  std::vector<std::string> wrong(ways.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ways.size(); ++i)
    threads.emplace_back([&, i] {
      if (auto found = optimize(*model, ways[i]); !found) wrong[i] = found.error().text();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

/// A network of one segment: threads help in its only search, on replicas of its e-graph.
TEST(Threads, HelpInOneSearch) {
  auto model = parse(R"(
model total(x: f32[8], y: f32[8]) {
  ((tanh(x) + y) + (relu(x) + tanh(y))) + ((x + relu(y)) + (sigmoid(x) + sigmoid(y)))
}
)");
  ASSERT_TRUE(model) << model.error().text();
  OptimizeOptions options;
  options.cost = CostSpec::analytic("cpu"); // does not depend on the machine
  options.extract = Extractor::GreedyDag;   // does not use a clock
  options.rule_text = "rule sum_commutes(a, b) { a + b => b + a }\n"
                      "rule sum_associates(a, b, c) { (a + b) + c => a + (b + c) }\n";
  options.trust_rules = true;
  options.node_limit = 300;
  options.time_limit_s = 600;
  std::string texts[3];
  int number = 0;
  for (int threads : {1, 2, 4}) {
    options.threads = threads;
    auto fast = optimize(*model, options);
    ASSERT_TRUE(fast) << fast.error().text();
    texts[number++] = fast->model.text();
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
}

} // namespace
} // namespace tangram
