#include "compiler/verify/proof/variables.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

namespace {

class Finder {
public:
  explicit Finder(const Rule& rule)
      : rule_(rule), variables_(rule.class_vars), terms_(rule.terms.size()),
        lengths_(rule.value_vars), absent_(rule.class_vars) {
    for (const Term& term : rule.terms) {
      if (term.kind != Term::Kind::Op || op_info(term.op).variadic()) continue;
      for (size_t i = 0; i < term.operands.size(); ++i)
        if (const Term& operand = rule.terms[term.operands[i]];
            op_info(term.op).operands()[i].optional && operand.kind == Term::Kind::ClassVar)
          absent_[operand.variable] = true;
    }
  }

  Ranks run() {
    do {
      changed_ = false;
      for (ExprIndex condition : rule_.conditions) read(rule_.exprs[condition]);
      for (TermId id = 0; id < rule_.terms.size(); ++id) visit(id);
      for (size_t i = 0; i < rule_.rhs.size(); ++i) same(rule_.lhs[i], rule_.rhs[i]);
    } while (changed_);
    Ranks ranks{variables_, terms_, lengths_, {}};
    for (size_t v = 0; v < absent_.size(); ++v)
      if (absent_[v]) ranks.variables[v].reset();
    find_plain();
    for (TermId id : below(rule_.lhs))
      if (plain_[id]) ranks.plain.push_back({id, {}});
    for (TermId id : below(rule_.rhs))
      if (plain_[id]) ranks.plain.push_back({id, values_under(id)});
    return ranks;
  }

private:
  using Rank = std::optional<size_t>;

  void set(Rank& known, Rank rank) {
    if (known || !rank || *rank > kMaxRank) return;
    known = rank;
    changed_ = true;
  }
  void set(TermId id, Rank rank) {
    const Term& term = rule_.terms[id];
    if (term.kind == Term::Kind::ClassVar) set(variables_[term.variable], rank);
    set(terms_[id], rank);
  }
  Rank of(TermId id) const {
    const Term& term = rule_.terms[id];
    return term.kind == Term::Kind::ClassVar ? variables_[term.variable] : terms_[id];
  }
  void same(TermId a, TermId b) {
    set(a, of(b));
    set(b, of(a));
  }

  /// Reads rank(x) == 4, rank(x) == rank(y), shape(x) == shape(y), and conjunctions of these.
  void read(const ValueExpr& e) {
    using Kind = ValueExpr::Kind;
    if (e.kind == Kind::And)
      for (ExprIndex operand : e.operands) read(rule_.exprs[operand]);
    if (e.kind == Kind::SameType) join(e.variable, e.variable2);
    if (e.kind != Kind::Eq) return;
    const ValueExpr &a = rule_.exprs[e.operands[0]], &b = rule_.exprs[e.operands[1]];
    if (a.kind == b.kind && (a.kind == Kind::Rank || a.kind == Kind::ShapeOf))
      join(a.variable, b.variable);
    for (auto [x, n] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      if (n->kind != Kind::Literal || !n->literal.is(tg::Value::Kind::Int) || n->literal.number < 0)
        continue;
      Rank rank = static_cast<size_t>(n->literal.number);
      if (x->kind == Kind::Rank) set(variables_[x->variable], rank);
      if (x->kind != Kind::Len) continue;
      if (const ValueExpr& list = rule_.exprs[x->operands[0]]; list.kind == Kind::Variable)
        set(lengths_[list.variable], rank);
    }
  }
  void join(uint32_t a, uint32_t b) {
    set(variables_[a], variables_[b]);
    set(variables_[b], variables_[a]);
  }

