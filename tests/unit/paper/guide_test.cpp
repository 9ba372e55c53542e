// Tests the guide as the tree search's policy, with an invented network; its rivals;
// and what is learned from a search.
#include "bench/paper/learned/guide.h"
#include "bench/paper/learned/rival_tables.h"

#include "compiler/search/portfolio/portfolio.h"
#include "tests/unit/search/search_fixture.h"

namespace tg::paper {
namespace {

using test::kSumRules;
using test::rules_of;
using test::UnitCost;

/// A declaration that contains a commutative operator gives several rules.
uint32_t number_of(const std::vector<Rule>& rules, llvm::StringRef name) {
  for (uint32_t i = 0; i < rules.size(); ++i)
    if (rules[i].name == name) return i;
  ADD_FAILURE() << "no rule " << name.str();
  return 0;
}

/// Names one rule as promising, and counts the requests.
class MadeUp final : public GuideRunner {
public:
  uint32_t promising = 0;
  size_t assessments = 0, studied = 0;
  bool broken = false;
  float beyond = 0;             // logit of the first rule, unless 0
  Cancellation* wish = nullptr; // stopped during the first study
  std::vector<GuideSample> seen;

  Result<Answer> assess(const GraphFeatures& graph, llvm::ArrayRef<Rule> rules) override {
    ++assessments;
    if (broken) return error(Code::device, "no network");
    EXPECT_FALSE(graph.operators.empty());
    Answer answer{std::vector<float>(rules.size() * kGrains, -5), 0.25};
    for (size_t g = 0; g < kGrains; ++g) answer.logits[promising * kGrains + g] = 5;
    if (beyond != 0) answer.logits[0] = beyond;
    return answer;
  }
  Result<double> train_step(llvm::ArrayRef<const GuideSample*> minibatch,
                            llvm::ArrayRef<Rule>) override {
    ++studied;
    if (wish) wish->request();
    for (const GuideSample* sample : minibatch) seen.push_back(*sample);
    return 1.0;
  }
};

MctsReport search(Policy& policy, MctsOptions options = {}) {
  Graph graph = test::layers(3);
  EGraph egraph = egraph_of(graph);
  std::vector<Rule> rules = rules_of(kSumRules);
  UnitCost model;
  PriceCache prices(egraph.symbols(), model);
  options.budget = 24;
  options.explore.node_limit = 120;
  MctsReport report = search_mcts(egraph, graph, rules, prices, options, policy);
  EXPECT_EQ(verify(egraph), "");
  return report;
}

size_t tried(const MctsReport& report, size_t rule) {
  return static_cast<size_t>(report.records[rule].tried);
}

TEST(Guide, AssessesEachGraphOnceAndGuidesTheSearch) {
  auto network = std::make_shared<MadeUp>();
  std::vector<Rule> rules = rules_of(kSumRules);
  uint32_t residual = number_of(rules, "residual");
  std::vector<size_t> tries;
  for (uint32_t rule : {number_of(rules, "associates"), residual}) {
    network->promising = rule;
    GuidedPolicy policy(network);
    size_t before = network->assessments;
    MctsReport report = search(policy);
    EXPECT_LT(network->assessments - before, report.simulations) << "states share the best graph";
    EXPECT_EQ(policy.use().assessments, network->assessments - before);
    tries.push_back(tried(report, residual));
    EXPECT_TRUE(rule != residual || report.best_cost < report.start_cost);
  }
  EXPECT_GT(tries[1], tries[0]) << "rules with a higher prior are tried more often";
}

TEST(Guide, GivesTheSameTwiceAndOnAnyNumberOfThreads) {
  auto run = [](int threads) {
    GuidedPolicy policy(std::make_shared<MadeUp>());
    UnitCost model;
    SharedCost costs(model);
    MctsOptions options;
    options.threads = threads, options.costs = &costs;
    return search(policy, options);
  };
  MctsReport one = run(1), again = run(1), two = run(2);
  EXPECT_EQ(one.best_cost, again.best_cost);
  EXPECT_EQ(one.steps, again.steps);
  EXPECT_EQ(one.best_cost, two.best_cost);
  EXPECT_EQ(one.steps, two.steps);
}

TEST(Guide, WithoutAnAnswerTheSearchGoesOnByItsStatistics) {
  auto network = std::make_shared<MadeUp>();
  network->broken = true;
  GuidedPolicy policy(network);
  MctsReport report = search(policy);
  EXPECT_LT(report.best_cost, report.start_cost);
}

TEST(Guide, RejectsValuesThatAreNotFinite) {
  std::vector<Rule> rules = rules_of(kSumRules);
  for (float beyond : {NAN, INFINITY, -INFINITY}) {
    auto network = std::make_shared<MadeUp>();
    GuidedPolicy policy(network);
    EXPECT_TRUE(policy.assess(test::layers(3), rules));
    network->beyond = beyond;
    EXPECT_FALSE(policy.assess(test::layers(3), rules)) << beyond;
  }
}

/// Returns the rounds that are reported.
std::vector<size_t> rounds_of(const std::shared_ptr<MadeUp>& network,
                              const std::vector<Rule>& rules, GuideOptions options) {
  Graph graph = test::layers(3);
  UnitCost model;
  PriceCache prices(graph.symbols(), model);
  const Graph* graphs[] = {&graph};
  PriceCache* all[] = {&prices};
  options.search.explore.node_limit = 120;
  options.epochs = 1;
  std::vector<size_t> rounds;
  EXPECT_TRUE(train_guide(graphs, all, rules, network, options,
                          [&](const GuideProgress& now) -> Result<void> {
                            rounds.push_back(now.round);
                            EXPECT_GT(now.gain, 0);
                            return {};
                          }));
  return rounds;
}

TEST(Guide, GoesOnAtTheRoundThatIsNext) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto network = std::make_shared<MadeUp>();
  EXPECT_EQ(rounds_of(network, rules, {.rounds = 3, .earlier_rounds = 2}), std::vector<size_t>{3});
  EXPECT_GT(network->assessments, 0u) << "only the first round of all is without it";
  EXPECT_TRUE(rounds_of(network, rules, {.rounds = 3, .earlier_rounds = 3}).empty());
}

/// Otherwise half of a round's training would be saved as the whole.
TEST(Guide, DiscardsARoundThatIsStoppedDuringTraining) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto network = std::make_shared<MadeUp>();
  Cancellation wish;
  network->wish = &wish;
  EXPECT_TRUE(
      rounds_of(network, rules, {.rounds = 2, .minibatch = 1, .stop = StopToken(&wish)}).empty());
  EXPECT_EQ(network->studied, 1u);
}

