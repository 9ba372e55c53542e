// Tests the published tree search in detail: each test shows one choice of its paper
// and its program. The tests set the prices, so that rewards are known.
#include "bench/paper/pact24/pact24.h"

#include "tests/unit/search/search_fixture.h"

#include <cmath>
#include <functional>
#include <set>

namespace tg::paper {
namespace {

using test::rules_of;

class Given final : public StatePrice {
public:
  explicit Given(std::function<double(const EGraph&)> price) : price_(std::move(price)) {}
  double price(const EGraph& egraph) override { return price_(egraph); }
  void forget(llvm::ArrayRef<ENodeId>) override {}

private:
  std::function<double(const EGraph&)> price_;
};

size_t count_of(const EGraph& egraph, OpKind op) {
  size_t count = 0;
  for (uint32_t i = 0; i < egraph.node_bound(); ++i)
    count += egraph.node({i}).alive() && egraph.node({i}).op == op;
  return count;
}

double nothing(const EGraph&) { return 100; }

struct Observed {
  Pact24Report report;
  SearchTrace trace;

  std::vector<SearchTrace::TreeNode> children(int32_t parent) const {
    std::vector<SearchTrace::TreeNode> out;
    for (const SearchTrace::TreeNode& node : trace.tree)
      if (node.parent == parent) out.push_back(node);
    return out;
  }
  std::vector<SearchTrace::TreeNode> roots() const { return children(-1); }
};

/// Runs the search on tanh(x).
Observed run(llvm::StringRef rules, Pact24Options options,
             std::function<double(const EGraph&)> price = nothing) {
  test::Builder b;
  b.output(b.op(OpKind::Tanh, {b.x("x", {4, 8})}));
  EGraph egraph = egraph_of(b.graph);
  Observed out;
  options.trace = &out.trace;
  Given given(std::move(price));
  out.report = search_pact24(egraph, rules_of(rules), options, given);
  EXPECT_EQ(verify(egraph), "");
  return out;
}

/// Options for one decision without rollouts.
Pact24Options decision(int budget) {
  Pact24Options options;
  options.budget = budget, options.depth = -1, options.max_decisions = 1;
  return options;
}

/// Rules that each change something once in a match of `from`.
std::string products(llvm::StringRef from, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += llvm::formatv("rule product{0}(x) {{ {1}(x) => abs(x * {2}.0) }\n", i, from, i + 2);
  return text;
}

/// Changes something at each application, without end.
constexpr llvm::StringLiteral kGrows = "rule grows(x) { tanh(x) => tanh(relu(x)) }";

constexpr llvm::StringLiteral kThree = R"(
rule to_relu(x) { tanh(x) => relu(x) }
rule to_exp(x) { tanh(x) => exp(x) }
rule to_abs(x) { tanh(x) => abs(x) }
)";

TEST(Pact24, ItsDefaultsAreThePublishedOnes) {
  Pact24Options options;
  EXPECT_EQ(options.budget, 128);
  EXPECT_EQ(options.depth, 10);
  EXPECT_EQ(options.exploration, 2);
  EXPECT_EQ(options.discount, 0.99);
  EXPECT_EQ(options.max_decisions, 200);
  EXPECT_EQ(options.explore.node_limit, 2000u);
  EXPECT_FALSE(options.reuse_tree);
}

TEST(Pact24, ComputesUcb1) {
  EXPECT_EQ(ucb1(0.5, 3, 20, 0), 0.5);
  EXPECT_DOUBLE_EQ(ucb1(0.5, 4, 20, 2), 0.5 + 2 * std::sqrt(2 * std::log(20) / 4));
  EXPECT_GT(ucb1(0, 1, 20, 2), ucb1(0, 2, 20, 2)); // rarely tried
  EXPECT_GT(ucb1(0, 2, 40, 2), ucb1(0, 2, 20, 2)); // the others often
  EXPECT_LT(ucb1(0.1, 2, 20, 2), ucb1(0.2, 2, 20, 2));
}

TEST(Pact24, TheConstantWeighsGainsAgainstSeldomTriedActions) {
  auto price = [](const EGraph& g) { return count_of(g, OpKind::Exp) > 0 ? 90.0 : 100.0; };
  Pact24Options options = decision(60);
  options.exploration = 0;
  for (const SearchTrace::TreeNode& child : run(kThree, options, price).children(0))
    EXPECT_EQ(child.visits, child.rule == 1 ? 58u : 1u) << child.rule;
  options.exploration = 1e6;
  for (const SearchTrace::TreeNode& child : run(kThree, options, price).children(0))
    EXPECT_EQ(child.visits, 20u) << child.rule;
}

TEST(Pact24, TheRootIsExpandedFullyFirst) {
  Observed all = run(products("tanh", 9), decision(9));
  EXPECT_EQ(all.children(0).size(), 9u);
  EXPECT_EQ(all.trace.tree.size(), 10u);
  Observed more = run(products("tanh", 9), decision(10));
  EXPECT_EQ(more.trace.tree.size(), 11u);
  EXPECT_EQ(more.children(0).size(), 9u);
}

TEST(Pact24, SelectionStopsHalfTheTimeWhereNotAllIsExpanded) {
  // The root has one action, its successor eighty. The second simulation expands the successor,
  // since nothing is known yet; each of the next sixty does so with probability one half.
  std::string rules = "rule first(x) { tanh(x) => relu(x) }\n" + products("relu", 80);
  size_t stopped = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Pact24Options options = decision(62);
    options.seed = seed;
    Observed made = run(rules, options);
    ASSERT_EQ(made.children(0).size(), 1u);
    size_t here = made.children(1).size();
    EXPECT_GT(made.trace.tree.size(), 2 + here) << "the others go on down";
    stopped += here - 1;
  }
  EXPECT_NEAR(static_cast<double>(stopped), 150, 26); // three standard deviations
}

