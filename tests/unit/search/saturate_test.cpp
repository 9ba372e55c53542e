// Tests saturation: complete results that can be counted, limits, both schedules,
// the cycle filters.
#include "compiler/search/saturate.h"

#include "tests/unit/egraph/egraph_fixture.h"

namespace tg {
namespace {

using test::Builder;
using test::count_op;
using test::rules_of;

constexpr llvm::StringLiteral kExplosive = R"(
rule add_associates(x, y, z) { (x + y) + z <=> x + (y + z) }
rule add_commutes(x, y) { x + y => y + x }
)";

/// A sum of n inputs: saturates at about 3^n nodes.
EGraph sum_of(int n) {
  Builder b;
  NodeId sum = b.x("x0", {8});
  for (int i = 1; i < n; ++i) sum = b.op(OpKind::Add, {sum, b.x("x" + std::to_string(i), {8})});
  b.output(sum);
  return egraph_of(b.graph);
}

void expect_rebuilt(const EGraph& egraph) {
  EXPECT_EQ(verify(egraph), "");
  EXPECT_TRUE(acyclic(egraph));
}

TEST(Saturate, FindsAllWaysToAddFourNumbers) {
  EGraph egraph = sum_of(4);
  SaturateReport report = saturate(egraph, rules_of(kExplosive), {});
  EXPECT_EQ(report.stop, StopReason::Saturated);
  // Every subset of two or more is a class, divided into an ordered pair of non-empty parts.
  EXPECT_EQ(report.classes, 15u);
  EXPECT_EQ(report.nodes, 4u + 6 * 2 + 4 * 6 + 14);
  EXPECT_EQ(report.filtered, 0u);
  expect_rebuilt(egraph);
}

TEST(Saturate, WorkIsOnlyDoneOnce) {
  std::vector<Rule> rules = rules_of(kExplosive);
  EGraph egraph = sum_of(5);
  SaturateReport first = saturate(egraph, rules, {});
  EXPECT_EQ(first.stop, StopReason::Saturated);
  SaturateReport again = saturate(egraph, rules, {});
  EXPECT_EQ(again.stop, StopReason::Saturated);
  EXPECT_EQ(again.nodes, first.nodes);
  size_t applied = 0;
  for (const RuleStats& stats : again.rules) applied += stats.applied;
  EXPECT_EQ(applied, 0u);
  EXPECT_LT(again.matches, first.matches / 4);
}

TEST(Saturate, TheNodeLimitStopsWithinAnIteration) {
  for (size_t limit : {50u, 100u, 777u, 3000u}) {
    EGraph egraph = sum_of(12);
    SaturateOptions options;
    options.node_limit = limit;
    SaturateReport report = saturate(egraph, rules_of(kExplosive), options);
    EXPECT_EQ(report.stop, StopReason::Nodes);
    EXPECT_LE(report.nodes, limit + 3); // one application adds at most two
    EXPECT_EQ(report.nodes, node_count(egraph));
    expect_rebuilt(egraph);
  }
}

TEST(Saturate, OtherLimitsLeaveARebuiltGraphToo) {
  SaturateOptions time, memory, iterations;
  time.node_limit = memory.node_limit = 1'000'000;
  time.time_limit_s = 0.005;
  time.iterations = memory.iterations = 1000;
  memory.memory_limit_mb = 1;
  iterations.iterations = 2;
  for (const auto& [options, stop] :
       {std::pair{time, StopReason::Time}, std::pair{memory, StopReason::Memory},
        std::pair{iterations, StopReason::Iterations}}) {
    EGraph egraph = sum_of(14);
    SaturateReport report = saturate(egraph, rules_of(kExplosive), options);
    EXPECT_EQ(report.stop, stop) << stop_reason_text(report.stop).str();
    expect_rebuilt(egraph);
  }
}

/// 30 products of a class with 10 nodes: 300 matches, of which an iteration examines 200.
TEST(Saturate, ExaminesMatchesThatThePreviousIterationSkipped) {
  Builder b;
  NodeId first;
  for (int i = 0; i < 10; ++i) {
    NodeId relu = b.op(OpKind::Relu, {b.x("r" + std::to_string(i), {8})});
    if (i == 0) first = relu;
    b.output(relu);
  }
  for (int i = 0; i < 30; ++i)
    b.output(b.op(OpKind::Mul, {first, b.x("x" + std::to_string(i), {8})}));
  EGraph egraph = egraph_of(b.graph);
  for (int i = 1; i < 10; ++i) egraph.merge(egraph.roots()[0].id, egraph.roots()[i].id, {});
  SaturateOptions options;
  options.node_limit = 200;
  options.iterations = 3;
  std::vector<Rule> rules = rules_of("rule turn(x, y) { relu(x) * y => y * relu(x) }");
  rules.erase(rules.begin() + 1, rules.end()); // without its commuted forms
  SaturateReport report = saturate(egraph, rules, options);
  EXPECT_EQ(report.stop, StopReason::Iterations);
  for (int i = 10; i < 40; ++i)
    EXPECT_EQ(count_op(egraph, egraph.roots()[static_cast<size_t>(i)].id, OpKind::Mul), 2u);
}

TEST(Saturate, TheSameInputGivesTheSameGraph) {
  auto run = [] {
    EGraph egraph = sum_of(10);
    SaturateOptions options;
    options.node_limit = 2000;
    saturate(egraph, rules_of(kExplosive), options);
    return dump(egraph);
  };
  EXPECT_EQ(run(), run());
}

TEST(Saturate, CompatibleModeFindsTheSameFixpointAndBansRules) {
  EGraph ours = sum_of(6), theirs = sum_of(6);
  SaturateOptions options;
  options.iterations = 100;
  saturate(ours, rules_of(kExplosive), options);
  options.compatible = true;
  SaturateReport report = saturate(theirs, rules_of(kExplosive), options);
  EXPECT_EQ(report.stop, StopReason::Saturated);
  EXPECT_EQ(node_count(theirs), node_count(ours));
  EXPECT_EQ(class_count(theirs), class_count(ours));
  int bans = 0;
  for (const RuleStats& stats : report.rules) bans += stats.bans;
  EXPECT_GT(bans, 0);
}

TEST(Saturate, CompatibleModeLooksAtLimitsBetweenIterations) {
  EGraph egraph = sum_of(12);
  SaturateOptions options;
  options.node_limit = 200;
  options.compatible = true;
  SaturateReport report = saturate(egraph, rules_of(kExplosive), options);
  EXPECT_EQ(report.stop, StopReason::Nodes);
  EXPECT_GT(report.nodes, 200u);
  expect_rebuilt(egraph);
}

constexpr llvm::StringLiteral kJoin = R"(
rule join_matmuls(x, a, b) {
  x @ a, x @ b => split(x @ concat([a, b], axis = -1), axis = -1, sizes = [dim(a, -1), dim(b, -1)])
  where rank(a) == rank(b)
}
)";