TEST(Guide, TrainsOnTheResultsOfSearches) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto network = std::make_shared<MadeUp>();
  EXPECT_EQ(rounds_of(network, rules, {.rounds = 2}), (std::vector<size_t>{1, 2}));
  ASSERT_FALSE(network->seen.empty());
  const GuideSample& sample = network->seen.front();
  ASSERT_EQ(sample.shares.size(), rules.size() * kGrains);
  double sum = 0;
  for (size_t i = 0; i < sample.shares.size(); ++i) {
    sum += sample.shares[i];
    EXPECT_TRUE(sample.shares[i] == 0 || sample.tried[i] == 1) << i;
  }
  EXPECT_TRUE(std::abs(sum - 1) < 1e-4 || sum == 0) << sum;
  float most = 0;
  for (const GuideSample& s : network->seen) most = std::max(most, s.gain);
  EXPECT_GT(most, 0);
}

TEST(Guide, WeighsActionsByGainsAndByVisits) {
  Graph graph = test::layers(1);
  DecisionRecord gained{graph, 100, {6, 0, 2}, {0.03, 0, 0.01}},
      not_gained{graph, 100, {6, 0, 2}, {0, 0, 0}};
  using Floats = std::vector<float>;
  EXPECT_EQ(sample_of(gained, 80, 0).tried, Floats({1, 0, 1}));
  EXPECT_FLOAT_EQ(sample_of(gained, 80, 0).gain, 0.2F);
  EXPECT_EQ(sample_of(gained, 80, 0).shares, Floats({0.75, 0, 0.25}));
  EXPECT_EQ(sample_of(not_gained, 100, 0).shares, Floats({0, 0, 0}));
  EXPECT_EQ(sample_of(not_gained, 100, 1).shares, Floats({0.75, 0, 0.25}));
  DecisionRecord otherwise{graph, 100, {2, 0, 6}, {0.03, 0, 0.01}};
  EXPECT_EQ(sample_of(otherwise, 80, 0.5).shares, Floats({0.5, 0, 0.5}));
}

