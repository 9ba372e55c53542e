// Makes wrong rules out of right ones. Each function changes one thing on the right side (operands,
// their order, operators, attributes, computed attributes), removes a condition,
// or frees a literal of the left side. A mutant may still be true (for example,
// without a condition that only concerns profit). The tests that use mutants list those.
#pragma once

#include "compiler/rules/instances/kinds.h"
#include "compiler/rules/rule.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tg::test {

struct Mutant {
  Rule rule;
  std::string what; // "operands of term 5 swapped"
  /// The change is in an attribute of a result that its type determines, such as the shape of a
  /// reshape. The engine applies the mutant only where both sides have one type, so that it is
  /// true.
  bool decided_by_type = false;
};

class Mutator {
public:
  explicit Mutator(const Rule& rule) : rule_(rule), on_right_(rule.terms.size()) {
    std::vector<bool> on_left(rule.terms.size());
    mark(rule.lhs, on_left);
    mark(rule.rhs, on_right_);
    for (size_t i = 0; i < on_left.size(); ++i)
      if (on_left[i]) on_right_[i] = false; // shared terms are not changed
  }

  /// Returns the mutants in a fixed order: by kind of change, then by place.
  std::vector<Mutant> all() {
    for (TermId id = 0; id < rule_.terms.size(); ++id) {
      if (!on_right_[id] || rule_.terms[id].kind != Term::Kind::Op) continue;
      swap_operands(id);
      change_attributes(id);
      change_computed(id);
      change_operator(id);
      drop_operator(id);
    }
    misplace();
    misplace_values();
    free_literals();
    drop_conditions();
    if (rule_.rhs.size() == 2 && rule_.rhs[0] != rule_.rhs[1]) {
      Rule& mutant = add("results swapped");
      std::swap(mutant.rhs[0], mutant.rhs[1]);
    }
    return std::move(mutants_);
  }

private:
  void mark(llvm::ArrayRef<TermId> roots, std::vector<bool>& marks) const {
    std::vector<TermId> open(roots.begin(), roots.end());
    while (!open.empty()) {
      TermId id = open.back();
      open.pop_back();
      marks[id] = true;
      open.insert(open.end(), rule_.terms[id].operands.begin(), rule_.terms[id].operands.end());
    }
  }

  Rule& add(std::string what) {
    mutants_.push_back({rule_, std::move(what)});
    return mutants_.back().rule;
  }
  std::string at(TermId id) const {
    std::string_view name = op_info(rule_.terms[id].op).name;
    return std::string(name) + " " + std::to_string(id);
  }

  /// Returns true if the type of a result determines the attribute.
  bool decided_by_type(TermId id, size_t slot) const {
    const Term& term = rule_.terms[id];
    bool shapes = term.op == OpKind::Reshape || term.op == OpKind::Broadcast;
    bool sizes = term.op == OpKind::Resize && op_info(term.op).attrs()[slot].name == "sizes";
    return (shapes || sizes) && std::count(rule_.rhs.begin(), rule_.rhs.end(), id) > 0;
  }

  /// Swaps each operand with the next.
  void swap_operands(TermId id) {
    const Term& term = rule_.terms[id];
    for (size_t i = 0; i + 1 < term.operands.size(); ++i) {
      bool commute = term.operands.size() == 2 && op_info(term.op).has(Trait::Commutes);
      if (commute || same(term.operands[i], term.operands[i + 1])) continue;
      Rule& mutant = add("operands swapped: " + at(id) + (i ? ", at " + std::to_string(i) : ""));
      std::swap(mutant.terms[id].operands[i], mutant.terms[id].operands[i + 1]);
    }
  }

  bool same(TermId a, TermId b) const {
    auto absent = [&](TermId id) {
      return rule_.terms[id].kind == Term::Kind::Op && rule_.terms[id].op == OpKind::None;
    };
    return a == b || (absent(a) && absent(b));
  }

