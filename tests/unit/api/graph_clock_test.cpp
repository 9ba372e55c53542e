// Tests the times of graphs in training: by whole runs against the source, and by prices.
#include "compiler/api/graph_clock.h"

#include "compiler/api/files/model.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

class Clock : public testing::Test {
protected:
  Graph load(const std::string& body) {
    FileId file =
        sources.add("test.tg", "model m(x: f32[4, 8]) -> (y: f32[4, 8]) { " + body + " }");
    std::optional<Graph> graph = load_model(sources, file, {}, sink);
    EXPECT_TRUE(graph);
    return *graph;
  }
  std::unique_ptr<GraphClock> clock_of(const Graph& source, bool by_prices, GraphRuns runs = {}) {
    tangram::OptimizeOptions options;
    options.cost = by_prices ? *tangram::CostSpec::from_text("analytic:cpu")
                             : tangram::CostSpec::measured(tangram::Backend::Ref);
    options.threads = 1;
    auto clock = GraphClock::make(source, by_prices, options, {}, StopToken(), runs);
    EXPECT_TRUE(clock) << clock.error().message;
    return std::move(*clock);
  }

  SourceManager sources;
  DiagnosticSink sink;
  Graph source = load("relu(relu(x))"), faster = load("relu(x)"), other = load("exp(x)");
};

/// The source's time is the baseline of all rewards. A measured ratio of the source to itself would
/// add its noise to each reward.
TEST_F(Clock, UsesOneTimeOfTheSourceForAllComparisons) {
  std::unique_ptr<GraphClock> clock = clock_of(source, false);
  Result<double> own = clock->time_us(source);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_GT(*own, 0);
  EXPECT_EQ(clock->refused(), 0u);
  Result<double> refused = clock->time_us(other);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(*refused, 2 * *own) << "it gives other outputs";
  EXPECT_EQ(clock->refused(), 1u);
  Result<double> equal = clock->time_us(faster);
  ASSERT_TRUE(equal) << equal.error().message;
  EXPECT_GT(*equal, 0);
  EXPECT_EQ(clock->refused(), 1u);
}

/// Disturbed runs may be repeated, up to five times as many pairs.
TEST_F(Clock, RunsTheRequestedNumberOfPairs) {
  auto is_multiple = [](size_t pairs, size_t of) { return pairs % of == 0 && pairs >= of; };
  std::unique_ptr<GraphClock> few = clock_of(source, false, {.pairs = 2, .seconds = 0});
  ASSERT_TRUE(few->time_us(source));
  EXPECT_TRUE(is_multiple(few->pairs(), 2)) << few->pairs();
  ASSERT_TRUE(few->time_us(faster));
  EXPECT_TRUE(is_multiple(few->pairs(), 2) && few->pairs() >= 4 && few->pairs() <= 20)
      << few->pairs();
  std::unique_ptr<GraphClock> many = clock_of(source, false, {.pairs = 400, .seconds = 0});
  ASSERT_TRUE(many->time_us(source));
  EXPECT_TRUE(is_multiple(many->pairs(), 400)) << many->pairs();
  std::unique_ptr<GraphClock> usual = clock_of(source, false);
  ASSERT_TRUE(usual->time_us(source));
  EXPECT_GE(usual->pairs(), GraphRuns().pairs);
}

TEST_F(Clock, AnEnvironmentAsksOnceForEachGraph) {
  std::unique_ptr<GraphClock> clock = clock_of(source, false);
  size_t asked = 0;
  RewriteEnvironment game(source, {},
                          [&](const Graph& graph) {
                            ++asked;
                            return clock->time_us(graph);
                          },
                          {});
  for (int episode = 0; episode < 2; ++episode) {
    ASSERT_TRUE(game.reset());
    Result<RewriteEnvironment::Step> step = game.step(game.state()->stop());
    ASSERT_TRUE(step);
    EXPECT_EQ(step->reward, 0) << "nothing was changed";
  }
  EXPECT_EQ(asked, 1u);
  EXPECT_EQ(game.best().time, game.source_time());
}

TEST_F(Clock, FailsWithoutATimeOfTheSource) {
  Result<double> first = clock_of(source, false)->time_us(other);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::device);
}

/// Returns these ratios in order, each of a comparison that is disturbed or not.
class ToldRuns : public FinalistRunner {
public:
  struct Told {
    double ratio;
    Disturbance disturbance;
  };
  ToldRuns(std::vector<Told> told, std::vector<size_t>& asked)
      : told_(std::move(told)), asked_(asked) {}
  Result<WholeRuns> compare(const Graph& first, const Graph& second) override {
    return compare_longer(first, second, 1);
  }
  Result<WholeRuns> compare_longer(const Graph&, const Graph&, size_t times) override {
    WholeRuns runs;
    runs.times.first_us = 100;
    runs.times.ratio = told_[asked_.size()].ratio;
    runs.disturbance = told_[asked_.size()].disturbance;
    asked_.push_back(times);
    return runs;
  }

private:
  std::vector<Told> told_;
  std::vector<size_t>& asked_; // length of each comparison, as a multiple of the usual one
};

/// The source is timed first, undisturbed.
TEST_F(Clock, RepeatsDisturbedTimingsWithMoreRuns) {
  constexpr Disturbance kNone = Disturbance::None, kSlight = Disturbance::Slight,
                        kHeavy = Disturbance::Heavy;
  std::vector<size_t> asked;
  auto time = [&](std::vector<ToldRuns::Told> told) {
    told.insert(told.begin(), {1, kNone});
    asked.clear();
    GraphClock clock(source, std::make_unique<ToldRuns>(std::move(told), asked));
    EXPECT_EQ(*clock.time_us(source), 100);
    return *clock.time_us(faster);
  };
  using Asked = std::vector<size_t>;
  EXPECT_EQ(time({{2, kNone}}), 50);
  EXPECT_EQ(time({{2, kSlight}}), 50);
  EXPECT_EQ(asked, Asked({1, 1}));
  EXPECT_EQ(time({{8, kHeavy}, {2, kHeavy}}), 50);
  EXPECT_EQ(asked, Asked({1, 1, 4}));
}

TEST_F(Clock, PricesAreTheSameEachTime) {
  std::unique_ptr<GraphClock> clock = clock_of(source, true);
  double once = *clock->time_us(source);
  EXPECT_EQ(*clock->time_us(source), once);
  EXPECT_LT(*clock->time_us(faster), once);
  EXPECT_EQ(clock->refused(), 0u);
}

} // namespace
} // namespace tg