TEST(Guide, RulesDifferByOperatorsAndByName) {
  std::vector<Rule> rules = rules_of(kSumRules);
  std::vector<float> residual = rule_traits(rules[number_of(rules, "residual")]);
  std::vector<float> commutes = rule_traits(rules[number_of(rules, "commutes")]);
  auto of = [](const std::vector<float>& traits, size_t side, OpKind op) {
    return traits[side * kOpCount + static_cast<size_t>(op)];
  };
  ASSERT_EQ(residual.size(), kRuleTraits);
  EXPECT_EQ(of(residual, 0, OpKind::Matmul), 1);
  EXPECT_EQ(of(residual, 0, OpKind::Add), 1);
  EXPECT_EQ(of(residual, 1, OpKind::Add), 0);
  EXPECT_NE(rule_traits(rules[number_of(rules, "associates")]), commutes);
}

// --- rivals --------------------------------------------------------------------------------------

std::vector<double> weights_of(Policy& policy, const std::vector<Rule>& rules, RuleId last) {
  std::vector<ActionFeatures> actions(rules.size());
  for (uint32_t i = 0; i < rules.size(); ++i) {
    actions[i].rule = &rules[i], actions[i].rule_number = i;
    if (last == i) policy.learn({}, actions[i], 0);
  }
  StateFeatures state;
  state.last = last;
  std::vector<double> weights(rules.size());
  policy.weigh(state, actions, weights);
  return weights;
}

TEST(Rivals, WeighRulesByMeanGains) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto table = std::make_shared<PriorTable>();
  (*table)["doubles"] = {100, 30, 10};
  (*table)["residual"] = {100, 50, 40};
  MeanGainsPolicy policy(table);
  std::vector<double> weights = weights_of(policy, rules, kSourceRule);
  double residual = weights[number_of(rules, "residual")];
  double doubles = weights[number_of(rules, "doubles")];
  double commutes = weights[number_of(rules, "commutes")];
  EXPECT_GT(residual, doubles);
  EXPECT_GT(doubles, commutes * 1.2) << "more than what shrinks is ahead by anyway";
  EXPECT_GT(commutes, 0) << "no rule is given up for good";
}

TEST(Rivals, MineMotifsFromExplanations) {
  Graph graph = test::layers(2);
  std::vector<Rule> rules = rules_of(kSumRules);
  UnitCost model;
  PortfolioOptions options;
  options.explain = true;
  options.mcts.time_limit_s = options.saturate.time_limit_s = 60;
  PortfolioReport found = search_portfolio(graph, rules, model, options);
  ASSERT_TRUE(found.chain);
  auto table = std::make_shared<MotifTable>();
  mine_motifs(*found.chain, rules, 0.5, *table);
  EXPECT_GT(table->rules["residual"], 0);
  double sum = 0;
  for (const auto& [rule, weight] : table->rules) sum += weight;
  EXPECT_NEAR(sum, 0.5, 1e-9) << "a gain is shared among its steps";

  table->pairs[{"commutes", "associates"}] = 1;
  MotifPolicy policy(table);
  uint32_t first = number_of(rules, "commutes"), then = number_of(rules, "associates");
  double before = weights_of(policy, rules, kSourceRule)[then];
  EXPECT_GT(weights_of(policy, rules, static_cast<RuleId>(first))[then], before)
      << "after the rule that it followed";
}

} // namespace
} // namespace tg::paper
