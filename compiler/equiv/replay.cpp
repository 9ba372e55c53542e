#include "compiler/equiv/replay.h"

#include "compiler/egraph/rule_sides.h"
#include "compiler/ir/graph_equal.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

class Replay {
public:
  Replay(const Derivation& chain, llvm::ArrayRef<Rule> rules)
      : chain_(chain), rules_(rules), terms_(chain.terms) {}

  std::string run(const Graph& source, const Graph& result) {
    if (std::string fault = verify(terms_); !fault.empty()) return fault;
    if (std::string fault = difference(source, graph_at(chain_, 0, source)); !fault.empty())
      return "the chain does not start at the source: " + fault;
    for (size_t i = 0; i < chain_.steps.size(); ++i)
      if (std::string fault = check(i); !fault.empty())
        return llvm::formatv("step {0}, `{1}`: {2}", i + 1, name(chain_.steps[i].rule), fault);
    Graph last = graph_at(chain_, chain_.steps.size(), source);
    if (std::string fault = difference(last, result); !fault.empty())
      return "the chain does not end at the result: " + fault;
    return {};
  }

private:
  std::string name(RuleId rule) const { return rule < rules_.size() ? rules_[rule].name : "?"; }

  std::string check(size_t i) {
    const DerivationStep& step = chain_.steps[i];
    if (step.rule >= rules_.size()) return "there is no such rule";
    if (step.exchanges.empty()) return "nothing is exchanged";
    const Rule& rule = rules_[step.rule];
    std::string fault = rule.native == Native::No ? check_rule(rule, step) : check_fused(step);
    if (!fault.empty()) return fault;
    llvm::ArrayRef<NodeId> before = chain_.outputs(i);
    if (before.size() != step.after.size()) return "an output came or went";
    for (size_t o = 0; o < before.size(); ++o)
      if (!only_exchanged(before[o], step.after[o], step.exchanges))
        return llvm::formatv("output {0} changed elsewhere", o + 1);
    return {};
  }

  /// The rule's sides at what its variables stand for.
  std::string check_rule(const Rule& rule, const DerivationStep& step) {
    if (step.classes.size() != rule.class_vars || step.values.size() != rule.value_vars)
      return "its variables are not bound";
    NodeBinding binding{step.classes, step.values};
    if (!conditions_hold(terms_, rule, binding)) return "its conditions do not hold";
    std::vector<NodeId> built;
    llvm::SmallVector<Exchange, 2> sides;
    for (size_t side = 0; side < rule.lhs.size(); ++side) {
      NodeId left = build_side(terms_, rule, rule.lhs[side], binding, built);
      NodeId right = build_side(terms_, rule, rule.rhs[side], binding, built);
      if (!left.valid() || !right.valid()) continue; // of the others, perhaps
      sides.push_back(step.forward ? Exchange{left, right, 0} : Exchange{right, left, 0});
    }
    for (const Exchange& exchange : step.exchanges) {
      if (!llvm::any_of(sides, [&](const Exchange& side) {
            return side.from == exchange.from && side.to == exchange.to;
          }))
        return "what is exchanged is not the two sides of the rule";
      if (!same_type(exchange)) return "its sides have two types";
    }
    return {};
  }

  std::string check_fused(const DerivationStep& step) {
    for (const Exchange& exchange : step.exchanges) {
      NodeId from = without_fused(terms_, exchange.from, written_out_);
      NodeId to = without_fused(terms_, exchange.to, written_out_);
      if (!from.valid() || !(from == to)) return "written out, the two sides differ";
      if (!same_type(exchange)) return "its sides have two types";
    }
    return {};
  }

  bool same_type(const Exchange& exchange) const {
    return terms_.node(exchange.from).type == terms_.node(exchange.to).type;
  }

  /// Whether `after` is `before` with some of the nodes exchanged, wherever they are.
  bool only_exchanged(NodeId before, NodeId after, llvm::ArrayRef<Exchange> exchanges) const {
    llvm::DenseSet<std::pair<uint32_t, uint32_t>> seen;
    llvm::SmallVector<std::pair<NodeId, NodeId>, 16> todo{{before, after}};
    while (!todo.empty()) {
      auto [b, a] = todo.pop_back_val();
      if (b == a || !seen.insert({b.index, a.index}).second) continue;
      if (llvm::any_of(exchanges,
                       [&, b = b, a = a](const Exchange& x) { return x.from == b && x.to == a; }))
        continue;
      const Node &x = terms_.node(b), &y = terms_.node(a);
      if (x.op != y.op || !(x.attrs == y.attrs) || x.operand_count != y.operand_count ||
          x.operand_count == 0)
        return false;
      for (auto pair : llvm::zip(terms_.operands(b), terms_.operands(a)))
        todo.push_back({std::get<0>(pair), std::get<1>(pair)});
    }
    return true;
  }

  const Derivation& chain_;
  llvm::ArrayRef<Rule> rules_;
  Graph terms_; // a copy: what the rules say is built into it
  llvm::DenseMap<uint32_t, NodeId> written_out_;
};

} // namespace

std::string replay(const Derivation& chain, llvm::ArrayRef<Rule> rules, const Graph& source,
                   const Graph& result) {
  return Replay(chain, rules).run(source, result);
}

} // namespace tg
