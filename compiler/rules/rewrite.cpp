#include "compiler/rules/rewrite.h"

#include "compiler/rules/sides.h"
#include "lang/core/support/round_number.h"

#include <llvm/ADT/SmallSet.h>

#include <array>
#include <cassert>

namespace tg {
namespace {

/// Limit on rounds of matching; each works on the result of the previous one.
constexpr int kMostRounds = 8;

bool is_leaf(const Graph& graph, NodeId id) {
  return op_info(graph.node(id).op).has(Trait::Leaf) || graph.node(id).op == OpKind::None;
}

/// Compares the left side of one rule with the terms of a graph.
class TermMatch {
public:
  TermMatch(const Graph& graph, const Rule& rule, bool either_order)
      : graph_(graph), rule_(rule), either_order_(either_order), classes_(rule.class_vars),
        values_(rule.value_vars) {}

  bool match(NodeId root) {
    return term(rule_.lhs[0], root) && conditions_hold(graph_, rule_, binding());
  }
  NodeBinding binding() const { return {classes_, values_}; }
  /// The operators that the left side covers, without leaves and bindings of variables.
  llvm::ArrayRef<NodeId> covered() const { return covered_; }

private:
  bool term(TermId id, NodeId node) {
    const Term& term = rule_.terms[id];
    if (term.kind == Term::Kind::ClassVar) {
      NodeId& bound = classes_[term.variable];
      if (!bound.valid()) bound = node;
      return bound == node;
    }
    if (term.kind != Term::Kind::Op || graph_.node(node).op != term.op) return false;
    llvm::ArrayRef<NodeId> operands = graph_.operands(node);
    if (operands.size() != term.operands.size()) return false;
    for (size_t slot = 0; slot < term.attrs.size(); ++slot)
      if (!slot_fits(term, slot, node)) return false;
    if (!operands_fit(term, operands)) return false;
    if (!is_leaf(graph_, node) && !llvm::is_contained(covered_, node)) covered_.push_back(node);
    return true;
  }

  bool operands_fit(const Term& term, llvm::ArrayRef<NodeId> operands) {
    auto fit = [&](bool swapped) { // the first two operands
      for (size_t i = 0; i < operands.size(); ++i)
        if (!this->term(term.operands[i], operands[i < 2 && swapped ? 1 - i : i])) return false;
      return true;
    };
    if (!either_order_ || !op_info(term.op).has(Trait::Commutes)) return fit(false);
    std::vector<NodeId> classes = classes_;
    std::vector<ValueId> values = values_;
    size_t covered = covered_.size();
    if (fit(false)) return true;
    classes_ = std::move(classes);
    values_ = std::move(values);
    covered_.resize(covered);
    return fit(true);
  }

  bool slot_fits(const Term& term, size_t slot, NodeId node) {
    const TermAttr& attr = term.attrs[slot];
    ValueId given = graph_.attrs(node)[slot];
    if (attr.kind == TermAttr::Kind::Variable) {
      ValueId& bound = values_[attr.variable];
      if (bound == ValueId{}) bound = given;
      return bound == given;
    }
    if (attr.kind != TermAttr::Kind::Literal) return false;
    const Value& value = graph_.symbols().value(given);
    if (value == attr.literal) return true;
    return term.op == OpKind::Constant && slot == 0 &&
           same_numbers(value, attr.literal, graph_.type(node).dtype);
  }

  static bool same_numbers(const Value& a, const Value& b, DType dtype) {
    if (!is_float(dtype)) return false;
    Value x = normal_numbers(a, dtype), y = normal_numbers(b, dtype);
    auto same = [&](double m, double n) {
      return round_number(m, dtype) == round_number(n, dtype);
    };
    return std::equal(x.reals.begin(), x.reals.end(), y.reals.begin(), y.reals.end(), same);
  }

