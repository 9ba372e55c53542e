// Tests the environment as a program that embeds it does: the file includes only its header.
#include "tangram/environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tangram {
namespace {

/// Two products of one value, which rules merge, and a redundant relu.
constexpr const char* kModel = R"(
model twins(x: f32[4, 8]) {
  param a: f32[8, 16]
  param b: f32[8, 16]
  relu(relu(x @ a)) + x @ b
}
)";

Model model_of(const char* text = kModel) {
  auto model = parse(text);
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return *model;
}

EnvironmentOptions by_prices() {
  EnvironmentOptions options;
  options.search.cost = *CostSpec::from_text("analytic:cpu");
  options.search.threads = 1;
  options.by_prices = true;
  options.measure_every = 1;
  return options;
}

Environment environment(const EnvironmentOptions& options, const char* text = kModel) {
  auto made = Environment::make(model_of(text), options);
  EXPECT_TRUE(made) << (made ? "" : made.error().text());
  return std::move(*made);
}

size_t action_of(const Environment& game, const std::string& rule) {
  for (size_t i = 0; i < game.candidates().size(); ++i)
    if (game.candidates()[i].rule == rule) return i;
  ADD_FAILURE() << "no candidate by " << rule;
  return game.actions() - 1;
}

TEST(Environment, CandidatesComeInOneOrderAndLeadWhereTheySay) {
  Environment game = environment(by_prices()), again = environment(by_prices());
  EXPECT_TRUE(game.candidates().empty()) << "before reset()";
  ASSERT_FALSE(game.reset());
  ASSERT_FALSE(again.reset());
  ASSERT_GT(game.candidates().size(), 2u);
  ASSERT_EQ(game.actions(), again.actions());
  for (size_t i = 0; i < game.candidates().size(); ++i) {
    EXPECT_EQ(game.candidates()[i].rule, again.candidates()[i].rule);
    EXPECT_EQ(game.candidates()[i].place, again.candidates()[i].place);
    EXPECT_EQ(game.after(i)->text(), again.after(i)->text());
    auto equal = verify(game.model(), *game.after(i));
    ASSERT_TRUE(equal);
    EXPECT_EQ(equal->verdict, Verification::Verdict::Equal) << game.candidates()[i].rule;
  }
  EXPECT_EQ(game.after(game.actions() - 1)->text(), game.model().text()) << "the action to stop";
}

TEST(Environment, RewardsTheGainOfAStepAndKeepsTheBestGraph) {
  Environment game = environment(by_prices());
  ASSERT_FALSE(game.reset());
  size_t action = action_of(game, "relu_relu");
  Model after = *game.after(action);
  auto step = game.step(action);
  ASSERT_TRUE(step) << step.error().text();
  EXPECT_GT(step->reward, 0);
  EXPECT_NEAR(step->reward, 100 * (step->step.last_us - step->step.time_us) / step->step.source_us,
              1e-9);
  EXPECT_FALSE(step->terminated || step->truncated);
  EXPECT_EQ(game.model().text(), after.text());
  EXPECT_EQ(game.best().model.text(), after.text());
  ASSERT_EQ(game.best().path.size(), 1u);
  EXPECT_EQ(game.best().path[0].rule, "relu_relu");
  EXPECT_LT(game.best().time_us, game.source_us());
  auto stop = game.step(game.actions() - 1);
  ASSERT_TRUE(stop);
  EXPECT_TRUE(stop->terminated);
  EXPECT_FALSE(game.step(0)) << "no episode goes on";
  ASSERT_FALSE(game.reset());
  EXPECT_TRUE(game.path().empty());
  EXPECT_EQ(game.best().model.text(), after.text()) << "of all episodes";
}

TEST(Environment, TheHorizonTruncatesAndWaitingStepsAreNotMeasured) {
  EnvironmentOptions options = by_prices();
  options.horizon = 2, options.measure_every = 0, options.waiting_reward = 0.25;
  Environment game = environment(options);
  ASSERT_FALSE(game.reset());
  auto first = game.step(0), second = game.step(0);
  ASSERT_TRUE(first && second);
  EXPECT_DOUBLE_EQ(first->reward, 0.25);
  EXPECT_FALSE(first->step.measured);
  EXPECT_TRUE(second->truncated);
  EXPECT_FALSE(second->terminated);
  EXPECT_TRUE(second->step.measured);
}

TEST(Environment, TakesAClockAndRewardsOfOnesOwn) {
  EnvironmentOptions options = by_prices();
  size_t asked = 0;
  options.time_us = [&](const Model& model) {
    ++asked;
    return static_cast<double>(model.op_count());
  };
  options.reward = [](const RewriteStep& s) { return s.last_us - s.time_us + s.source_us; };
  Environment game = environment(options);
  ASSERT_FALSE(game.reset());
  EXPECT_DOUBLE_EQ(game.source_us(), 5);
  auto step = game.step(action_of(game, "relu_relu"));
  ASSERT_TRUE(step);
  EXPECT_DOUBLE_EQ(step->reward, 1 + 5);
  ASSERT_FALSE(game.reset());
  EXPECT_EQ(asked, 2u) << "each graph once";

  options.time_us = [](const Model&) { return -1.0; };
  Environment broken = environment(options);
  EXPECT_TRUE(broken.reset());
}

