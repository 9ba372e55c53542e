// Tests the e-graph under random use: against a naive congruence closure,
// and through checkpoints and rollbacks against deep copies.
#include "tests/property/egraph/fuzzer.h"

#include <map>

namespace tg {
namespace {

using test::Fuzzer;
using test::kBinary;
using test::seeded;

TEST(EGraphProperty, InvariantsHoldAfterRandomChanges) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    EGraph egraph = seeded(seed);
    Fuzzer fuzzer(egraph, seed + 1000);
    for (int round = 0; round < 6; ++round) {
      fuzzer.change(15);
      fuzzer.rebuild();
      ASSERT_EQ(verify(egraph), "") << "seed " << seed << "\n" << dump(egraph);
      ASSERT_TRUE(acyclic(egraph)) << "seed " << seed;
    }
  }
}

/// Implements congruence closure by its definition: compares all pairs until nothing changes.
class Naive {
public:
  struct Term {
    OpKind op;
    AttrsId attrs;
    std::vector<uint32_t> children; // terms
    TypeId type;
  };
  uint32_t add(Term term) {
    for (uint32_t i = 0; i < terms_.size(); ++i)
      if (congruent(terms_[i], term)) return i;
    terms_.push_back(term);
    group_.push_back(static_cast<uint32_t>(terms_.size() - 1));
    return static_cast<uint32_t>(terms_.size() - 1);
  }
  void merge(uint32_t a, uint32_t b) {
    uint32_t from = group_[a], to = group_[b];
    for (uint32_t& g : group_)
      if (g == from) g = to;
  }
  void close() {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = 0; i < terms_.size(); ++i)
        for (uint32_t j = 0; j < i; ++j)
          if (group_[i] != group_[j] && congruent(terms_[i], terms_[j]))
            merge(i, j), changed = true;
    }
  }
  bool same(uint32_t a, uint32_t b) const { return group_[a] == group_[b]; }
  const Term& term(uint32_t i) const { return terms_[i]; }
  uint32_t size() const { return static_cast<uint32_t>(terms_.size()); }

private:
  bool congruent(const Term& a, const Term& b) const {
    if (a.op != b.op || !(a.attrs == b.attrs) || a.children.size() != b.children.size())
      return false;
    for (size_t i = 0; i < a.children.size(); ++i)
      if (group_[a.children[i]] != group_[b.children[i]]) return false;
    return true;
  }
  std::vector<Term> terms_;
  std::vector<uint32_t> group_;
};

TEST(EGraphProperty, EqualsANaiveCongruenceClosure) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    auto symbols = std::make_shared<Symbols>();
    EGraph egraph(symbols);
    Naive naive;
    std::mt19937_64 rng(seed);
    auto pick = [&](size_t n) { return static_cast<uint32_t>(rng() % n); };
    std::vector<std::pair<ClassId, uint32_t>> both; // an expression in each of the two
    for (int i = 0; i < 5; ++i) {
      AttrsId attrs = symbols->attrs({symbols->value(Value::of_string("x" + std::to_string(i))),
                                      symbols->value(Value::of_type(f32({4})))});
      Typing typing = type_of(egraph, OpKind::Input, attrs, llvm::ArrayRef<ClassId>());
      both.emplace_back(egraph.add(OpKind::Input, typing, {}, {}),
                        naive.add({OpKind::Input, attrs, {}, typing.type}));
    }
    for (int step = 0; step < 60; ++step) {
      auto a = both[pick(both.size())], b = both[pick(both.size())];
      if (pick(4) == 0) {
        egraph.merge(a.first, b.first, {});
        naive.merge(a.second, b.second);
        if (pick(2)) egraph.rebuild();
        naive.close();
        continue;
      }
      OpKind op = kBinary[pick(3)];
      both.emplace_back(add_node(egraph, op, {}, {a.first, b.first}),
                        naive.add({op, symbols->no_attrs(), {a.second, b.second}, {}}));
    }
    egraph.rebuild();
    naive.close();
    for (const auto& a : both)
      for (const auto& b : both)
        ASSERT_EQ(egraph.find(a.first) == egraph.find(b.first), naive.same(a.second, b.second))
            << "seed " << seed;
  }
}

TEST(EGraphProperty, RollingBackAndForwardRestoresTheGraphExactly) {
  EGraph egraph = seeded(7);
  egraph.record_history();
  Fuzzer fuzzer(egraph, 99);
  fuzzer.change(40);
  fuzzer.rebuild();
  struct Saved {
    Checkpoint checkpoint;
    EGraph copy;
  };
  std::vector<Saved> stack;
  std::string why;
  for (int round = 0; round < 4000; ++round) {
    if (stack.empty() || (stack.size() < 6 && fuzzer.pick(3) != 0)) {
      stack.push_back({egraph.checkpoint(), EGraph(egraph)});
    }
    fuzzer.change(1 + static_cast<int>(fuzzer.pick(12)));
    fuzzer.rebuild();
    if (fuzzer.pick(2)) continue;
    EGraph after(egraph);
    size_t to = fuzzer.pick(static_cast<uint32_t>(stack.size()));
    Delta delta = egraph.take_back(stack[to].checkpoint);
    stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(to) + 1, stack.end());
    ASSERT_TRUE(same_state(egraph, stack[to].copy, &why)) << "undo, round " << round << ": " << why;
    ASSERT_EQ(verify(egraph), "");
    if (fuzzer.pick(3) == 0) continue;
    // An excursion in between must not affect the delta.
    fuzzer.change(5);
    fuzzer.rebuild();
    if (egraph.version() != stack[to].copy.version()) {
      EXPECT_FALSE(egraph.redo(delta));
    }
    egraph.rollback(stack[to].checkpoint);
    ASSERT_TRUE(egraph.redo(delta));
    ASSERT_TRUE(same_state(egraph, after, &why)) << "redo, round " << round << ": " << why;
    ASSERT_EQ(verify(egraph), "");
    if (fuzzer.pick(2)) { // commit the change
      egraph.release(stack.back().checkpoint);
      stack.pop_back();
    }
    if (egraph.node_bound() > 1500) { // start again from the first checkpoint
      egraph.rollback(stack.empty() ? egraph.checkpoint() : stack[0].checkpoint);
      if (!stack.empty()) stack.erase(stack.begin() + 1, stack.end());
    }
  }
}

TEST(EGraphProperty, ARollbackInTheMiddleOfAChangeIsClean) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    EGraph egraph = seeded(seed);
    Fuzzer fuzzer(egraph, seed);
    fuzzer.change(30);
    fuzzer.rebuild();
    EGraph copy(egraph);
    Checkpoint start = egraph.checkpoint();
    fuzzer.change(20); // not rebuilt
    egraph.rollback(start);
    std::string why;
    ASSERT_TRUE(same_state(egraph, copy, &why)) << why;
    ASSERT_EQ(verify(egraph), "");
  }
}

} // namespace
} // namespace tg