  void change_attributes(TermId id) {
    const Term& term = rule_.terms[id];
    for (size_t slot = 0; slot < term.attrs.size(); ++slot) {
      const AttrInfo& info = op_info(term.op).attrs()[slot];
      std::string name = at(id) + " " + std::string(info.name);
      switch (term.attrs[slot].kind) {
      case TermAttr::Kind::Variable:
        if (!info.required) set(id, slot, default_value(info), "attribute ignored: " + name);
        break;
      case TermAttr::Kind::Literal: change_literal(id, slot, name); break;
      case TermAttr::Kind::Computed: add_one(id, slot, "off by one: " + name); break;
      }
    }
  }

  void set(TermId id, size_t slot, Value value, std::string what) {
    TermAttr& attr = add(std::move(what)).terms[id].attrs[slot];
    attr.kind = TermAttr::Kind::Literal;
    attr.literal = std::move(value);
  }

  void change_literal(TermId id, size_t slot, const std::string& name) {
    Value value = rule_.terms[id].attrs[slot].literal;
    switch (value.kind) {
    case Value::Kind::Int: value.number += value.number > 0 ? -1 : 1; break;
    case Value::Kind::Float: value.real += 1; break;
    case Value::Kind::Bool: value.number = !value.number; break;
    case Value::Kind::Ints:
      if (value.ints.size() < 2 || value.ints.front() == value.ints.back())
        for (int64_t& n : value.ints) ++n;
      else
        std::swap(value.ints.front(), value.ints.back());
      break;
    case Value::Kind::Floats:
      if (value.reals.empty()) return;
      value.reals[0] += 1;
      break;
    case Value::Kind::Enum:
      value.text = value.text == "none" ? "tanh" : value.text == "same" ? "valid" : "none";
      if (op_info(rule_.terms[id].op).attrs()[slot].kind == AttrKind::pad && value.text == "none")
        value.text = "same";
      break;
    default: return;
    }
    set(id, slot, std::move(value), "literal changed: " + name);
  }

  /// Adds one to the first number of a computed list, or to a computed number.
  void add_one(TermId id, size_t slot, std::string what) {
    Rule& mutant = add(std::move(what));
    ValueExpr one, sum;
    one.literal = Value::of_int(1);
    sum.kind = ValueExpr::Kind::Add;
    ExprIndex root = mutant.terms[id].attrs[slot].expr;
    ValueExpr list = mutant.exprs[root];
    bool of_list = list.kind == ValueExpr::Kind::List || list.kind == ValueExpr::Kind::Floats;
    if (of_list && list.operands.empty()) return mutants_.pop_back();
    ExprIndex plain = of_list ? list.operands[0] : root;
    sum.operands = {plain, push(mutant, one)};
    ExprIndex more = push(mutant, sum);
    if (of_list) {
      list.operands[0] = more;
      more = push(mutant, list);
    }
    mutant.terms[id].attrs[slot].expr = more;
    mutants_.back().decided_by_type = decided_by_type(id, slot);
  }

  // --- computed values ---------------------------------------------------------------------------

  static ExprIndex push(Rule& rule, ValueExpr e) {
    rule.exprs.push_back(std::move(e));
    return static_cast<ExprIndex>(rule.exprs.size() - 1);
  }

  /// Returns a copy of `root` with `at` replaced by `with`. Expressions refer only to earlier ones.
  static ExprIndex replaced(Rule& rule, ExprIndex root, ExprIndex at, ExprIndex with) {
    if (root == at) return with;
    ValueExpr copy = rule.exprs[root];
    bool changed = false;
    for (ExprIndex& operand : copy.operands) {
      ExprIndex other = replaced(rule, operand, at, with);
      changed |= other != operand;
      operand = other;
    }
    return changed ? push(rule, std::move(copy)) : root;
  }

  void each_expr(ExprIndex root, std::vector<ExprIndex>& found) const {
    found.push_back(root);
    for (ExprIndex operand : rule_.exprs[root].operands) each_expr(operand, found);
  }

  /// Changes axes and positions, swaps operands of differences and quotients,
  /// replaces a product by a sum, and a minimum by a maximum.
  void change_computed(TermId id) {
    const Term& term = rule_.terms[id];
    for (size_t slot = 0; slot < term.attrs.size(); ++slot) {
      if (term.attrs[slot].kind != TermAttr::Kind::Computed) continue;
      std::vector<ExprIndex> inside;
      each_expr(term.attrs[slot].expr, inside);
      std::string name = at(id) + " " + std::string(op_info(term.op).attrs()[slot].name);
      for (ExprIndex e : inside) change_expr(id, slot, e, name);
    }
  }