TEST(Saturate, JoinsProductsThatShareAnOperand) {
  Builder b;
  NodeId x = b.x("x", {2, 8}), y = b.x("y", {2, 8});
  b.output(b.matmul(x, b.w("a", {8, 4})));
  b.output(b.matmul(x, b.w("b", {8, 6})));
  b.output(b.matmul(y, b.w("c", {8, 6})));
  EGraph egraph = egraph_of(b.graph);
  SaturateReport report = saturate(egraph, rules_of(kJoin), {});
  EXPECT_EQ(report.rules[0].matches, 1u); // the pair once; y has no partner
  EXPECT_EQ(report.rules[0].applied, 1u);
  EXPECT_EQ(count_op(egraph, egraph.roots()[0].id, OpKind::Slice), 1u);
  EXPECT_EQ(count_op(egraph, egraph.roots()[1].id, OpKind::Slice), 1u);
  EXPECT_EQ(count_op(egraph, egraph.roots()[2].id, OpKind::Slice), 0u);
  ClassId joined = class_of(egraph, egraph.with_op(OpKind::Matmul).back());
  EXPECT_EQ(egraph.symbols().type(class_at(egraph, joined).type).text(), "f32[2, 10]");
  expect_rebuilt(egraph);
}

TEST(Saturate, MultiPatternRulesHaveALimitOfTheirOwn) {
  Builder b;
  NodeId x = b.x("x", {2, 8});
  for (int i = 0; i < 6; ++i) b.output(b.matmul(x, b.w("w" + std::to_string(i), {8, 4})));
  SaturateOptions none, few;
  none.multi_iterations = 0;
  few.multi_node_limit = 10;
  EGraph untouched = egraph_of(b.graph), some = egraph_of(b.graph);
  size_t before = node_count(untouched);
  EXPECT_EQ(saturate(untouched, rules_of(kJoin), none).nodes, before);
  SaturateReport report = saturate(some, rules_of(kJoin), few);
  EXPECT_GE(report.nodes, before + 10);
  EXPECT_LT(report.nodes, before + 10 + 4);
}

/// For x @ a and (x @ a) @ a, merging a product with a product over it would create a cycle.
TEST(Saturate, CycleFiltersAgreeThatNothingIsCyclic) {
  constexpr llvm::StringLiteral kText = R"(
rule stack(x, y, a) {
  x @ a, y @ a => split(concat([x, y], axis = 0) @ a, axis = 0, sizes = [dim(x, 0), dim(y, 0)])
  where rank(x) == 2, rank(y) == 2
}
)";
  for (CycleFilter filter : {CycleFilter::Efficient, CycleFilter::Vanilla, CycleFilter::None}) {
    Builder b;
    NodeId x = b.x("x", {2, 8}), w = b.w("w", {8, 8});
    NodeId once = b.matmul(x, w), twice = b.matmul(once, w), thrice = b.matmul(twice, w);
    b.output(b.op(OpKind::Add, {once, thrice}));
    EGraph egraph = egraph_of(b.graph);
    SaturateOptions options;
    options.cycle_filter = filter;
    options.multi_iterations = 3;
    SaturateReport report = saturate(egraph, rules_of(kText), options);
    EXPECT_EQ(acyclic(egraph), filter != CycleFilter::None);
    EXPECT_EQ(report.rules[0].cyclic > 0, filter != CycleFilter::None);
    EXPECT_EQ(verify(egraph), "");
  }
}

TEST(Saturate, RulesAboveTheNumericsClassAreLeftOut) {
  EGraph egraph = sum_of(4);
  size_t before = node_count(egraph);
  std::vector<Rule> rules = rules_of(kExplosive);
  for (Rule& rule : rules) rule.numerics = Numerics::Reassociates;
  SaturateOptions options;
  options.numerics = Numerics::Exact;
  EXPECT_EQ(saturate(egraph, rules, options).nodes, before);
}

TEST(Saturate, NothingToDoIsSaturated) {
  EGraph egraph = sum_of(3);
  SaturateReport report = saturate(egraph, {}, {});
  EXPECT_EQ(report.stop, StopReason::Saturated);
  EXPECT_EQ(report.iterations, 1);
}

} // namespace
} // namespace tg