TEST(Pact24, ExpansionTriesEachActionOnce) {
  Observed made = run(products("tanh", 5), decision(60));
  std::set<std::pair<int32_t, RuleId>> tried;
  for (const SearchTrace::TreeNode& node : made.trace.tree)
    EXPECT_TRUE(tried.insert({node.parent, node.rule}).second) << node.parent << " " << node.rule;
  // 5 rules in any order that changes something: each action occurs, and none again below itself.
  for (size_t i = 0; i < made.trace.tree.size(); ++i) {
    std::set<RuleId> above;
    for (int32_t at = static_cast<int32_t>(i); made.trace.tree[at].parent >= 0;
         at = made.trace.tree[at].parent)
      EXPECT_TRUE(above.insert(made.trace.tree[at].rule).second) << i;
  }
}

TEST(Pact24, ExpansionDrawsAtRandom) {
  auto first = [](uint64_t seed) {
    Pact24Options options = decision(1);
    options.seed = seed;
    return run(products("tanh", 5), options).children(0).front().rule;
  };
  std::set<RuleId> drawn;
  for (uint64_t seed = 1; seed <= 30; ++seed) drawn.insert(first(seed));
  EXPECT_EQ(drawn.size(), 5u);
}

TEST(Pact24, RulesWhoseSourcesDoNotOccurAreNotTried) {
  constexpr llvm::StringLiteral rules = R"(
rule here(x) { tanh(x) => relu(x) }
rule after(x) { relu(x) => abs(x) }
rule never(x) { exp(x) => abs(x) }
rule half(x, y) { tanh(x), exp(y) => tanh(x), exp(y) }
)";
  Observed made = run(rules, decision(20));
  ASSERT_EQ(made.children(0).size(), 1u);
  EXPECT_EQ(made.children(0)[0].rule, 0u);
  ASSERT_EQ(made.children(1).size(), 1u);
  EXPECT_EQ(made.children(1)[0].rule, 1u);
  // Steps: one at the root, two after it (`here` has no effect), two after both.
  EXPECT_EQ(made.report.steps, 5u);
}

TEST(Pact24, TriesARuleWithoutEffectOnceAndNeverChoosesIt) {
  Observed made = run("rule same(x) { tanh(x) => tanh(x) }", decision(10));
  EXPECT_EQ(made.report.simulations, 10u);
  EXPECT_EQ(made.report.steps, 1u);
  EXPECT_EQ(made.report.decisions, 0);
  EXPECT_EQ(made.report.stop, StopReason::Saturated);
  EXPECT_TRUE(made.children(0).empty());
}

TEST(Pact24, ARolloutTakesOneStepMoreThanItsDepth) {
  for (int depth : {0, 3, 10}) {
    Pact24Options options = decision(1);
    options.depth = depth;
    EXPECT_EQ(run(kGrows, options).report.steps, 1u + static_cast<size_t>(depth) + 1) << depth;
  }
}

TEST(Pact24, ARolloutEndsWhereEveryRuleIsSpent) {
  Pact24Options options = decision(1);
  EXPECT_EQ(run("rule once(x) { tanh(x) => relu(x) }", options).report.steps, 1u);
  options.depth = 10; // a step without effect ends it
  EXPECT_EQ(run("rule once(x) { tanh(x) => relu(x) }", options).report.steps, 2u);
}

