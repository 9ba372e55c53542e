// Tests the matcher against the definition of a match on random e-graphs: all matches,
// the new ones after a change, and joins of two patterns.
#include "compiler/egraph/cycle.h"
#include "compiler/egraph/match/match_tally.h"
#include "compiler/egraph/match/multi_match.h"
#include "tests/unit/egraph/egraph_fixture.h"

#include <functional>
#include <random>
#include <set>

namespace tg {
namespace {

/// A match by the rule's variables: roots, classes, values.
using Match = std::vector<uint32_t>;

/// Tries every node for every term, recursively over the (small) pattern.
class Naive {
public:
  Naive(const EGraph& egraph, const Rule& rule) : egraph_(egraph), rule_(rule) {}

  std::set<Match> matches() {
    classes_.assign(rule_.class_vars, UINT32_MAX);
    values_.assign(rule_.value_vars, UINT32_MAX);
    source(0);
    return found_;
  }

private:
  void source(size_t i) {
    if (i == rule_.lhs.size()) {
      Match match = roots_;
      match.insert(match.end(), classes_.begin(), classes_.end());
      match.insert(match.end(), values_.begin(), values_.end());
      found_.insert(match);
      return;
    }
    for (uint32_t n = 0; n < egraph_.node_bound(); ++n) {
      if (!egraph_.node({n}).alive()) continue;
      roots_.push_back(n);
      at_node(rule_.lhs[i], {n}, [&] { source(i + 1); });
      roots_.pop_back();
    }
  }

  void at_class(TermId id, ClassId place, const std::function<void()>& next) {
    const Term& term = rule_.terms[id];
    if (term.kind == Term::Kind::ClassVar) return bind(classes_[term.variable], place.index, next);
    for (ENodeId node : egraph_.nodes(place)) at_node(id, node, next);
  }

  void at_node(TermId id, ENodeId node, const std::function<void()>& next) {
    const Term& term = rule_.terms[id];
    const ENode& n = egraph_.node(node);
    if (n.op != term.op || n.arity != term.operands.size() || egraph_.node(node).filtered()) return;
    attribute(term, node, 0, next);
  }

  void attribute(const Term& term, ENodeId node, size_t slot, const std::function<void()>& next) {
    if (slot == term.attrs.size()) return operand(term, node, 0, next);
    ValueId value = egraph_.symbols().attrs(egraph_.node(node).attrs)[slot];
    auto on = [&] { attribute(term, node, slot + 1, next); };
    const TermAttr& attr = term.attrs[slot];
    if (attr.kind == TermAttr::Kind::Variable) return bind(values_[attr.variable], value.index, on);
    if (egraph_.symbols().value(value) == attr.literal) on();
  }

  void operand(const Term& term, ENodeId node, size_t i, const std::function<void()>& next) {
    if (i == term.operands.size()) return next();
    at_class(term.operands[i], egraph_.children(node)[i],
             [&] { operand(term, node, i + 1, next); });
  }

  void bind(uint32_t& variable, uint32_t value, const std::function<void()>& next) {
    if (variable != UINT32_MAX && variable != value) return;
    uint32_t before = variable;
    variable = value;
    next();
    variable = before;
  }

  const EGraph& egraph_;
  const Rule& rule_;
  Match roots_, classes_, values_;
  std::set<Match> found_;
};

std::set<Match> by_matcher(const EGraph& egraph, const RuleBook& book, const CompiledRule& rule,
                           uint32_t since) {
  Matcher matcher(egraph, book);
  matcher.search_since(since);
  Rows rows;
  size_t start = 0;
  matcher.search(book.patterns()[rule.sources[0].pattern], SIZE_MAX, start, rows,
                 [] { return false; });
  std::set<Match> found;
  const PatternUse& use = rule.sources[0];
  for (size_t i = 0; i < rows.size(); ++i) {
    Match match(1 + rule.rule->class_vars + rule.rule->value_vars);
    const uint32_t* row = rows[i];
    match[0] = *row++;
    for (uint32_t v : use.class_map) match[1 + v] = *row++;
    for (uint32_t v : use.value_map) match[1 + rule.rule->class_vars + v] = *row++;
    EXPECT_TRUE(found.insert(match).second) << "a match was found twice";
  }
  return found;
}

std::set<Match> by_join(const EGraph& egraph, const RuleBook& book, const CompiledRule& rule,
                        uint32_t since, size_t chunk) {
  Joiner joiner(egraph, book);
  auto never = [] { return false; };
  joiner.search(rule, since, never);
  JointCursor cursor;
  joiner.start(rule, cursor, never);
  std::set<Match> found;
  while (true) {
    JointRows rows = cursor.form();
    cursor.fill(chunk, rows, never);
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      llvm::ArrayRef<uint32_t> row = rows.row(i);
      EXPECT_TRUE(found.insert(Match(row.begin(), row.end())).second) << "found twice";
    }
    if (rows.rows.size() < chunk) return found;
  }
}

constexpr llvm::StringLiteral kRules = R"(
rule one(x, y) { x + y => y + x }
rule twice(x) { x + x => x + x }
rule deep(x, y) { relu(tanh(x) + y) => relu(y + tanh(x)) }
rule shared(x, y, z) { (x + y) * (x + z) => (y + x) * (x + z) }
rule bottom(x, y) { relu(x) * (y + y) => (y + y) * relu(x) }
rule cut(x, a, b) { slice(relu(x), axis = 0, start = a, stop = b) => relu(slice(x, axis = 0, start = a, stop = b)) }
rule same_cut(x, y, a, b) { slice(x, 0, a, b) + slice(y, 0, a, b) => slice(x + y, 0, a, b) where rank(x) == rank(y) }
)";

