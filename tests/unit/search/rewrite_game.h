// A game of twenty states for learned policies. A state is a graph with one operator,
// rules lead from state to state, and prices rate the states. The only step that pays
// at once leads to a dead end. The best state is behind two steps that cost,
// and any further step leaves it for good.
#pragma once

#include "tests/unit/search/search_fixture.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::test {

class RewriteGame {
public:
  static constexpr size_t kStates = 20, kBest = 8;
  static constexpr double kStartUs = 100, kDeadEndUs = 99.7, kBestUs = 92;

  RewriteGame() : rules(rules_of(rule_text())), source(start()) {
    for (size_t i = 0; i < kStates; ++i) prices.cost[kOps[i]] = kUs[i];
  }

  static double price_of(const Graph& graph) { return kUs[state_of(graph)]; }
  /// Returns the state of a graph.
  static size_t state_of(const Graph& graph) {
    OpKind op = graph.node(graph.outputs()[0].node).op;
    return static_cast<size_t>(llvm::find(kOps, op) - kOps);
  }

  std::vector<Rule> rules;
  Graph source;
  UnitCost prices;

private:
  static constexpr OpKind kOps[kStates] = {
      OpKind::Relu,  OpKind::Sigmoid, OpKind::Tanh, OpKind::Gelu, OpKind::Exp,
      OpKind::Sqrt,  OpKind::Erf,     OpKind::Abs,  OpKind::Sign, OpKind::Floor,
      OpKind::Log,   OpKind::Sin,     OpKind::Cos,  OpKind::Neg,  OpKind::Rsqrt,
      OpKind::Round, OpKind::Ceil,    OpKind::Atan, OpKind::Tan,  OpKind::Sinh};
  // 0 is the start, 1 and 2 are the dead end. 3, 4 or 5, then 6 or 7, cost. From the best state,
  // rules lead to states 9 to 19, and none leads back.
  static constexpr double kUs[kStates] = {kStartUs, 99.8,    kDeadEndUs, 100.1, 100.2, 100.3, 100.4,
                                          100.5,    kBestUs, 97.1,       97.2,  97.3,  97.4,  97.3,
                                          97.2,     97.5,    97.6,       97.8,  97.1,  97.5};

  static std::string rule_text() {
    std::string text;
    auto rule = [&](size_t from, size_t to) {
      text += llvm::formatv("rule from_{0}_to_{1}(x) {{ {2}(x) => {3}(x) }\n", from, to,
                            op_info(kOps[from]).name, op_info(kOps[to]).name);
    };
    for (auto [from, to] : {std::pair(0, 1),
                            {1, 2},
                            {2, 1},
                            {0, 3},
                            {0, 4},
                            {0, 5},
                            {3, 6},
                            {4, 6},
                            {5, 7},
                            {6, kBest},
                            {7, kBest}})
      rule(from, to);
    for (size_t turn = 9; turn < kStates; turn += 2) rule(kBest, turn);
    for (size_t i = 9; i < kStates; ++i) rule(i, 9 + (i - 8) % 11);
    return text;
  }

  static Graph start() {
    Builder b;
    b.output(b.op(kOps[0], {b.x("x", {4, 8})}));
    return std::move(b.graph);
  }
};

} // namespace tg::test