TEST(Pact24, SumsCostReductionsAsNonNegativeRewards) {
  // The price by steps rises, falls, rises, falls. The decreases count, in milliseconds.
  auto price = [](const EGraph& g) {
    constexpr double prices[] = {100, 160, 130, 150, 110};
    return prices[std::min<size_t>(count_of(g, OpKind::Tanh) - 1, 4)];
  };
  auto value = [&](int depth, double discount) {
    Pact24Options options = decision(1);
    options.depth = depth, options.discount = discount;
    return run(kGrows, options, price).children(0)[0].value;
  };
  EXPECT_EQ(value(-1, 1), 0); // 100 to 160
  EXPECT_NEAR(value(0, 1), 0.030, 1e-12);
  EXPECT_NEAR(value(1, 1), 0.030, 1e-12);
  EXPECT_NEAR(value(2, 1), 0.030 + 0.040, 1e-12);
  EXPECT_NEAR(value(2, 0.5), 0.5 * (0.030 + 0.25 * 0.040), 1e-12);
}

TEST(Pact24, ValuesGoBackUpToTheRoot) {
  // Three simulations along a chain of actions, of which the third gains 40 us.
  auto price = [](const EGraph& g) { return count_of(g, OpKind::Tanh) > 3 ? 60.0 : 100.0; };
  Pact24Options options = decision(3);
  options.discount = 0.5;
  Observed made = run(kGrows, options, price);
  ASSERT_EQ(made.trace.tree.size(), 4u);
  EXPECT_NEAR(made.trace.tree[3].value, 0.040, 1e-12);
  EXPECT_NEAR(made.trace.tree[2].value, 0.5 * 0.040 / 2, 1e-12); // of two visits
  EXPECT_NEAR(made.trace.tree[1].value, 0.25 * 0.040 / 3, 1e-12);
  EXPECT_EQ(made.trace.tree[1].visits, 3u);
  EXPECT_EQ(made.trace.tree[2].visits, 2u);
  EXPECT_EQ(made.trace.tree[3].visits, 1u);
}

TEST(Pact24, DecidesByTheBestMeanNotByVisits) {
  auto price = [](const EGraph& g) {
    return 100.0 - 10 * (count_of(g, OpKind::Relu) > 0) - 8 * (count_of(g, OpKind::Abs) > 0) +
           6 * (count_of(g, OpKind::Exp) > 0);
  };
  size_t seldom = 0;
  for (int budget = 3; budget <= 40; ++budget) {
    Pact24Options options = decision(budget);
    options.depth = 1, options.exploration = 0;
    std::vector<SearchTrace::TreeNode> children = run(kThree, options, price).children(0);
    auto by_value = [](const auto& a, const auto& b) { return a.value < b.value; };
    auto best = std::max_element(children.begin(), children.end(), by_value);
    for (const SearchTrace::TreeNode& child : children)
      EXPECT_EQ(child.chosen, child.rule == best->rule) << budget << " " << child.rule;
    seldom += llvm::any_of(children, [&](const auto& c) { return c.visits > best->visits; });
  }
  EXPECT_GT(seldom, 0u) << "the two never differed: nothing was shown";
}

TEST(Pact24, KeepsTheSubtreeOnRequest) {
  Pact24Options options = decision(20);
  options.max_decisions = 2;
  Observed fresh = run(products("tanh", 4), options);
  ASSERT_EQ(fresh.roots().size(), 2u);
  EXPECT_EQ(fresh.roots()[1].visits, 20u);
  options.reuse_tree = true;
  Observed kept = run(products("tanh", 4), options);
  ASSERT_EQ(kept.roots().size(), 2u);
  auto children = kept.children(0);
  auto chosen = llvm::find_if(children, [](const auto& c) { return c.chosen; });
  ASSERT_NE(chosen, children.end());
  ASSERT_GT(chosen->visits, 1u);
  EXPECT_EQ(kept.roots()[1].visits, 20u + chosen->visits - 1); // one simulation ended there
}

TEST(Pact24, EachDecisionHasTheWholeBudget) {
  Pact24Options options;
  options.depth = 0, options.max_decisions = 2;
  Observed made = run(kGrows, options);
  EXPECT_EQ(made.report.decisions, 2);
  EXPECT_EQ(made.report.simulations, 2u * 128);
}

TEST(Pact24, StopsAtTwoThousandNodes) {
  Pact24Options options;
  options.budget = 2, options.depth = 0;
  constexpr llvm::StringLiteral rules = R"(
rule doubles(x) { tanh(x) => tanh(relu(x)) + tanh(abs(x)) }
)";
  Observed made = run(rules, options);
  EXPECT_EQ(made.report.stop, StopReason::Nodes);
  EXPECT_GE(made.report.nodes, 2000u);
  EXPECT_LT(made.report.nodes, 2010u); // one application more
}

TEST(Pact24, StopsWhereNothingIsLeftToDo) {
  Observed made = run(kThree, Pact24Options());
  EXPECT_EQ(made.report.stop, StopReason::Saturated);
  EXPECT_EQ(made.report.decisions, 3);
}

} // namespace
} // namespace tg::paper
