// Tests training by episodes: the end of an episode, the samples of an update, and random play.
#include "bench/paper/learned/ppo.h"

#include "tests/unit/search/rewrite_game.h"

#include <cmath>

namespace tg::paper {
namespace {

using test::RewriteGame;

class Ppo : public testing::Test {
protected:
  RewriteGame game;

  RewriteEnvironment environment(EnvironmentOptions options) {
    options.explore.numerics = Numerics::Lossy; // a game's rules may be false
    options.encoder = make_state_encoding;
    return {game.source, game.rules,
            [](const Graph& graph) -> Result<double> { return RewriteGame::price_of(graph); },
            options};
  }
};

/// Answers with uniform probabilities.
class Uniform final : public PolicyRunner {
public:
  Result<Decision> decide(const EncodedState& state) override {
    size_t actions = state.candidates;
    return Decision{std::vector<double>(actions, -std::log(static_cast<double>(actions))), 0};
  }
  Result<LearnReport> learn(llvm::ArrayRef<Sample>) override { return LearnReport(); }
};

/// Requests a stop while it learns.
class Stopping final : public PolicyRunner {
public:
  explicit Stopping(Cancellation& wish) : wish_(wish) {}
  Result<Decision> decide(const EncodedState& state) override { return uniform_.decide(state); }
  Result<LearnReport> learn(llvm::ArrayRef<Sample> samples) override {
    wish_.request();
    learned += samples.size();
    return LearnReport();
  }
  size_t learned = 0;

private:
  Cancellation& wish_;
  Uniform uniform_;
};

/// Otherwise a training that continues would lead to another policy than an uninterrupted one.
TEST_F(Ppo, PartialUpdateIsDiscarded) {
  Cancellation wish;
  RewriteEnvironment env =
      environment({.horizon = 3, .measure_every = 1, .stop = StopToken(&wish)});
  Stopping policy(wish);
  PpoOptions options;
  options.episodes = 100, options.episodes_per_update = 10, options.minibatch = 4;
  options.stop = StopToken(&wish);
  size_t updates = 0;
  ASSERT_TRUE(train(env, policy, options, {}, [&](const TrainingProgress&) -> Result<void> {
    ++updates;
    return {};
  }));
  EXPECT_EQ(updates, 0u);
  EXPECT_GT(policy.learned, 0u);
  EXPECT_LE(policy.learned, options.minibatch) << "it ends before the next minibatch";
}

/// This makes the game hard: greedy play does not end in the best state, and random play does
/// so in few episodes. (Many episodes pass through the best state; only their ends count.)
TEST_F(Ppo, NeitherGreedyNorRandomPlayEndsInTheBestStateOfTheGame) {
  RewriteEnvironment greedy = environment({.measure_every = 1});
  ASSERT_TRUE(greedy.reset());
  for (bool done = false; !done;) {
    const RewriteState& state = *greedy.state();
    size_t best = state.stop();
    double least = RewriteGame::price_of(state.graph);
    for (size_t i = 0; i < state.candidates.size(); ++i) {
      std::optional<Graph> made = Rewrites(state.graph, game.rules, {.numerics = Numerics::Lossy})
                                      .make(state.candidates[i].rewrite);
      if (RewriteGame::price_of(*made) < least) best = i, least = RewriteGame::price_of(*made);
    }
    done = greedy.step(best)->done;
  }
  EXPECT_DOUBLE_EQ(greedy.best().time, RewriteGame::kDeadEndUs);

  Uniform uniform;
  RewriteEnvironment random = environment({.horizon = 20, .measure_every = 1});
  size_t ends = 0;
  for (size_t episode = 0; episode < 1'000; ++episode)
    ends += play(random, uniform, 1, episode, false)->time == RewriteGame::kBestUs;
  EXPECT_LT(ends, 50u) << "of a thousand episodes";
}

// --- advantages ----------------------------------------------------------------------------------

Episode episode_of(std::vector<double> rewards, std::vector<double> values) {
  Episode out;
  auto state = std::make_shared<RewriteState>(RewriteState{test::layers(1), {}, {}});
  for (size_t i = 0; i < rewards.size(); ++i)
    out.steps.push_back({state, 0, 0, values[i], rewards[i]});
  return out;
}

/// Computed by hand, with discount 0.5 and smoothing 0.5.
TEST(Advantages, AreDiscountedSumsOfErrorsWithinAnEpisode) {
  PpoOptions options{.discount = 0.5, .smoothing = 0.5};
  Episode first = episode_of({1, 2}, {4, 6}), second = episode_of({8}, {1});
  std::vector<Sample> samples = samples_of({first, second}, options);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_DOUBLE_EQ(samples[1].advantage, 2 - 6.0);
  EXPECT_DOUBLE_EQ(samples[0].advantage, (1 + 0.5 * 6 - 4) + 0.25 * -4);
  EXPECT_DOUBLE_EQ(samples[0].target, samples[0].advantage + 4);
  EXPECT_DOUBLE_EQ(samples[2].advantage, 7);

  first.cut = true;
  first.value_after = 10;
  samples = samples_of({first, second}, options);
  EXPECT_DOUBLE_EQ(samples[1].advantage, 2 + 0.5 * 10 - 6) << "a cut episode has a future";
}

TEST(Advantages, ReproduceTheAuthorsMistakesOnRequest) {
  PpoOptions options{.discount = 0.5, .smoothing = 0.5};
  Episode first = episode_of({1}, {4}), second = episode_of({8}, {2});
  first.cut = true;
  first.value_after = 10;
  options.slips.last_without_value = true;
  EXPECT_DOUBLE_EQ(samples_of({first, second}, options)[1].advantage, 8);
  options.slips = {.cut_runs_into_next = true};
  EXPECT_DOUBLE_EQ(samples_of({first, second}, options)[0].advantage,
                   (1 + 0.5 * 2 - 4) + 0.25 * (8 - 2))
      << "as if the next episode's first state came after it";
}

} // namespace
} // namespace tg::paper
