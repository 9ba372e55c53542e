// Tree costs that follow an e-graph against costs computed from nothing, over thousands of random
// changes: nodes, merges, filtered nodes, checkpoints and rollbacks.
#include "compiler/extract/tree_costs.h"

#include <gtest/gtest.h>

#include <random>

namespace tg {
namespace {

constexpr OpKind kBinary[] = {OpKind::Add, OpKind::Mul, OpKind::Sub, OpKind::Maximum};
constexpr OpKind kUnary[] = {OpKind::Relu, OpKind::Tanh, OpKind::Neg};

class Walk {
public:
  explicit Walk(uint64_t seed) : egraph_(std::make_shared<Symbols>()), random_(seed) {
    for (int i = 0; i < 4; ++i) leaf();
    egraph_.add_root("out", any_class());
    egraph_.add_root("again", egraph_.roots()[0].id);
  }

  void step() {
    for (int i = 0; i < 3; ++i) {
      switch (below(9)) {
      case 0: leaf(); break;
      case 1: egraph_.merge(any_class(), any_class(), {1, {0}}); break;
      case 2: filter(); break;
      default: node();
      }
    }
    egraph_.rebuild();
    costs_.update(egraph_, price);
  }

  void mark() {
    marks_.push_back(egraph_.checkpoint());
    costs_.checkpoint();
  }
  void back() {
    if (marks_.empty()) return;
    egraph_.rollback(marks_.back());
    costs_.rollback();
    if (below(2)) return;
    egraph_.release(marks_.back());
    costs_.release();
    marks_.pop_back();
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  void compare() const {
    TreeCosts anew;
    anew.update(egraph_, price);
    std::vector<double> plain = from_nothing();
    for (uint32_t c = 0; c < egraph_.class_bound(); ++c) {
      if (!egraph_.canonical({c})) continue;
      ASSERT_EQ(costs_.cost({c}), plain[c]) << "class " << c;
      ASSERT_EQ(anew.cost({c}), plain[c]) << "class " << c;
      ASSERT_EQ(costs_.choice({c}).valid(), plain[c] != kInfiniteCost);
    }
    ASSERT_EQ(costs_.cost_of_roots(egraph_), anew.cost_of_roots(egraph_));
    founded();
  }

private:
  /// Prices by operator alone, zero among them; leaves with odd names have no price.
  static double price(ENodeId) { return 1; }
  ClassId any_class() { return {below(egraph_.class_bound())}; }

  void leaf() {
    Symbols& symbols = egraph_.symbols();
    ValueId type = symbols.value(Value::of_type(f32({4})));
    ValueId path = symbols.value(Value::of_string("x" + std::to_string(below(12))));
    egraph_.add(OpKind::Input, {path, type}, {});
  }
  void node() {
    if (below(3) == 0)
      egraph_.add(kUnary[below(3)], {}, {any_class()});
    else
      egraph_.add(kBinary[below(4)], {}, {any_class(), any_class()});
  }
  void filter() {
    if (egraph_.node_bound() > 8) egraph_.filter({below(egraph_.node_bound())});
  }

  /// Bellman and Ford over everything.
  std::vector<double> from_nothing() const {
    std::vector<double> cost(egraph_.class_bound(), kInfiniteCost);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t n = 0; n < egraph_.node_bound(); ++n) {
        if (!egraph_.alive({n}) || egraph_.filtered({n})) continue;
        double sum = price({n});
        for (ClassId child : egraph_.children({n})) sum += cost[egraph_.find(child).index];
        double& best = cost[egraph_.class_of({n}).index];
        changed |= sum < best;
        best = std::min(best, sum);
      }
    }
    return cost;
  }

  /// Following the choices never comes back to a class.
  void founded() const {
    for (uint32_t c = 0; c < egraph_.class_bound(); ++c) {
      if (!egraph_.canonical({c}) || !costs_.choice({c}).valid()) continue;
      ENodeId node = costs_.choice({c});
      ASSERT_EQ(egraph_.class_of(node), ClassId{c});
      for (ClassId child : egraph_.children(node))
        ASSERT_LT(costs_.cost(egraph_.find(child)), costs_.cost({c}));
    }
  }

  EGraph egraph_;
  TreeCosts costs_;
  std::vector<Checkpoint> marks_;
  std::mt19937_64 random_;
};

TEST(TreeCosts, FollowTheEGraphThereAndBack) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Walk walk(seed);
    for (int i = 0; i < 100; ++i) {
      walk.step();
      if (walk.below(6) == 0) walk.mark();
      if (walk.below(6) == 0) walk.back();
      ASSERT_NO_FATAL_FAILURE(walk.compare()) << "seed " << seed << ", step " << i;
    }
  }
}

} // namespace
} // namespace tg
