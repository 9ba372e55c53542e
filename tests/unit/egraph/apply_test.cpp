#include "compiler/egraph/apply.h"

#include "egraph_fixture.h"

#include <map>

namespace tg {
namespace {

using test::Builder;
using test::count_op;
using test::rules_of;

/// Applies every match of every rule once, as a search does. Returns the counts by outcome.
std::map<Outcome, int> apply_all(EGraph& egraph, const std::vector<Rule>& rules) {
  auto never = [] { return false; };
  RuleBook book(egraph.symbols(), rules);
  Matcher matcher(egraph, book);
  Joiner joiner(egraph, book);
  Cycles cycles(egraph);
  cycles.break_cycles();
  Applier applier(egraph, &cycles, CycleFilter::Efficient);
  matcher.search_since(0);
  std::map<Outcome, int> outcomes;
  std::vector<std::pair<const CompiledRule*, Rows>> single;
  std::vector<std::pair<const CompiledRule*, JointRows>> joint;
  for (const CompiledRule& rule : book.rules()) {
    if (rule.multi()) {
      JointCursor cursor;
      joiner.search(rule, 0, never);
      joiner.start(rule, cursor, never);
      joint.emplace_back(&rule, cursor.form());
      cursor.fill(SIZE_MAX, joint.back().second, never);
    } else {
      size_t start = 0;
      single.emplace_back(&rule, Rows());
      matcher.search(book.patterns()[rule.sources[0].pattern], SIZE_MAX, start,
                     single.back().second, never);
    }
  }
  for (auto& [rule, rows] : single)
    for (size_t i = 0; i < rows.size(); ++i) ++outcomes[applier.apply_single(*rule, rows[i])];
  for (auto& [rule, rows] : joint)
    for (size_t i = 0; i < rows.rows.size(); ++i) ++outcomes[applier.apply_joint(*rule, rows, i)];
  egraph.rebuild();
  EXPECT_EQ(verify(egraph), "");
  return outcomes;
}

TEST(Apply, AnIllTypedRightSideLeavesNoTrace) {
  std::vector<Rule> rules = rules_of(R"(
rule join(x, a, b) {
  x @ a, x @ b => split(x @ concat([a, b], axis = -1), axis = -1, sizes = [dim(a, -1), dim(b, -1)])
  where rank(a) == rank(b)
}
)");
  rules[0].conditions.clear(); // the types alone must reject it
  Builder b;
  NodeId x = b.x("x", {5, 2, 8});
  b.output(b.matmul(x, b.w("a", {8, 4})));
  b.output(b.matmul(x, b.w("b", {5, 8, 4})));
  EGraph egraph = egraph_of(b.graph);
  EGraph before(egraph);
  std::map<Outcome, int> outcomes = apply_all(egraph, rules);
  EXPECT_EQ(outcomes[Outcome::Refused], 1);
  std::string why;
  EXPECT_TRUE(same_state(egraph, before, &why)) << why;
}

TEST(Apply, EvaluatesConditionsAtTheMatch) {
  std::vector<Rule> rules = rules_of(R"(
rule known(x, w) { x * w => w * x where weight(w), rank(x) == 2 }
)");
  rules.erase(rules.begin() + 1, rules.end());
  Builder b;
  NodeId x = b.x("x", {2, 8}), w = b.w("w", {2, 8}), y = b.x("y", {8}), v = b.w("v", {8});
  b.output(b.op(OpKind::Mul, {x, w}));
  b.output(b.op(OpKind::Mul, {w, x}));
  b.output(b.op(OpKind::Mul, {y, v}));
  b.output(b.op(OpKind::Tanh, {b.op(OpKind::Mul, {x, w})}));
  EGraph egraph = egraph_of(b.graph);
  std::map<Outcome, int> outcomes = apply_all(egraph, rules);
  EXPECT_EQ(outcomes[Outcome::Applied], 1); // merges the two products of x and w
  EXPECT_EQ(outcomes[Outcome::Refused], 2);
  EXPECT_EQ(egraph.find(egraph.roots()[0].id), egraph.find(egraph.roots()[1].id));
}

TEST(Apply, SameTypesWithOtherValuesAreJudgedAnew) {
  std::vector<Rule> rules = rules_of(R"(
rule low(x, a, b) { slice(relu(x), 0, a, b) => relu(slice(x, 0, a, b)) where a < 2 }
)");
  Builder b;
  NodeId r = b.op(OpKind::Relu, {b.x("x", {8})});
  for (int64_t a = 0; a < 5; ++a)
    b.output(b.op(OpKind::Slice, {r}, {Value::of_int(0), Value::of_int(a), Value::of_int(a + 3)}));
  EGraph egraph = egraph_of(b.graph);
  apply_all(egraph, rules);
  for (size_t a = 0; a < 5; ++a)
    EXPECT_EQ(count_op(egraph, egraph.roots()[a].id, OpKind::Relu), a < 2 ? 1u : 0u);
}

TEST(Apply, InsertsComputedAttributes) {
  std::vector<Rule> rules = rules_of(R"(
rule deeper(x, a, b, c, d) {
  slice(slice(x, 0, a, b), 0, c, d) => slice(x, 0, a + c, a + d)
}
)");
  Builder b;
  NodeId outer =
      b.op(OpKind::Slice, {b.x("x", {9})}, {Value::of_int(0), Value::of_int(2), Value::of_int(8)});
  b.output(b.op(OpKind::Slice, {outer}, {Value::of_int(0), Value::of_int(1), Value::of_int(4)}));
  EGraph egraph = egraph_of(b.graph);
  EXPECT_EQ(apply_all(egraph, rules)[Outcome::Applied], 1);
  EXPECT_NE(dump(egraph).find("slice(c0) 0 3 6"), std::string::npos) << dump(egraph);
}

TEST(Apply, ASideThatIsAVariableMerges) {
  std::vector<Rule> rules = rules_of("rule twice(x) { neg(neg(x)) => x }");
  Builder b;
  NodeId x = b.x("x", {4});
  b.output(b.op(OpKind::Neg, {b.op(OpKind::Neg, {x})}));
  EGraph egraph = egraph_of(b.graph);
  apply_all(egraph, rules);
  EXPECT_EQ(egraph.find(egraph.roots()[0].id), ClassId{0});
  ASSERT_EQ(egraph.unions().size(), 1u);
  EXPECT_EQ(egraph.unions()[0].why.rule, 0u);
}

TEST(CheckMemo, FindsInsertedEntriesAndIsClearedWhenFull) {
  CheckMemo memo;
  Typing typing{AttrsId{7}, TypeId{9}};
  EXPECT_FALSE(memo.find({1, 2}).known);
  memo.insert({1, 2}, true, {typing});
  memo.insert({1, 3}, false, {});
  ASSERT_TRUE(memo.find({1, 2}).known);
  EXPECT_TRUE(memo.find({1, 2}).applies);
  EXPECT_EQ(memo.find({1, 2}).steps[0].type, TypeId{9});
  EXPECT_TRUE(memo.find({1, 3}).known);
  EXPECT_FALSE(memo.find({1, 3}).applies);
  for (uint32_t i = 0; i < 100'000; ++i) memo.insert({5, i}, false, {});
  EXPECT_FALSE(memo.find({1, 2}).known);
  EXPECT_TRUE(memo.find({5, 99'999}).known);
  EXPECT_LT(memo.memory_bytes(), size_t{4} << 20);
}

} // namespace
} // namespace tg