TEST(Environment, MeasuresWholeRuns) {
  EnvironmentOptions options;
  options.search.cost = CostSpec::measured(Backend::Ref);
  options.search.threads = 1;
  Environment game = environment(options);
  auto failed = game.reset();
  ASSERT_FALSE(failed) << failed->text();
  EXPECT_GT(game.source_us(), 0);
}

TEST(Environment, NumbersTellOperatorsSizesAndWeights) {
  Environment game = environment(by_prices(), R"(
model m(x: f32[4, 8]) {
  param w: f32[8, 16]
  softmax(x @ w)
}
)");
  ASSERT_FALSE(game.reset());
  GraphNumbers numbers = *game.numbers(game.actions() - 1);
  std::vector<std::string> names = Environment::operator_names();
  ASSERT_EQ(numbers.operators.size(), 2u);
  EXPECT_EQ(names[static_cast<size_t>(numbers.operators[0])], "matmul");
  EXPECT_EQ(names[static_cast<size_t>(numbers.operators[1])], "softmax");
  EXPECT_EQ(numbers.edges, (std::vector<int32_t>{0, 1}));
  ASSERT_EQ(numbers.traits.size(), 2 * Environment::kTraits);
  auto scaled = [](double n) { return static_cast<float>(std::log2(1 + n) / 8); };
  EXPECT_FLOAT_EQ(numbers.traits[3], scaled(16)) << "the last dimension of the result";
  EXPECT_FLOAT_EQ(numbers.traits[10], scaled(8)) << "the first of the weight";
  EXPECT_FLOAT_EQ(numbers.traits[12], 0) << "not from weights alone";
  EXPECT_FLOAT_EQ(numbers.traits[14], 1) << "its second operand is";
}

/// A clip with one bound has an infinite bound. Infinite features would turn a network's values
/// to NaN.
TEST(Environment, NumbersAreFinite) {
  Environment game = environment(by_prices(), "model m(x: f32[4, 8]) { clip(x, 0.5, inf) }");
  ASSERT_FALSE(game.reset());
  GraphNumbers numbers = *game.numbers(game.actions() - 1);
  ASSERT_EQ(numbers.operators.size(), 1u);
  EXPECT_EQ(*std::max_element(numbers.traits.begin(), numbers.traits.end()), 16.0F);
  for (float trait : numbers.traits) EXPECT_LE(std::abs(trait), 16.0F);
}

TEST(Environment, ReportsInvalidOptionsAndCalls) {
  EnvironmentOptions options = by_prices();
  options.search.rules = {"no_such_rule"};
  EXPECT_FALSE(Environment::make(model_of(), options));
  options = by_prices();
  options.horizon = 0;
  EXPECT_FALSE(Environment::make(model_of(), options));
  Environment game = environment(by_prices());
  EXPECT_FALSE(game.step(0)) << "before reset()";
  for (const std::string& text : {game.after(0).error().text(), game.numbers(0).error().text()})
    EXPECT_NE(text.find("start an episode with reset()"), std::string::npos) << text;
  EXPECT_EQ(game.model().text(), model_of().text());
  ASSERT_FALSE(game.reset());
  auto none = game.step(game.actions());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("there is no action"), std::string::npos);
  EXPECT_FALSE(game.after(game.actions()));
  EXPECT_FALSE(game.numbers(game.actions()));
}

/// After a step whose clock failed, the state is the next graph with that graph's actions.
TEST(Environment, AStepThatFailsLeavesAStateThatCanBeLookedAt) {
  size_t asked = 0;
  EnvironmentOptions options = by_prices();
  options.time_us = [&](const Model&) { return asked++ == 0 ? 10.0 : -1.0; };
  Environment game = environment(options);
  ASSERT_FALSE(game.reset());
  Model after = *game.after(action_of(game, "relu_relu"));
  EXPECT_FALSE(game.step(action_of(game, "relu_relu")));
  EXPECT_EQ(game.model().text(), after.text());
  for (size_t i = 0; i < game.actions(); ++i) {
    EXPECT_TRUE(game.after(i)) << i;
    EXPECT_TRUE(game.numbers(i)) << i;
  }
  EXPECT_FALSE(game.after(game.actions()));
  EXPECT_FALSE(game.step(0)) << "the episode is over";
}

TEST(Environment, HasNoStateAfterAFailedFirstReset) {
  EnvironmentOptions options = by_prices();
  options.time_us = [](const Model&) { return -1.0; };
  Environment game = environment(options);
  ASSERT_TRUE(game.reset());
  EXPECT_FALSE(game.after(0));
  EXPECT_FALSE(game.numbers(0));
  EXPECT_FALSE(game.step(0));
}

TEST(Environment, TheInterruptEndsIt) {
  EnvironmentOptions options = by_prices();
  options.search.interrupt.emplace();
  Environment game = environment(options);
  ASSERT_FALSE(game.reset());
  options.search.interrupt->request();
  EXPECT_FALSE(game.step(0));
}

} // namespace
} // namespace tangram