constexpr llvm::StringLiteral kMulti = R"(
rule join_add(x, y, z) { x + y, x + z => x + y, z + x }
rule join_two(x, y, z) { relu(x) + y, tanh(x) + z => y + relu(x), z + tanh(x) }
rule join_three(x, y, z) { x + y, relu(y), y + z => y + x, relu(y), z + y }
rule join_cuts(x, y, a, b) { slice(x, 0, a, b), slice(y, 0, a, b) => slice(x, 0, a, b), slice(y, 0, a, b) }
)";

class World {
public:
  explicit World(uint64_t seed) : egraph(std::make_shared<Symbols>()), rng_(seed) {
    for (int i = 0; i < 4; ++i)
      add_node(egraph, OpKind::Input,
               {egraph.symbols().value(Value::of_string("x" + std::to_string(i))),
                egraph.symbols().value(Value::of_type(f32({6})))},
               {});
  }

  void change(int count) {
    for (int i = 0; i < count; ++i) {
      ClassId a = any(), b = any();
      switch (rng_() % 9) {
      case 0: add_node(egraph, OpKind::Relu, {}, {a}); break;
      case 1: add_node(egraph, OpKind::Tanh, {}, {a}); break;
      case 2: add_node(egraph, OpKind::Mul, {}, {a, b}); break;
      case 3: cut(a); break;
      case 4: egraph.merge(a, b, {}); break;
      default: add_node(egraph, OpKind::Add, {}, {a, b});
      }
    }
    egraph.rebuild();
    if (rng_() % 2) Cycles(egraph).break_cycles();
  }

  EGraph egraph;

private:
  ClassId any() { return {static_cast<uint32_t>(rng_() % egraph.class_bound())}; }
  void cut(ClassId x) {
    auto number = [&](int64_t n) { return egraph.symbols().value(Value::of_int(n)); };
    int64_t start = static_cast<int64_t>(rng_() % 3);
    add_node(egraph, OpKind::Slice, {number(0), number(start), number(start + 3)}, {x});
  }
  std::mt19937_64 rng_;
};

TEST(MatchProperty, FindsAllMatchesOfTheDefinition) {
  std::vector<Rule> rules = test::rules_of(kRules);
  ASSERT_GE(rules.size(), 7u); // commuted forms are additional
  size_t total = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    World world(seed);
    RuleBook book(world.egraph.symbols(), rules);
    for (int round = 0; round < 4; ++round) {
      world.change(15);
      for (const CompiledRule& rule : book.rules()) {
        std::set<Match> expected = Naive(world.egraph, *rule.rule).matches();
        ASSERT_EQ(by_matcher(world.egraph, book, rule, 0), expected)
            << rule.rule->name << ", seed " << seed;
        total += expected.size();
      }
    }
  }
  EXPECT_GT(total, 3'000u);
}

