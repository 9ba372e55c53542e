#include "compiler/egraph/explain/explain_ledger.h"

#include "compiler/rules/sides.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

constexpr size_t kBetweenLooks = 256; // applications between two checks of the clock
constexpr int kWeightDepth = 3;       // maximum depth of terms built from weight-only operands

llvm::SmallVector<ValueId, 6> attrs_of(const Symbols& symbols, AttrsId attrs) {
  llvm::ArrayRef<ValueId> values = symbols.attrs(attrs);
  return {values.begin(), values.end()};
}

} // namespace

ExplainLedger::ExplainLedger(const History& history, llvm::ArrayRef<Rule> rules,
                             std::shared_ptr<Symbols> symbols, const StopToken& stop)
    : terms(std::move(symbols)), closure(terms), rules_(rules), stop_(stop) {
  name_classes(history);
  read(history);
  closure.include_new_nodes();
}

void ExplainLedger::name_classes(const History& history) {
  for (const History::Maker& maker : history.makers) {
    llvm::SmallVector<NodeId, 6> operands;
    for (uint32_t i = 0; i < maker.arity; ++i)
      operands.push_back(names_[history.operands[maker.first + i].index]);
    names_.push_back(terms.add(maker.op, attrs_of(terms.symbols(), maker.attrs), operands));
  }
}

void ExplainLedger::read(const History& history) {
  llvm::ArrayRef<uint32_t> words = history.applications;
  for (size_t at = 0, rows = 0; at < words.size(); ++rows) {
    if (rows % kBetweenLooks == 0 && stop_.asked()) return;
    RuleApplication a;
    a.rule = static_cast<RuleId>(words[at] & 0xffff);
    size_t length = words[at] >> 16;
    llvm::ArrayRef<uint32_t> row = words.slice(at + 1, length);
    at += 1 + length;
    if (a.rule >= rules_.size()) continue;
    bool native = rule(a).native != Native::No;
    if (native ? take_native(a, row) : take_bound(a, row)) state(std::move(a));
  }
}

/// Adds both sides as equations, one for each left side.
void ExplainLedger::state(RuleApplication a) {
  uint32_t number = static_cast<uint32_t>(applications_.size());
  a.first_equation = static_cast<uint32_t>(equations_.size());
  for (uint32_t side = 0; side < a.left.size(); ++side) {
    equations_.push_back({number, side});
    closure.merge(a.left[side], a.right[side], a.first_equation + side);
  }
  applications_.push_back(std::move(a));
}

// --- rules with patterns -------------------------------------------------------------------------

bool ExplainLedger::take_bound(RuleApplication& a, llvm::ArrayRef<uint32_t> words) {
  const Rule& r = rule(a);
  for (uint32_t word : words.take_front(r.class_vars))
    a.classes.push_back(word < names_.size() ? names_[word] : NodeId{});
  for (uint32_t word : words.drop_front(r.class_vars)) a.values.push_back({word});
  if (!conditions_hold(terms, r, {a.classes, a.values}) && !repair_application(a)) return false;
  return build_sides(a);
}

bool ExplainLedger::build_sides(RuleApplication& a) {
  const Rule& r = rule(a);
  std::vector<NodeId> built;
  for (TermId root : r.lhs)
    a.left.push_back(build_side(terms, r, root, {a.classes, a.values}, built));
  for (TermId root : r.rhs)
    a.right.push_back(build_side(terms, r, root, {a.classes, a.values}, built));
  return llvm::all_of(a.left, [](NodeId n) { return n.valid(); }) &&
         llvm::all_of(a.right, [](NodeId n) { return n.valid(); });
}

/// Replaces the variables' terms, one by one, by equal terms that satisfy the conditions.
bool ExplainLedger::repair_application(RuleApplication& a) {
  for (bool constant : {true, false})
    for (NodeId& term : a.classes) {
      if (!term.valid()) continue;
      closure.include_new_nodes();
      NodeId before = term, form = constant ? constant_form(term) : weight_form(term, kWeightDepth);
      if (!form.valid() || form == term) continue;
      term = form;
      if (conditions_hold(terms, rule(a), {a.classes, a.values})) return true;
      if (constant) term = before;
    }
  return false;
}

NodeId ExplainLedger::constant_form(NodeId term) const {
  for (uint32_t member : closure.members(term))
    if (terms.node({member}).op == OpKind::Constant) return {member};
  return {};
}

/// Returns an equal term that depends only on weights, built if necessary. The recursion depth is
/// bounded by a constant.
NodeId ExplainLedger::weight_form(NodeId term, int depth) {
  if (terms.node(term).weight_only) return term;
  llvm::ArrayRef<uint32_t> present = closure.members(term);
  std::vector<uint32_t> members(present.begin(), present.end());
  llvm::sort(members);
  for (uint32_t member : members)
    if (terms.node({member}).weight_only) return {member};
  if (depth == 0) return {};
  for (uint32_t member : members) {
    if (terms.node({member}).operand_count == 0) continue;
    llvm::SmallVector<NodeId, 6> operands(terms.operands({member}).begin(),
                                          terms.operands({member}).end());
    for (NodeId& operand : operands)
      if (operand.valid()) operand = weight_form(operand, depth - 1);
    if (!llvm::all_of(operands, [](NodeId n) { return n.valid(); })) continue;
    const Node& node = terms.node({member});
    return terms.add(node.op, attrs_of(terms.symbols(), node.attrs), operands);
  }
  return {};
}

// --- native rules --------------------------------------------------------------------------------

/// Reads a row as described in fuse.h. Variables are the operands of the fused_map, in order.
bool ExplainLedger::take_native(RuleApplication& a, llvm::ArrayRef<uint32_t> words) {
  std::vector<NodeId> built;
  size_t at = 1;
  for (uint32_t node = 0; node < words[0]; ++node) {
    llvm::SmallVector<NodeId, 8> operands;
    a.inlined = 0; // of the last node, the root
    for (uint32_t word : words.slice(at + 3, words[at + 2])) {
      if (word & 1) a.inlined |= 1u << operands.size();
      operands.push_back(word & 1 ? built[word >> 1] : names_[word >> 1]);
    }
    built.push_back(terms.add(static_cast<OpKind>(words[at]),
                              attrs_of(terms.symbols(), {words[at + 1]}), operands));
    if (!built.back().valid()) return false;
    at += 3 + words[at + 2];
  }
  for (uint32_t leaf : words.drop_front(at + 1)) a.classes.push_back(names_[leaf]);
  a.left.push_back(built.back());
  a.right.push_back(terms.add(OpKind::FusedMap, attrs_of(terms.symbols(), {words[at]}), a.classes));
  return a.right[0].valid();
}

} // namespace tg
