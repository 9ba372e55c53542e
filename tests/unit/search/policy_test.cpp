// Tests the policy interface with its two built-in policies and one from outside.
#include "compiler/search/mcts/policy.h"

#include "compiler/search/portfolio/portfolio.h"
#include "tests/unit/search/search_fixture.h"

namespace tg {
namespace {

using test::kSumRules;
using test::rules_of;
using test::UnitCost;

ActionFeatures action(const std::vector<Rule>& rules, uint32_t number) {
  ActionFeatures out;
  out.rule = &rules[number];
  out.rule_number = number;
  return out;
}

std::vector<double> weights(Policy& policy, llvm::ArrayRef<ActionFeatures> actions) {
  std::vector<double> out(actions.size(), -1);
  policy.weigh({}, actions, out);
  return out;
}

TEST(Policy, RandomKnowsNothingAndLearnsNothing) {
  std::vector<Rule> rules = rules_of(kSumRules);
  RandomPolicy policy;
  std::vector<ActionFeatures> actions = {action(rules, 0), action(rules, 2)};
  policy.learn({}, actions[0], 0.5);
  EXPECT_EQ(weights(policy, actions), (std::vector<double>{1, 1}));
}

TEST(Policy, StatisticsLearnWhichRulesPay) {
  std::vector<Rule> rules = rules_of(kSumRules);
  StatisticsPolicy policy;
  std::vector<ActionFeatures> actions = {action(rules, 0), action(rules, 3)};
  EXPECT_EQ(weights(policy, actions)[0], weights(policy, actions)[1]);
  for (int i = 0; i < 1'000; ++i) {
    policy.learn({}, actions[0], 0);
    policy.learn({}, actions[1], 0.1);
  }
  std::vector<double> learned = weights(policy, actions);
  EXPECT_LT(learned[0], 0.1);
  EXPECT_GT(learned[0], 0) << "no rule is given up for good";
  EXPECT_GT(learned[1], 0.9);
  std::unique_ptr<Policy> fresh = policy.fresh();
  EXPECT_EQ(weights(*fresh, actions)[0], weights(*fresh, actions)[1]);
}

class Table final : public PriorStore {
public:
  PriorTable table;
  const PriorTable& priors() const override { return table; }
};

TEST(Policy, PriorsCountAsMuchAsTwentyActions) {
  std::vector<Rule> rules = rules_of(kSumRules);
  Table store;
  store.table[rules[0].declared] = {1e6, 1e6, 1e5}; // always paid
  StatisticsPolicy policy(&store);
  std::vector<ActionFeatures> actions = {action(rules, 0), action(rules, 1)};
  EXPECT_GT(weights(policy, actions)[0], 0.9);
  for (int i = 0; i < 200; ++i) policy.learn({}, actions[0], 0);
  EXPECT_LT(weights(policy, actions)[0], 0.2) << "observations outweigh priors from a file";
}

/// An external policy that wants only one rule, and records the requests.
class OneRule final : public Policy {
public:
  explicit OneRule(uint32_t rule) : rule_(rule) {}
  std::string name() const override { return "one rule"; }
  void weigh(const StateFeatures& state, llvm::ArrayRef<ActionFeatures> actions,
             llvm::MutableArrayRef<double> out) const override {
    ++asked;
    sound &= state.nodes > 0 && state.cost_us > 0 && state.source_cost_us >= state.cost_us;
    for (size_t i = 0; i < actions.size(); ++i) {
      sound &= actions[i].rule && actions[i].places > 0;
      out[i] = actions[i].rule_number == rule_ ? 1e6 : 1e-6;
    }
  }
  void learn(const StateFeatures&, const ActionFeatures& action, double gain) override {
    ++told[action.rule_number];
    sound &= gain >= 0 && gain < 1;
  }
  std::unique_ptr<Policy> fresh() const override { return std::make_unique<OneRule>(rule_); }

  mutable size_t asked = 0; // by one thread, here
  mutable bool sound = true;
  std::map<uint32_t, size_t> told;

private:
  uint32_t rule_;
};

MctsReport search(Policy& policy) {
  Graph graph = test::layers(3);
  EGraph egraph = egraph_of(graph);
  std::vector<Rule> rules = rules_of(kSumRules);
  UnitCost model;
  PriceCache prices(egraph.symbols(), model);
  MctsOptions options;
  options.budget = 12;
  options.explore.node_limit = 120;
  MctsReport report = search_mcts(egraph, graph, rules, prices, options, policy);
  EXPECT_EQ(verify(egraph), "");
  return report;
}

TEST(Policy, EitherUserLeadsTheSearchToAGain) {
  RandomPolicy random;
  StatisticsPolicy statistics;
  for (Policy* policy : {static_cast<Policy*>(&random), static_cast<Policy*>(&statistics)}) {
    MctsReport report = search(*policy);
    EXPECT_LT(report.best_cost, report.start_cost) << policy->name();
  }
}

TEST(Policy, CustomPolicyChoosesActionsAndReceivesGains) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto wanted = llvm::find_if(rules, [](const Rule& r) { return r.name == "residual"; });
  uint32_t number = static_cast<uint32_t>(wanted - rules.begin());
  OneRule policy(number);
  MctsReport report = search(policy);
  EXPECT_GT(policy.asked, 0u);
  EXPECT_TRUE(policy.sound);
  EXPECT_GT(policy.told[number], 0u);
  EXPECT_EQ(report.records[number].tried, policy.told[number]);
  EXPECT_GT(report.records[number].tried, report.records[0].tried / 2);
}

/// Counts the copies that are used.
class Counted final : public Policy {
public:
  explicit Counted(std::atomic<size_t>& seats) : seats_(seats) {}
  std::string name() const override { return "counted"; }
  void weigh(const StateFeatures&, llvm::ArrayRef<ActionFeatures>,
             llvm::MutableArrayRef<double> weights) const override {
    std::fill(weights.begin(), weights.end(), 1);
  }
  void learn(const StateFeatures&, const ActionFeatures&, double) override {}
  std::unique_ptr<Policy> fresh() const override {
    ++seats_;
    return std::make_unique<Counted>(seats_);
  }

private:
  std::atomic<size_t>& seats_;
};

TEST(Policy, CustomPolicyIsUsedInEverySearchOfThePortfolio) {
  Graph graph = test::layers(6);
  std::vector<Rule> rules = rules_of(kSumRules);
  UnitCost model;
  std::atomic<size_t> seats = 0;
  Counted policy(seats);
  PortfolioOptions options;
  options.segments = {2, 4, 4};
  options.mcts.explore.node_limit = options.saturate.node_limit = 60;
  options.mcts.budget = 8;
  options.threads = 2;
  options.policy = &policy;
  PortfolioReport report = search_portfolio(graph, rules, model, options);
  EXPECT_LT(report.cost_us, report.source_us);
  EXPECT_GT(seats, 2u);
}

} // namespace
} // namespace tg
