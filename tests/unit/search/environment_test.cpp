// Tests optimisation as a game: the actions of a state, the rewards, and the end of an episode.
#include "compiler/search/game/environment.h"

#include "compiler/extract/extract.h"
#include "tests/unit/search/rewrite_game.h"

#include <cmath>

namespace tg {
namespace {

using test::RewriteGame;

class Environment : public testing::Test {
protected:
  RewriteGame game;
  size_t asked = 0;

  RewriteEnvironment environment(EnvironmentOptions options) {
    options.explore.numerics = Numerics::Lossy; // a game's rules may be false
    return {game.source, game.rules,
            [this](const Graph& graph) -> Result<double> {
              ++asked;
              return RewriteGame::price_of(graph);
            },
            options};
  }
  /// Returns the action that leads to this state of the game.
  static size_t to(const RewriteEnvironment& environment, size_t state, const RewriteGame& game) {
    const RewriteState& now = *environment.state();
    std::string name = "_to_" + std::to_string(state);
    for (size_t i = 0; i < now.candidates.size(); ++i)
      if (llvm::StringRef(game.rules[now.candidates[i].rule].name).endswith(name)) return i;
    ADD_FAILURE() << "no way to " << state;
    return now.stop();
  }
};

TEST_F(Environment, OffersEveryRewriteOnceInTheOrderOfTheRules) {
  RewriteEnvironment env = environment({});
  ASSERT_TRUE(env.reset());
  const RewriteState& state = *env.state();
  ASSERT_EQ(state.actions(), 5u) << "to 1, 3, 4, 5, and to stop";
  EXPECT_LT(state.candidates[0].rule, state.candidates[1].rule);
}

/// Two rules that produce the same graph are one action. Rewrites that lead back to the graph
/// are not offered.
TEST_F(Environment, OffersNoGraphTwice) {
  std::vector<Rule> rules = test::rules_of(test::kAlgebra);
  std::vector<Rule> twice = rules;
  twice.insert(twice.end(), rules.begin(), rules.end());
  Graph layers = test::layers(3);
  auto actions = [&](llvm::ArrayRef<Rule> of) {
    RewriteEnvironment env(layers, of, [](const Graph&) -> Result<double> { return 1; }, {});
    EXPECT_TRUE(env.reset());
    return env.state()->actions();
  };
  EXPECT_GT(actions(rules), 3u);
  EXPECT_EQ(actions(rules), actions(twice));
}

TEST_F(Environment, RewardsTheGainInPercentOfTheSource) {
  RewriteEnvironment env = environment({.measure_every = 1});
  ASSERT_TRUE(env.reset());
  EXPECT_NEAR(env.step(to(env, 3, game))->reward, -0.1, 1e-9);
  EXPECT_NEAR(env.step(to(env, 6, game))->reward, -0.3, 1e-9);
  EXPECT_NEAR(env.step(to(env, 8, game))->reward, 8.4, 1e-9);
  Result<RewriteEnvironment::Step> stop = env.step(env.state()->stop());
  EXPECT_TRUE(stop->done);
  EXPECT_FALSE(stop->cut);
  EXPECT_DOUBLE_EQ(stop->reward, 0);
  EXPECT_DOUBLE_EQ(env.best().time, RewriteGame::kBestUs);
  EXPECT_EQ(env.path().size(), 3u);
}

TEST_F(Environment, MeasuresEveryFewStepsAndAtTheEndAndNoGraphTwice) {
  RewriteEnvironment env = environment({.measure_every = 2, .waiting_reward = 0.1});
  for (int episode = 0; episode < 2; ++episode) {
    ASSERT_TRUE(env.reset());
    EXPECT_DOUBLE_EQ(env.step(to(env, 3, game))->reward, 0.1);
    EXPECT_NEAR(env.step(to(env, 6, game))->reward, -0.4, 1e-9);
    EXPECT_DOUBLE_EQ(env.step(env.state()->stop())->reward, 0);
  }
  EXPECT_EQ(asked, 2u) << "the source, and state 6";
  EXPECT_EQ(env.measurements(), 2u);
  EXPECT_DOUBLE_EQ(env.best().time, RewriteGame::kStartUs);
}

TEST_F(Environment, EndsAtTheHorizonAndWhereNothingCanBeDone) {
  RewriteEnvironment env = environment({.horizon = 2, .measure_every = 0});
  ASSERT_TRUE(env.reset());
  EXPECT_FALSE(env.step(to(env, 3, game))->done);
  Result<RewriteEnvironment::Step> last = env.step(to(env, 6, game));
  EXPECT_TRUE(last->done);
  EXPECT_TRUE(last->cut);
  EXPECT_NEAR(last->reward, -0.4, 1e-9);

  std::vector<Rule> one_way = {game.rules[1]}; // from 1 to 2: not applicable at the start
  RewriteEnvironment stuck(game.source, one_way, RewriteGame::price_of, {});
  ASSERT_TRUE(stuck.reset());
  ASSERT_EQ(stuck.state()->actions(), 1u);
  EXPECT_TRUE(stuck.step(0)->done);
}

TEST_F(Environment, TakesRewardsOfOnesOwn) {
  RewriteEnvironment env = environment(
      {.measure_every = 1, .reward = [](const RewardInputs& s) { return s.done ? s.now : -1; }});
  ASSERT_TRUE(env.reset());
  EXPECT_DOUBLE_EQ(env.step(to(env, 1, game))->reward, -1);
  EXPECT_DOUBLE_EQ(env.step(env.state()->stop())->reward, 99.8);
}

TEST_F(Environment, AnErrorOfTheClockEndsTheEpisode) {
  RewriteEnvironment env(
      game.source, game.rules,
      [](const Graph&) -> Result<double> { return error(Code::device, "no clock"); }, {});
  EXPECT_FALSE(env.reset());
}

/// Rewards are fractions of the source's time.
TEST_F(Environment, ASourceThatTakesNoTimeIsRefused) {
  GraphTime none = [](const Graph&) -> Result<double> { return 0.0; };
  EnvironmentOptions options{.explore = {.numerics = Numerics::Lossy}};
  Result<void> begun = RewriteEnvironment(game.source, game.rules, none, options).reset();
  ASSERT_FALSE(begun);
  EXPECT_NE(begun.error().message.find("takes no time"), std::string::npos);
  options.reward = [](const RewardInputs&) { return 1.0; }; // rewards may not depend on time
  EXPECT_TRUE(RewriteEnvironment(game.source, game.rules, none, options).reset());
}

TEST_F(Environment, StepsAreErrorsOnceItIsStopped) {
  Cancellation wish;
  RewriteEnvironment env = environment({.stop = StopToken(&wish)});
  ASSERT_TRUE(env.reset());
  EXPECT_TRUE(env.step(0));
  wish.request();
  Result<RewriteEnvironment::Step> refused = env.step(env.state()->stop());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::limit_no_answer);
}

TEST_F(Environment, GoesAWayAgain) {
  RewriteEnvironment env = environment({.measure_every = 0});
  ASSERT_TRUE(env.reset());
  for (size_t state : {3, 6}) ASSERT_TRUE(env.step(to(env, state, game)));
  std::vector<size_t> rewrites;
  for (const PathStep& step : env.path()) rewrites.push_back(step.rewrite);
  ASSERT_TRUE(env.step(to(env, RewriteGame::kBest, game)));
  rewrites.push_back(env.path().back().rewrite);
  RewriteEnvironment other = environment({.measure_every = 0});
  ASSERT_TRUE(other.follow(rewrites));
  EXPECT_DOUBLE_EQ(other.best().time, RewriteGame::kBestUs);
  EXPECT_EQ(other.best().path.size(), 3u);
  // In a second measurement it may be slower than the source by chance. It remains the best.
  RewriteEnvironment unlucky(game.source, game.rules,
                             [&](const Graph& graph) -> Result<double> {
                               double us = RewriteGame::price_of(graph);
                               return us == RewriteGame::kBestUs ? 1e6 : us;
                             },
                             {.measure_every = 0});
  ASSERT_TRUE(unlucky.follow(rewrites));
  EXPECT_EQ(unlucky.best().path.size(), 3u);
  rewrites[1] = 99; // there is no such rewrite: the state does not change
  ASSERT_TRUE(other.follow(rewrites));
  EXPECT_EQ(other.path().size(), 1u);
}

} // namespace
} // namespace tg