TEST(MatchProperty, FindsNewMatchesAfterAChange) {
  std::vector<Rule> rules = test::rules_of(kRules);
  size_t total = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    World world(seed);
    RuleBook book(world.egraph.symbols(), rules);
    world.change(40);
    for (int round = 0; round < 4; ++round) {
      std::vector<std::set<Match>> before;
      for (const CompiledRule& rule : book.rules())
        before.push_back(by_matcher(world.egraph, book, rule, 0));
      uint32_t mark = world.egraph.change_mark();
      world.change(4);
      for (size_t r = 0; r < book.rules().size(); ++r) {
        const CompiledRule& rule = book.rules()[r];
        std::set<Match> now = by_matcher(world.egraph, book, rule, 0);
        std::set<Match> fresh = by_matcher(world.egraph, book, rule, mark);
        for (const Match& match : now) // earlier matches need not be found again
          ASSERT_TRUE(fresh.count(match) || before[r].count(match))
              << rule.rule->name << ", seed " << seed;
        for (const Match& match : fresh) ASSERT_TRUE(now.count(match));
        total += now.size() - fresh.size();
      }
    }
  }
  EXPECT_GT(total, 1000u) << "the search after a change was never smaller than a full one";
}

/// The tally equals the number of all matches, although it examines only places near changes.
/// Meanwhile nodes are removed by congruence and by cycle filters. Some rounds leave patterns out,
/// which are then searched from scratch.
TEST(MatchProperty, CountsAllMatchesAndReturnsNewOnes) {
  std::vector<Rule> rules = test::rules_of(kRules);
  size_t spared = 0, limited = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    World world(seed);
    RuleBook book(world.egraph.symbols(), rules);
    MatchTally tally(world.egraph, book);
    Machine machine(world.egraph);
    std::vector<std::set<Match>> before(book.patterns().size());
    world.change(40);
    for (uint64_t round = 0; round < 8; ++round, world.change(4)) {
      tally.look();
      for (uint32_t p = 0; p < book.patterns().size(); ++p) {
        const Pattern& pattern = book.patterns()[p];
        auto set_of = [](const Rows& rows) {
          std::set<Match> out;
          for (size_t i = 0; i < rows.size(); ++i) out.emplace(rows[i], rows[i] + rows.width);
          return out;
        };
        if ((seed + round * 3 + p) % 5 == 0) {
          before[p].clear();
          continue;
        }
        Rows all, fresh;
        for (ENodeId root : world.egraph.with_op(pattern.steps[0].op))
          machine.match_all(pattern, root, 0, all);
        all.width = pattern.width();
        size_t limit = seed % 4 == 0 ? 6 : SIZE_MAX;
        size_t total = tally.search(p, limit, false, fresh);
        std::set<Match> now = set_of(all), found = set_of(fresh);
        if (now.size() > limit) {
          ASSERT_GT(total, limit);
          ASSERT_TRUE(found.empty());
          before[p].clear();
          ++limited;
          continue;
        }
        ASSERT_EQ(total, now.size()) << "pattern " << p << ", seed " << seed;
        for (const Match& match : now) ASSERT_TRUE(found.count(match) || before[p].count(match));
        for (const Match& match : found) ASSERT_TRUE(now.count(match));
        spared += now.size() - found.size();
        before[p] = std::move(now);
      }
    }
  }
  EXPECT_GT(spared, 1000u) << "old matches were found again";
  EXPECT_GT(limited, 10u);
}

TEST(MatchProperty, JoinsCompatibleMatches) {
  std::vector<Rule> rules = test::rules_of(kMulti);
  ASSERT_GE(rules.size(), 4u);
  size_t total = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    World world(seed);
    RuleBook book(world.egraph.symbols(), rules);
    world.change(40);
    for (const CompiledRule& rule : book.rules()) {
      std::set<Match> expected, all = Naive(world.egraph, *rule.rule).matches();
      size_t roots = rule.sources.size();
      for (const Match& match : all) {
        bool distinct = true; // two matches of one class are not a pair
        for (size_t i = 0; i < roots; ++i)
          for (size_t j = 0; j < i; ++j)
            distinct &= !(class_of(world.egraph, {match[i]}) == class_of(world.egraph, {match[j]}));
        if (distinct) expected.insert(match);
      }
      std::set<Match> found = by_join(world.egraph, book, rule, 0, 1 + seed % 7);
      if (!rule.symmetric) {
        ASSERT_EQ(found, expected) << rule.rule->name << ", seed " << seed;
      } else {
        ASSERT_EQ(found.size() * 2, expected.size()) << rule.rule->name << ", seed " << seed;
        for (const Match& match : found) ASSERT_TRUE(expected.count(match));
      }
      total += found.size();
    }
  }
  EXPECT_GT(total, 3000u);
}

} // namespace
} // namespace tg