  const Graph& graph_;
  const Rule& rule_;
  bool either_order_; // also matches swapped operands of commuting operators
  std::vector<NodeId> classes_;
  std::vector<ValueId> values_;
  llvm::SmallVector<NodeId, 16> covered_;
};

/// Finds the closed matches of a graph: the nodes that they cover, except the root, have no users
/// outside and are in no other match.
class ClosedMatches {
public:
  ClosedMatches(const Graph& graph, llvm::ArrayRef<Rule> rules, bool either_order)
      : graph_(graph), either_order_(either_order), needed_(graph.reachable()),
        users_(graph.size()), taken_(graph.size()) {
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (needed_[i])
        for (NodeId operand : graph.operands({i})) ++users_[operand.index];
    for (const GraphOutput& output : graph.outputs()) ++users_[output.node.index];
    for (const Rule& rule : rules)
      if (rule.lhs.size() == 1 && rule.native == Native::No && !is_other_order(rule))
        by_op_[static_cast<size_t>(rule.terms[rule.lhs[0]].op)].push_back(&rule);
  }

  const std::vector<bool>& needed() const { return needed_; }

  /// Visits matches from the outputs inwards; at each node, tries the rules in order until `take`
  /// returns true.
  void each(llvm::function_ref<bool(const Rule&, const TermMatch&, NodeId root)> take) {
    for (uint32_t i = static_cast<uint32_t>(graph_.size()); i-- > 0;) {
      NodeId root{i};
      if (!needed_[i] || taken_[i] || is_leaf(graph_, root)) continue;
      for (const Rule* rule : by_op_[static_cast<size_t>(graph_.node(root).op)]) {
        TermMatch match(graph_, *rule, either_order_);
        if (!match.match(root) || !is_closed(match.covered(), root) || !take(*rule, match, root))
          continue;
        for (NodeId node : match.covered()) taken_[node.index] = true;
        break;
      }
    }
  }

private:
  bool is_closed(llvm::ArrayRef<NodeId> covered, NodeId root) const {
    llvm::DenseMap<uint32_t, uint32_t> inside;
    for (NodeId node : covered) {
      if (taken_[node.index]) return false;
      for (NodeId operand : graph_.operands(node)) ++inside[operand.index];
    }
    return llvm::all_of(covered, [&](NodeId node) {
      return node == root || inside.lookup(node.index) == users_[node.index];
    });
  }

  /// `name~2` is the same rule with operands in another order.
  static bool is_other_order(const Rule& rule) { return llvm::StringRef(rule.name).contains('~'); }

  const Graph& graph_;
  bool either_order_;
  std::vector<bool> needed_;
  std::vector<uint32_t> users_;
  std::vector<bool> taken_; // by a match
  std::array<std::vector<const Rule*>, kOpCount> by_op_;
};

/// One round: finds matches in the input graph and builds right sides into a copy of it.
class Round {
public:
  Round(const Graph& graph, llvm::ArrayRef<Rule> rules)
      : graph_(graph), work_(graph), matches_(graph, rules, /*either_order=*/true),
        gone_(graph.size()), replaced_(graph.size()) {}

  /// Returns true if anything was replaced.
  bool run() {
    bool changed = false;
    matches_.each([&](const Rule& rule, const TermMatch& match, NodeId root) {
      bool taken = replace(rule, match, root);
      changed |= taken;
      return taken;
    });
    return changed;
  }

  /// Returns the result in the order of the input graph, and `became` by its nodes.
  Graph rebuilt(std::vector<NodeId>& became) {
    Graph result(graph_.shared_symbols(), graph_.name());
    std::vector<NodeId> placed(work_.size());
    for (NodeId input : graph_.inputs())
      placed[input.index] = result.input(graph_.attr(input, 0).text, graph_.type(input));
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (matches_.needed()[i] && !gone_[i]) place({i}, result, placed);
    for (const GraphOutput& output : graph_.outputs())
      result.add_output(output.name, placed[output.node.index]);
    became.assign(placed.begin(), placed.begin() + static_cast<std::ptrdiff_t>(graph_.size()));
    return result;
  }

private:
  bool replace(const Rule& rule, const TermMatch& match, NodeId root) {
    if (!pays(rule, match.covered())) return false;
    std::vector<NodeId> built;
    NodeId made = build_side(work_, rule, rule.rhs[0], match.binding(), built);
    if (!made.valid() || work_.node(made).type != graph_.node(root).type) return false;
    if (resolved(made) == root) return false;
    for (NodeId node : match.covered()) gone_[node.index] = !(node == root);
    replaced_[root.index] = made;
    return true;
  }

