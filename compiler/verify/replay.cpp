#include "compiler/verify/replay.h"

#include "compiler/ir/graph.h"
#include "compiler/rules/sides.h"

#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

/// The equality of terms that follows from given equations by congruence: a union-find with a table
/// of signatures (Downey, Sethi and Tarjan 1980). Independent of the code that makes explanations.
class Congruence {
public:
  explicit Congruence(const Graph& terms)
      : terms_(terms), parent_(terms.size()), users_(terms.size()) {
    for (uint32_t i = 0; i < terms.size(); ++i) {
      parent_[i] = i;
      for (NodeId operand : terms.operands({i})) users_[operand.index].push_back(i);
      enter(i);
    }
  }

  void merge(NodeId a, NodeId b) {
    pending_.push_back({a.index, b.index});
    while (!pending_.empty()) {
      auto [x, y] = pending_.back();
      pending_.pop_back();
      unite(find(x), find(y));
    }
  }
  bool same(NodeId a, NodeId b) { return find(a.index) == find(b.index); }

private:
  uint32_t find(uint32_t term) {
    while (parent_[term] != term) term = parent_[term] = parent_[parent_[term]];
    return term;
  }

  void unite(uint32_t kept, uint32_t gone) {
    if (kept == gone) return;
    if (users_[kept].size() < users_[gone].size()) std::swap(kept, gone);
    parent_[gone] = kept;
    std::vector<uint32_t> users = std::move(users_[gone]);
    for (uint32_t user : users) enter(user);
    llvm::append_range(users_[kept], users);
  }

  /// Enters a term by its operator, its attributes and the current classes of its operands.
  void enter(uint32_t term) {
    const Node& node = terms_.node({term});
    if (node.operand_count == 0) return; // a leaf equals only itself
    std::vector<uint32_t> signature{static_cast<uint32_t>(node.op), node.attrs.index};
    for (NodeId operand : terms_.operands({term})) signature.push_back(find(operand.index));
    llvm::hash_code hash = llvm::hash_combine_range(signature.begin(), signature.end());
    for (auto& [known, other] : table_[static_cast<size_t>(hash) >> 2])
      if (known == signature) return void(pending_.push_back({term, other}));
    table_[static_cast<size_t>(hash) >> 2].push_back({std::move(signature), term});
  }

  const Graph& terms_;
  std::vector<uint32_t> parent_;
  std::vector<std::vector<uint32_t>> users_; // by representative
  std::vector<std::pair<uint32_t, uint32_t>> pending_;
  llvm::DenseMap<uint64_t, llvm::SmallVector<std::pair<std::vector<uint32_t>, uint32_t>, 1>> table_;
};

class Replay {
public:
  Replay(const Derivation& chain, llvm::ArrayRef<Rule> rules)
      : chain_(chain), rules_(rules), terms_(chain.terms) {}

  std::string run(const Graph& source, const Graph& result, const StopToken& stop) {
    if (std::string fault = verify(terms_); !fault.empty()) return fault;
    if (std::string fault = difference(source, graph_of(chain_, chain_.start, source));
        !fault.empty())
      return "the chain does not start at the source: " + fault;
    for (size_t i = 0; i < chain_.steps.size(); ++i) {
      if (i % kBetweenLooks == 0 && stop.asked()) return kReplayStopped.str();
      if (std::string fault = check(i); !fault.empty())
        return llvm::formatv("step {0}, `{1}`: {2}", i + 1, name(chain_.steps[i].rule), fault);
    }
    if (std::string fault = difference(graph_of(chain_, chain_.end, source), result);
        !fault.empty())
      return "the chain does not end at the result: " + fault;
    return check_end();
  }

private:
  static constexpr size_t kBetweenLooks = 64; // steps between two reads of the clock

  std::string name(RuleId rule) const { return rule < rules_.size() ? rules_[rule].name : "?"; }

  std::string check(size_t i) {
    const DerivationStep& step = chain_.steps[i];
    if (step.rule >= rules_.size()) return "there is no such rule";
    if (step.exchanges.empty()) return "it exchanges nothing";
    const Rule& rule = rules_[step.rule];
    return rule.native == Native::No ? check_rule(rule, step) : check_fused(step);
  }

  /// Uses the terms of the chain only; the terms that rules built are in another graph.
  std::string check_end() {
    Congruence equal(chain_.terms);
    for (const DerivationStep& step : chain_.steps)
      for (const Exchange& exchange : step.exchanges) equal.merge(exchange.from, exchange.to);
    for (size_t o = 0; o < chain_.end.size(); ++o)
      if (!equal.same(chain_.start[o], chain_.end[o]))
        return llvm::formatv("the chain does not end at the result: output {0} does not follow",
                             o + 1);
    return {};
  }

  /// Checks the rule's sides at the bindings of its variables.
  std::string check_rule(const Rule& rule, const DerivationStep& step) {
    if (step.classes.size() != rule.class_vars || step.values.size() != rule.value_vars)
      return "its variables are not bound";
    NodeBinding binding{step.classes, step.values};
    if (!conditions_hold(terms_, rule, binding)) return "its conditions are not satisfied";
    std::vector<NodeId> built;
    llvm::SmallVector<Exchange, 2> sides;
    for (size_t side = 0; side < rule.lhs.size(); ++side) {
      NodeId left = build_side(terms_, rule, rule.lhs[side], binding, built);
      NodeId right = build_side(terms_, rule, rule.rhs[side], binding, built);
      if (!left.valid() || !right.valid()) continue; // another side may have it
      sides.push_back(step.forward ? Exchange{left, right, 0} : Exchange{right, left, 0});
    }
    for (const Exchange& exchange : step.exchanges) {
      if (!llvm::any_of(sides, [&](const Exchange& side) {
            return side.from == exchange.from && side.to == exchange.to;
          }))
        return "the exchanged terms are not the two sides of the rule";
      if (!same_type(exchange)) return "its sides have different types";
    }
    return {};
  }

  std::string check_fused(const DerivationStep& step) {
    for (const Exchange& exchange : step.exchanges) {
      NodeId from = without_fused(terms_, exchange.from, written_out_);
      NodeId to = without_fused(terms_, exchange.to, written_out_);
      if (!from.valid() || !(from == to))
        return "the two sides differ after expanding fused operators";
      if (!same_type(exchange)) return "its sides have different types";
    }
    return {};
  }

  bool same_type(const Exchange& exchange) const {
    return terms_.node(exchange.from).type == terms_.node(exchange.to).type;
  }

  const Derivation& chain_;
  llvm::ArrayRef<Rule> rules_;
  Graph terms_; // a copy, to which the rules' sides are added
  llvm::DenseMap<uint32_t, NodeId> written_out_;
};

} // namespace

std::string replay(const Derivation& chain, llvm::ArrayRef<Rule> rules, const Graph& source,
                   const Graph& result, const StopToken& stop) {
  return Replay(chain, rules).run(source, result, stop);
}

} // namespace tg
