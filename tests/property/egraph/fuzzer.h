// Random changes to an e-graph, for tests of invariants.
#pragma once

#include "compiler/egraph/cycle.h"
#include "compiler/egraph/egraph.h"

#include <gtest/gtest.h>

#include <random>

namespace tg::test {

inline constexpr OpKind kBinary[] = {OpKind::Add, OpKind::Mul, OpKind::Sub, OpKind::Maximum};
inline constexpr OpKind kUnary[] = {OpKind::Relu, OpKind::Tanh, OpKind::Neg};

/// Random changes to an e-graph over one or two tensor types.
class Fuzzer {
public:
  Fuzzer(EGraph& egraph, uint64_t seed) : egraph_(egraph), rng_(seed) {}

  uint32_t pick(uint32_t bound) {
    return std::uniform_int_distribution<uint32_t>(0, bound - 1)(rng_);
  }
  ClassId any_class() { return {pick(egraph_.class_bound())}; }

  void leaf() {
    Symbols& symbols = egraph_.symbols();
    bool weight = pick(2);
    std::string name = (weight ? "w" : "x") + std::to_string(pick(12));
    ValueId type = symbols.value(Value::of_type(pick(4) ? f32({4}) : f32({2, 4})));
    ValueId path = symbols.value(Value::of_string(name));
    if (weight)
      add_node(egraph_, OpKind::Weight, {path, type, symbols.value(Value::of_string(""))}, {});
    else
      add_node(egraph_, OpKind::Input, {path, type}, {});
  }

  void node() {
    Origin why{static_cast<RuleId>(pick(5)), {pick(egraph_.node_bound())}};
    if (pick(3) == 0)
      add_node(egraph_, kUnary[pick(3)], {}, {any_class()}, why);
    else
      add_node(egraph_, kBinary[pick(4)], {}, {any_class(), any_class()}, why);
  }

  /// Adds a node directly to the class of another node of its type.
  void equal_node() {
    ClassId target = any_class(), a = any_class(), b = any_class();
    OpKind op = kBinary[pick(4)];
    Typing typing = type_of(egraph_, op, egraph_.symbols().no_attrs(), {a, b});
    if (typing.ok() && typing.type == class_at(egraph_, target).type)
      egraph_.add_equal(target, op, typing, {a, b}, {0, {0}});
  }

  void change(int count) {
    for (int i = 0; i < count; ++i) {
      switch (pick(8)) {
      case 0: leaf(); break;
      case 1: egraph_.merge(any_class(), any_class(), {1, {0}}); break;
      case 2: equal_node(); break;
      case 3: egraph_.set_rule_seen(static_cast<RuleId>(pick(7)), egraph_.change_mark()); break;
      case 4:
        if (egraph_.recording()) egraph_.note_application(2, {any_class().index, pick(9)});
        node();
        break;
      default: node();
      }
    }
  }

  void rebuild() {
    egraph_.rebuild();
    Cycles(egraph_).break_cycles();
  }

private:
  EGraph& egraph_;
  std::mt19937_64 rng_;
};

inline EGraph seeded(uint64_t seed) {
  EGraph egraph(std::make_shared<Symbols>());
  Fuzzer fuzzer(egraph, seed);
  for (int i = 0; i < 6; ++i) fuzzer.leaf();
  return egraph;
}

} // namespace tg::test