  void visit(TermId id) {
    const Term& term = rule_.terms[id];
    if (term.kind != Term::Kind::Op) return;
    switch (op_info(term.op).shape) {
    case ShapeRule::conv2d:
      for (TermId of : {id, term.operands[0], term.operands[1]}) set(of, 4);
      break;
    case ShapeRule::pool2d:
    case ShapeRule::enlarge:
      for (TermId of : {id, term.operands[0]}) set(of, 4);
      break;
    case ShapeRule::batch_norm:
      same(id, term.operands[0]);
      for (TermId of : llvm::makeArrayRef(term.operands).drop_front()) set(of, 1);
      break;
    case ShapeRule::same:
    case ShapeRule::clip:
    case ShapeRule::softmax:
    case ShapeRule::slice:
    case ShapeRule::pad: same(id, term.operands[0]); break;
    case ShapeRule::concat:
      for (TermId operand : term.operands) same(id, operand);
      break;
    case ShapeRule::transpose:
      if (term.attrs[0].kind == TermAttr::Kind::Literal) set(id, term.attrs[0].literal.ints.size());
      same(id, term.operands[0]);
      break;
    case ShapeRule::reshape:
    case ShapeRule::broadcast_to:
      if (term.attrs[0].kind == TermAttr::Kind::Literal) set(id, term.attrs[0].literal.ints.size());
      if (term.attrs[0].kind == TermAttr::Kind::Computed)
        if (const ValueExpr& e = rule_.exprs[term.attrs[0].expr]; e.kind == ValueExpr::Kind::List)
          set(id, e.operands.size());
      break;
    default: break;
    }
  }

  // --- plain terms -----------------------------------------------------------------------------

  /// Returns the terms of the roots, operands after their users.
  std::vector<TermId> below(llvm::ArrayRef<TermId> roots) const {
    std::vector<TermId> all(roots.begin(), roots.end());
    for (size_t at = 0; at < all.size(); ++at)
      for (TermId operand : rule_.terms[all[at]].operands)
        if (!llvm::is_contained(all, operand)) all.push_back(operand);
    return all;
  }

  /// Iterates to a fixed point.
  void find_plain() {
    plain_.assign(rule_.terms.size(), false);
    for (bool grew = true; grew;) {
      grew = false;
      for (TermId id = 0; id < rule_.terms.size(); ++id)
        if (!plain_[id] && follows(id)) grew = plain_[id] = true;
    }
    for (TermId id = 0; id < rule_.terms.size(); ++id)
      if (rule_.terms[id].kind != Term::Kind::Op) plain_[id] = false;
  }

  bool follows(TermId id) const {
    const Term& term = rule_.terms[id];
    if (term.kind == Term::Kind::ClassVar)
      return variables_[term.variable].has_value() && !absent_[term.variable];
    if (term.kind != Term::Kind::Op) return false;
    auto plain = [&](TermId operand) { return plain_[operand]; };
    switch (op_info(term.op).shape) {
    case ShapeRule::none: return true;
    case ShapeRule::conv2d: // bias and residual follow from the result
      return plain(term.operands[0]) && plain(term.operands[1]);
    case ShapeRule::pool2d:
    case ShapeRule::enlarge:
    case ShapeRule::batch_norm: return plain(term.operands[0]);
    case ShapeRule::same:
    case ShapeRule::clip:
    case ShapeRule::slice:
    case ShapeRule::pad:
    case ShapeRule::concat:
    case ShapeRule::transpose: return llvm::all_of(term.operands, plain);
    default: return false;
    }
  }

  std::vector<uint32_t> values_under(TermId root) const {
    std::vector<uint32_t> values;
    std::vector<ExprIndex> exprs;
    for (TermId id : below({root}))
      for (const TermAttr& attr : rule_.terms[id].attrs) {
        if (attr.kind == TermAttr::Kind::Variable) values.push_back(attr.variable);
        if (attr.kind == TermAttr::Kind::Computed) exprs.push_back(attr.expr);
      }
    while (!exprs.empty()) {
      const ValueExpr& e = rule_.exprs[exprs.back()];
      exprs.pop_back();
      if (e.kind == ValueExpr::Kind::Variable) values.push_back(e.variable);
      exprs.insert(exprs.end(), e.operands.begin(), e.operands.end());
    }
    return values;
  }

  const Rule& rule_;
  std::vector<Rank> variables_, terms_, lengths_;
  std::vector<bool> absent_, plain_;
  bool changed_ = false;
};

} // namespace

Ranks known_ranks(const Rule& rule) { return Finder(rule).run(); }

} // namespace tg::proof