  /// Returns true if the right side has no more operators than the match covers.
  static bool pays(const Rule& rule, llvm::ArrayRef<NodeId> covered) {
    llvm::SmallVector<TermId, 16> worklist{rule.rhs[0]};
    llvm::SmallSet<TermId, 16> seen;
    size_t come = 0;
    while (!worklist.empty()) {
      TermId id = worklist.pop_back_val();
      const Term& term = rule.terms[id];
      if (term.kind != Term::Kind::Op || !seen.insert(id).second) continue;
      come += !op_info(term.op).has(Trait::Leaf) && term.op != OpKind::None;
      worklist.append(term.operands.begin(), term.operands.end());
    }
    return come <= covered.size();
  }

  NodeId resolved(NodeId id) const {
    while (id.index < replaced_.size() && replaced_[id.index].valid()) id = replaced_[id.index];
    return id;
  }

  /// Copies a node of `work_`, or its replacement, with all nodes below it.
  void place(NodeId wanted, Graph& result, std::vector<NodeId>& placed) const {
    llvm::SmallVector<NodeId, 16> worklist{wanted};
    while (!worklist.empty()) {
      NodeId id = worklist.back(), source = resolved(id);
      if (placed[source.index].valid()) {
        placed[id.index] = placed[source.index];
        worklist.pop_back();
        continue;
      }
      size_t before = worklist.size();
      for (NodeId operand : work_.operands(source))
        if (!placed[operand.index].valid()) worklist.push_back(operand);
      if (worklist.size() != before) continue;
      llvm::SmallVector<NodeId, 6> operands;
      for (NodeId operand : work_.operands(source)) operands.push_back(placed[operand.index]);
      llvm::SmallVector<ValueId, 6> attrs(work_.attrs(source).begin(), work_.attrs(source).end());
      placed[source.index] = result.add(work_.node(source).op, attrs, operands);
      assert(placed[source.index].valid() && "a copy of a well-typed node is well typed");
    }
  }

  const Graph& graph_;
  Graph work_; // the nodes of graph_, then the right sides
  ClosedMatches matches_;
  std::vector<bool> gone_;       // inside a match
  std::vector<NodeId> replaced_; // by which node of work_
};

} // namespace

Rewritten rewrite(const Graph& graph, llvm::ArrayRef<Rule> rules) {
  Rewritten result{graph, {}};
  for (uint32_t i = 0; i < graph.size(); ++i) result.became.push_back({i});
  for (int round = 0; round < kMostRounds; ++round) {
    Round next(result.graph, rules);
    if (!next.run()) break;
    std::vector<NodeId> became;
    Graph rebuilt = next.rebuilt(became);
    for (NodeId& node : result.became)
      if (node.valid()) node = became[node.index];
    result.graph = std::move(rebuilt);
  }
  return result;
}

std::vector<RuleMatchIn> closed_matches(const Graph& graph, llvm::ArrayRef<Rule> rules,
                                        bool either_order) {
  std::vector<RuleMatchIn> found;
  ClosedMatches(graph, rules, either_order)
      .each([&](const Rule& rule, const TermMatch& match, NodeId root) {
        NodeBinding binding = match.binding();
        found.push_back({root, static_cast<RuleId>(&rule - rules.begin()), match.covered().vec(),
                         binding.classes.vec(), binding.values.vec()});
        return true;
      });
  return found;
}

} // namespace tg