  void change_expr(TermId id, size_t slot, ExprIndex e, const std::string& name) {
    using Kind = ValueExpr::Kind;
    ValueExpr changed = rule_.exprs[e];
    std::string what;
    switch (changed.kind) {
    case Kind::Dim:
    case Kind::Index: what = "other place"; break;
    case Kind::Sub:
    case Kind::Div:
    case Kind::FloorDiv:
      std::swap(changed.operands[0], changed.operands[1]);
      what = "operands swapped";
      break;
    case Kind::Add: changed.kind = Kind::Sub, what = "difference for sum"; break;
    case Kind::Mul: changed.kind = Kind::Add, what = "sum for product"; break;
    case Kind::Min: changed.kind = Kind::Max, what = "larger for smaller"; break;
    case Kind::Max: changed.kind = Kind::Min, what = "smaller for larger"; break;
    case Kind::List:
      if (changed.operands.size() < 2 || changed.operands.front() == changed.operands.back())
        return;
      std::swap(changed.operands.front(), changed.operands.back());
      what = "entries swapped";
      break;
    default: return;
    }
    Rule& mutant = add(what + " in expression " + std::to_string(e) + ": " + name);
    if (what == "other place") {
      ExprIndex& place = changed.operands.back();
      ValueExpr other = mutant.exprs[place];
      if (other.kind != Kind::Literal) return mutants_.pop_back();
      other.literal.number += other.literal.number > 0 ? -1 : 1;
      place = push(mutant, other);
    }
    ExprIndex with = push(mutant, changed);
    ExprIndex& root = mutant.terms[id].attrs[slot].expr;
    root = replaced(mutant, root, e, with);
    mutants_.back().decided_by_type = decided_by_type(id, slot);
  }

  /// Gives an attribute the value of another one of its kind.
  void misplace_values() {
    std::vector<std::optional<AttrKind>> kinds = attribute_kinds(rule_);
    for (TermId id = 0; id < rule_.terms.size(); ++id) {
      if (!on_right_[id]) continue;
      const Term& term = rule_.terms[id];
      for (size_t slot = 0; slot < term.attrs.size(); ++slot) {
        if (term.attrs[slot].kind != TermAttr::Kind::Variable) continue;
        uint32_t v = term.attrs[slot].variable;
        for (uint32_t w = (v + 1) % rule_.value_vars; w != v; w = (w + 1) % rule_.value_vars)
          if (kinds[w] && kinds[w] == kinds[v]) {
            add("value misplaced: " + at(id) + " " +
                std::string(op_info(term.op).attrs()[slot].name))
                .terms[id]
                .attrs[slot]
                .variable = w;
            mutants_.back().decided_by_type = decided_by_type(id, slot);
            break;
          }
      }
    }
  }

  /// Frees a literal attribute of the left side (omits `dilation = 1`). If the right side has the
  /// same literal in the same slot, one mutant binds it, too (`..`), and one does not.
  void free_literals() {
    for (TermId id = 0; id < rule_.terms.size(); ++id) {
      const Term& term = rule_.terms[id];
      if (on_right_[id] || term.kind != Term::Kind::Op || op_info(term.op).has(Trait::Leaf))
        continue;
      for (size_t slot = 0; slot < term.attrs.size(); ++slot) {
        const TermAttr& attr = term.attrs[slot];
        const AttrInfo& info = op_info(term.op).attrs()[slot];
        if (attr.kind != TermAttr::Kind::Literal || info.kind == AttrKind::string) continue;
        std::string name = at(id) + " " + std::string(info.name);
        if (free_literal(id, slot, false, "literal free: " + name) > 0)
          free_literal(id, slot, true, "literal free on both sides: " + name);
      }
    }
  }

