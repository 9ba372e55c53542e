// Tests that a stop request ends each phase of each extractor soon, with a sound answer.
#include "compiler/extract/extractors.h"
#include "compiler/extract/solver/reduce.h"

#include <gtest/gtest.h>

#include <random>

namespace tg {
namespace {

/// Layers of classes with alternatives over the layers below, and occasionally an older class.
ExtractionProblem network(uint32_t classes) {
  std::mt19937_64 random(3);
  auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  ExtractionProblem problem;
  for (uint32_t c = 0; c < classes; ++c) problem.add_class();
  for (uint32_t c = 0; c < classes; ++c)
    for (int i = 0; i < 3; ++i) {
      std::vector<ClassIx> children;
      for (uint32_t k = below(3); k > 0 && c >= 4; --k) children.push_back({c - 1 - below(4)});
      if (c > 64 && below(8) == 0) children.push_back({c - 1 - below(64)});
      problem.add_node({c}, below(16) == 0 ? 40 + below(40) : below(20), children);
    }
  for (uint32_t i = 0; i < 4; ++i) problem.add_root({classes - 1 - i});
  problem.seal();
  return problem;
}

TEST(Stop, EndsAReductionAtAnyPoint) {
  ExtractionProblem problem = network(6'000);
  GreedyResult greedy = greedy_trees(problem);
  std::optional<ReducedProblem> whole = reduce(problem, greedy);
  ASSERT_TRUE(whole);
  int polls = 0;
  auto never = [&] { return ++polls, false; };
  std::optional<ReducedProblem> asked = reduce(problem, greedy, never);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->problem.node_count(), whole->problem.node_count());
  EXPECT_GT(polls, 10);
  for (int last : {1, 2, 5, 20, polls / 2, polls - 1}) {
    int left = last;
    EXPECT_FALSE(reduce(problem, greedy, [&] { return --left <= 0; })) << last;
    EXPECT_EQ(left, 0) << "once is enough";
  }
}

TEST(Stop, GreedyThatIsStoppedHasNoChoice) {
  ExtractionProblem problem = network(30'000);
  int left = 2;
  EXPECT_FALSE(extract_greedy(problem, [&] { return --left <= 0; }));
  EXPECT_EQ(left, 0);
  EXPECT_TRUE(extract_greedy(problem, [] { return false; }));
}

class StopOf : public testing::TestWithParam<Extractor> {};

TEST_P(StopOf, GivesAValidAnswerWhenStoppedAtTheNthCall) {
  ExtractionProblem problem = network(3'000);
  double greedy = extract_by_greedy(problem)->dag_cost;
  for (int last : {1, 2, 3, 5, 8}) {
    int left = last;
    IlpOptions options;
    options.time_limit_s = 100;
    options.stop = [&](const ExtractionProgress&) { return --left <= 0; };
    Result<Extraction> answer = run_extractor(problem, GetParam(), options);
    ASSERT_TRUE(answer) << last;
    CheckedChoice checked = check_choice(problem, answer->choice);
    EXPECT_TRUE(checked.ok()) << last << ": " << checked.fault;
    EXPECT_EQ(checked.dag_cost, answer->dag_cost) << last;
    EXPECT_LE(answer->lower_bound, answer->dag_cost) << last;
    EXPECT_GE(left, 0) << "no call after the stop";
    if (GetParam() == Extractor::Best || GetParam() == Extractor::Ilp) {
      EXPECT_LE(answer->dag_cost, greedy) << last;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StopOf,
                         testing::Values(Extractor::GreedyShared, Extractor::GreedyDag,
                                         Extractor::Ilp, Extractor::Lp, Extractor::Best),
                         [](const auto& info) {
                           std::string name = extractor_name(info.param).str();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
} // namespace tg
