// Wrong rules made out of right ones: each function changes one thing on the right side, or leaves
// a condition out. What comes out may be true by chance (a condition that is there for profit
// alone); the test that uses this lists those.
#pragma once

#include "compiler/egraph/rule.h"

#include <string>
#include <vector>

namespace tg::test {

struct Mutant {
  Rule rule;
  std::string what; // "operands of term 5 swapped"
};

class Mutator {
public:
  explicit Mutator(const Rule& rule) : rule_(rule), on_right_(rule.terms.size()) {
    std::vector<bool> on_left(rule.terms.size());
    mark(rule.lhs, on_left);
    mark(rule.rhs, on_right_);
    for (size_t i = 0; i < on_left.size(); ++i)
      if (on_left[i]) on_right_[i] = false; // shared terms stay as they are
  }

  /// In a fixed order: by kind of change, then by place.
  std::vector<Mutant> all() {
    for (TermId id = 0; id < rule_.terms.size(); ++id) {
      if (!on_right_[id] || rule_.terms[id].kind != Term::Kind::Op) continue;
      swap_operands(id);
      change_attributes(id);
      change_operator(id);
      drop_operator(id);
    }
    misplace();
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

  void swap_operands(TermId id) {
    const Term& term = rule_.terms[id];
    if (term.operands.size() < 2 || op_info(term.op).has(Trait::Commutes) ||
        term.operands[0] == term.operands[1])
      return;
    Rule& mutant = add("operands swapped: " + at(id));
    std::swap(mutant.terms[id].operands[0], mutant.terms[id].operands[1]);
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

  /// The first number of a computed list, or a computed number, plus one.
  void add_one(TermId id, size_t slot, std::string what) {
    Rule& mutant = add(std::move(what));
    ValueExpr one, sum;
    one.literal = Value::of_int(1);
    sum.kind = ValueExpr::Kind::Add;
    auto push = [&](ValueExpr e) {
      mutant.exprs.push_back(std::move(e));
      return static_cast<ExprIndex>(mutant.exprs.size() - 1);
    };
    ExprIndex root = mutant.terms[id].attrs[slot].expr;
    ValueExpr list = mutant.exprs[root];
    bool of_list = list.kind == ValueExpr::Kind::List || list.kind == ValueExpr::Kind::Floats;
    if (of_list && list.operands.empty()) return mutants_.pop_back();
    ExprIndex plain = of_list ? list.operands[0] : root;
    sum.operands = {plain, push(one)};
    ExprIndex more = push(sum);
    if (of_list) {
      list.operands[0] = more;
      more = push(list);
    }
    mutant.terms[id].attrs[slot].expr = more;
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
    default: return;
    }
  }

  /// op(x) becomes x.
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

  /// Another variable stands in an operand's place.
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

  /// But for those that only say what is worth the work.
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
