// A game of twenty states for those who learn to choose rewrites. A state is a graph of one
// operator, rules lead from state to state, and prices say how good one is. The first step that
// pays leads to a dead end; the best state lies behind two that cost, on a way of eight steps with
// wrong turns at each.
#pragma once

#include "tests/unit/search/search_fixture.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::test {

class RewriteGame {
public:
  static constexpr size_t kStates = 20, kBest = 10;
  static constexpr double kStartUs = 100, kDeadEndUs = 92, kBestUs = 20;

  RewriteGame() : rules(rules_of(rule_text())), source(start()) {
    for (size_t i = 0; i < kStates; ++i) prices.cost[kOps[i]] = kUs[i];
  }

  static double price_of(const Graph& graph) { return kUs[state_of(graph)]; }
  /// Which state a graph is.
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
  // 0 is the start, 1 and 2 are the dead end, 3 to 10 the way, the others wrong turns.
  static constexpr double kUs[kStates] = {kStartUs, 95, kDeadEndUs, 103, 106, 85, 70, 55, 45, 35,
                                          kBestUs,  97, 98,         99,  96,  97, 98, 94, 96, 95};

  static std::string rule_text() {
    std::string text;
    auto rule = [&](size_t from, size_t to) {
      text += llvm::formatv("rule from_{0}_to_{1}(x) {{ {2}(x) => {3}(x) }\n", from, to,
                            op_info(kOps[from]).name, op_info(kOps[to]).name);
    };
    rule(0, 1), rule(1, 2), rule(2, 1);
    rule(0, 3), rule(3, 0), rule(4, 3);
    for (size_t i = 3; i < kBest; ++i) rule(i, i + 1);
    for (size_t i = 5; i < kBest; ++i)
      for (size_t turn = 0; turn < 3; ++turn) rule(i, 11 + (2 * i + 3 * turn) % 9);
    for (size_t i = 11; i < kStates; ++i) rule(i, 11 + (i - 10) % 9);
    return text;
  }

  static Graph start() {
    Builder b;
    b.output(b.op(kOps[0], {b.x("x", {4, 8})}));
    return std::move(b.graph);
  }
};

} // namespace tg::test
