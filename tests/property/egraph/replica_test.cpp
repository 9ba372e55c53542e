// Tests a replica that receives the deltas of its original, through checkpoints,
// rollbacks and its own changes: it equals the original, number by number,
// for any numbering of its symbols.
#include "tests/property/egraph/fuzzer.h"

namespace tg {
namespace {

using test::Fuzzer;
using test::seeded;

/// An original with a replica that follows it. Both have the same number of open checkpoints.
struct Pair {
  explicit Pair(uint64_t seed, bool own_symbols)
      : original(seeded(seed)),
        symbols(own_symbols ? std::make_shared<Symbols>() : original.shared_symbols()),
        map(original.symbols(), *symbols), fuzzer(original, seed + 1) {
    // Interned in another order, so that numbers have other meanings.
    if (own_symbols)
      for (int i = 40; i-- > 0;) symbols->attrs({symbols->value(Value::of_int(i))});
    if (own_symbols) symbols->type(f32({2, 4}));
    fuzzer.change(40);
    fuzzer.rebuild();
    replica.emplace(original.replica(symbols, map));
  }

  EGraph original;
  std::shared_ptr<Symbols> symbols;
  SymbolMap map;
  Fuzzer fuzzer;
  std::optional<EGraph> replica;
};

/// Compares the numbers of nodes and classes, and the values of their symbols.
void expect_equal(const Pair& pair, int round) {
  ASSERT_EQ(dump(*pair.replica), dump(pair.original)) << "round " << round;
  ASSERT_EQ(verify(*pair.replica), "") << "round " << round;
  ASSERT_EQ(pair.replica->version(), pair.original.version()) << "round " << round;
}

/// Makes the changes of a helper between two tasks, over its own symbols.
void excursion(EGraph& replica, uint64_t seed) {
  Checkpoint here = replica.checkpoint();
  Fuzzer own(replica, seed);
  own.change(6);
  own.rebuild();
  replica.symbols().value(Value::of_int(static_cast<int64_t>(1000 + seed)));
  replica.rollback(here);
  replica.release(here);
}

/// Makes random changes, rolls back to random depths, and sometimes commits a change.
void follow(bool own_symbols) {
  Pair pair(11, own_symbols);
  std::vector<Checkpoint> originals, replicas;
  int fed = 0;
  for (int round = 0; round < 5000; ++round) {
    originals.push_back(pair.original.checkpoint());
    replicas.push_back(pair.replica->checkpoint());
    if (pair.fuzzer.pick(3) == 0) excursion(*pair.replica, static_cast<uint64_t>(round));
    pair.fuzzer.change(1 + static_cast<int>(pair.fuzzer.pick(12)));
    pair.fuzzer.rebuild();
    Delta delta = pair.original.take_back(originals.back());
    ASSERT_TRUE(pair.original.redo(delta));
    ASSERT_TRUE(pair.replica->feed(delta, pair.map)) << round;
    ++fed;
    if (delta.base != delta.result) {
      EXPECT_FALSE(pair.replica->feed(delta, pair.map)) << "twice, in round " << round;
    }
    bool full = originals.size() > 6 || pair.original.node_bound() > 1500;
    if (pair.fuzzer.pick(3) == 0) { // commit the change
      pair.original.release(originals.back());
      pair.replica->release(replicas.back());
      originals.pop_back(), replicas.pop_back();
    } else if (full || pair.fuzzer.pick(2) == 0) {
      uint32_t depth = static_cast<uint32_t>(originals.size());
      uint32_t to = pair.original.node_bound() > 1500 ? 0 : pair.fuzzer.pick(depth);
      pair.original.rollback(originals[to]);
      pair.replica->rollback(replicas[to]);
      originals.resize(to + 1), replicas.resize(to + 1);
    }
    if (round % 4 == 0) expect_equal(pair, round);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(fed, 5000);
  if (own_symbols) return;
  std::string why;
  EXPECT_TRUE(same_state(pair.original, *pair.replica, &why)) << why;
}

TEST(Replica, OverSymbolsOfItsOwnIsTheOriginal) { follow(true); }

TEST(Replica, OverTheSameSymbolsIsTheSameState) { follow(false); }

TEST(Replica, ItsOwnChangesAreNotTakenForTheOriginals) {
  Pair pair(3, true);
  Checkpoint there = pair.original.checkpoint();
  pair.fuzzer.change(10);
  pair.fuzzer.rebuild();
  Delta delta = pair.original.take_back(there);
  Checkpoint here = pair.replica->checkpoint();
  Fuzzer own(*pair.replica, 5);
  own.change(10);
  own.rebuild();
  EXPECT_FALSE(pair.replica->feed(delta, pair.map));
  pair.replica->rollback(here);
  EXPECT_TRUE(pair.replica->feed(delta, pair.map));
}

TEST(Symbols, HashByContentNotByNumber) {
  Symbols a, b;
  a.value(Value::of_int(7));
  ValueId in_a = a.value(Value::of_string("x")), in_b = b.value(Value::of_string("x"));
  TypeId type_a = a.type(f32({2, 3})), other_a = a.type(f32({3, 2}));
  b.type(f32({3, 2}));
  TypeId type_b = b.type(f32({2, 3}));
  EXPECT_NE(in_a.index, in_b.index);
  EXPECT_NE(type_a.index, type_b.index);
  SymbolHash hash_a(a), hash_b(b);
  EXPECT_EQ(hash_a(in_a), hash_b(in_b));
  EXPECT_EQ(hash_a(type_a), hash_b(type_b));
  EXPECT_NE(hash_a(type_a), hash_a(other_a));
  EXPECT_NE(hash_a(a.value(Value::of_string("1"))), hash_a(a.value(Value::of_int(1))));
}

} // namespace
} // namespace tg