  /// Returns the number of terms on the right side with the same literal.
  size_t free_literal(TermId id, size_t slot, bool both, std::string what) {
    Rule& mutant = add(std::move(what));
    TermAttr free;
    free.kind = TermAttr::Kind::Variable;
    free.variable = mutant.value_vars++;
    mutant.value_var_names.push_back("free");
    const Value literal = mutant.terms[id].attrs[slot].literal;
    mutant.terms[id].attrs[slot] = free;
    size_t same = 0;
    for (TermId other = 0; other < mutant.terms.size(); ++other) {
      Term& term = mutant.terms[other];
      if (other == id || term.kind != Term::Kind::Op || term.op != mutant.terms[id].op) continue;
      TermAttr& attr = term.attrs[slot];
      if (attr.kind != TermAttr::Kind::Literal || !(attr.literal == literal)) continue;
      ++same;
      if (both) attr = free;
    }
    return same;
  }

  void change_operator(TermId id) {
    OpKind op = rule_.terms[id].op;
    auto to = [&](OpKind other) { add("operator changed: " + at(id)).terms[id].op = other; };
    switch (op) {
    case OpKind::Add: return to(OpKind::Sub);
    case OpKind::Sub: return to(OpKind::Add);
    case OpKind::Mul: return to(OpKind::Div);
    case OpKind::Div: return to(OpKind::Mul);
    case OpKind::Relu: return to(OpKind::Tanh);
    case OpKind::Tanh: return to(OpKind::Sigmoid);
    case OpKind::Sigmoid: return to(OpKind::Tanh);
    case OpKind::Gelu: return to(OpKind::Relu);
    case OpKind::ReduceSum: return to(OpKind::ReduceMean);
    case OpKind::ReduceMean: return to(OpKind::ReduceSum);
    case OpKind::Maximum: return to(OpKind::Minimum);
    case OpKind::Relu6: return to(OpKind::Relu);
    case OpKind::Neg: return to(OpKind::Abs);
    case OpKind::Exp: return to(OpKind::Sin);
    case OpKind::Sqrt: return to(OpKind::Abs);
    default: return;
    }
  }

  /// Replaces op(x) by x.
  void drop_operator(TermId id) {
    const Term& term = rule_.terms[id];
    if (term.operands.size() != 1) return;
    Rule& mutant = add("operator dropped: " + at(id));
    for (Term& user : mutant.terms)
      for (TermId& operand : user.operands)
        if (operand == id) operand = term.operands[0];
    for (TermId& root : mutant.rhs)
      if (root == id) root = term.operands[0];
  }

  /// Replaces an operand by another variable.
  void misplace() {
    std::vector<TermId> variables;
    for (TermId id = 0; id < rule_.terms.size(); ++id)
      if (rule_.terms[id].kind == Term::Kind::ClassVar) variables.push_back(id);
    if (variables.size() < 2) return;
    for (TermId id = 0; id < rule_.terms.size(); ++id) {
      if (!on_right_[id]) continue;
      for (size_t i = 0; i < rule_.terms[id].operands.size(); ++i) {
        auto found = std::find(variables.begin(), variables.end(), rule_.terms[id].operands[i]);
        if (found == variables.end()) continue;
        TermId other = *(found + 1 == variables.end() ? variables.begin() : found + 1);
        if (rule_.terms[other].variable == rule_.terms[*found].variable || other > id) continue;
        add("variable misplaced: " + at(id)).terms[id].operands[i] = other;
      }
    }
  }

  /// Drops each condition, except those that only concern profit.
  void drop_conditions() {
    for (size_t i = 0; i < rule_.conditions.size(); ++i) {
      if (about_profit(rule_.conditions[i])) continue;
      Rule& mutant = add("condition " + std::to_string(i) + " dropped");
      mutant.conditions.erase(mutant.conditions.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  bool about_profit(ExprIndex at) const {
    const ValueExpr& e = rule_.exprs[at];
    if (e.kind == ValueExpr::Kind::IsWeight || e.kind == ValueExpr::Kind::IsConstant) return true;
    bool logic = e.kind == ValueExpr::Kind::Not || e.kind == ValueExpr::Kind::Or ||
                 e.kind == ValueExpr::Kind::And;
    return logic && about_profit(e.operands[0]);
  }

  const Rule& rule_;
  std::vector<bool> on_right_;
  std::vector<Mutant> mutants_;
};

} // namespace tg::test
