#include "compiler/rules/text.h"

#include <llvm/ADT/StringExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

/// The form of an expression of several operands.
struct Form {
  llvm::StringRef text;
  int strength; // 0: a function call; otherwise an infix sign with this precedence
};

Form form_of(const ValueExpr& e) {
  if (e.kind == Kind::Pow) return {"pow", 0};
  if (e.is_operation()) return {const_op_name(e.operation()), const_strength(e.operation())};
  switch (e.kind) {
  case Kind::Rank: return {"rank", 0};
  case Kind::Dim: return {"dim", 0};
  case Kind::ShapeOf: return {"shape", 0};
  case Kind::DTypeOf: return {"dtype", 0};
  case Kind::IsWeight: return {"weight", 0};
  case Kind::IsNone: return {"none", 0};
  case Kind::IsConstant: return {"constant", 0};
  case Kind::IsFloat: return {"float", 0};
  case Kind::SameType: return {"same_type", 0};
  case Kind::Permute: return {"compose", 0};
  default: return {"", 0};
  }
}

constexpr size_t kMaxPrinted = 10'000;

class Printer {
public:
  explicit Printer(const Rule& rule) : rule_(rule) {}

  std::string expr(ExprIndex at, int outer = 0) const {
    const ValueExpr& e = rule_.exprs[at];
    const int prefix = const_strength(ConstOp::Neg), no = const_strength(ConstOp::Not);
    switch (e.kind) {
    case Kind::Literal: return e.literal.text_form();
    case Kind::Variable: return rule_.value_var_names[e.variable];
    case Kind::Neg: return "-" + expr(e.operands[0], prefix);
    case Kind::Not: return parenthesised("not " + expr(e.operands[0], no), no, outer);
    case Kind::List: return "[" + list(e.operands) + "]";
    case Kind::Floats: return list(e.operands);
    case Kind::TypeLike: return expr(e.operands[0]);
    case Kind::Index: return expr(e.operands[0], prefix + 1) + "[" + expr(e.operands[1]) + "]";
    case Kind::Range: return "[" + expr(e.operands[0]) + ".." + expr(e.operands[1]) + "]";
    case Kind::Slice:
      return expr(e.operands[0], prefix + 1) + "[" + expr(e.operands[1]) + ":" +
             expr(e.operands[2]) + step(e) + "]";
    default: break;
    }
    Form form = form_of(e);
    if (form.strength == 0) return call(e, form.text);
    return parenthesised(expr(e.operands[0], form.strength) + " " + form.text.str() + " " +
                             expr(e.operands[1], form.strength + 1),
                         form.strength, outer);
  }

  std::string term(TermId id) const {
    const Term& t = rule_.terms[id];
    if (printed_++ > kMaxPrinted) return "...";
    if (t.kind == Term::Kind::AnyPointwise) return "f(xs...)";
    if (t.kind == Term::Kind::ClassVar) return rule_.class_var_names[t.variable];
    if (t.op == OpKind::None) return "none";
    if (t.op == OpKind::Constant) return constant(t);
    const OpInfo& info = op_info(t.op);
    if (t.op == OpKind::Extern) return t.attrs[0].literal.text + "(" + side(t.operands) + ")";
    std::string text = std::string(info.name) + "(";
    llvm::StringRef separator = info.variadic() ? "[" : "";
    for (size_t i = 0; i < t.operands.size(); ++i) {
      bool optional = !info.variadic() && info.operands()[i].optional;
      if (optional && rule_.terms[t.operands[i]].op == OpKind::None &&
          rule_.terms[t.operands[i]].kind == Term::Kind::Op)
        continue;
      text += separator;
      if (optional) text += std::string(info.operands()[i].name) + " = ";
      text += term(t.operands[i]);
      separator = ", ";
    }
    if (info.variadic()) text += "]";
    return text + attrs(t) + ")";
  }

  std::string side(llvm::ArrayRef<TermId> roots) const {
    std::string text;
    for (TermId root : roots) text += (text.empty() ? "" : ", ") + term(root);
    return text;
  }

private:
  static std::string parenthesised(const std::string& text, int strength, int outer) {
    return strength < outer ? "(" + text + ")" : text;
  }

  std::string step(const ValueExpr& slice) const {
    std::string by = expr(slice.operands[3]);
    return by == "1" ? "" : ":" + by;
  }

  std::string list(llvm::ArrayRef<ExprIndex> items) const {
    std::string text;
    for (ExprIndex item : items) text += (text.empty() ? "" : ", ") + expr(item);
    return text;
  }

  std::string call(const ValueExpr& e, llvm::StringRef name) const {
    std::string args;
    if (e.queries_class()) args = rule_.class_var_names[e.variable];
    if (e.kind == Kind::SameType) args += ", " + rule_.class_var_names[e.variable2];
    std::string rest = list(e.operands);
    if (!args.empty() && !rest.empty()) args += ", ";
    return name.str() + "(" + args + rest + ")";
  }

  std::string attr(const TermAttr& a) const {
    switch (a.kind) {
    case TermAttr::Kind::Literal: return a.literal.text_form();
    case TermAttr::Kind::Variable: return rule_.value_var_names[a.variable];
    case TermAttr::Kind::Computed: return expr(a.expr);
    }
    return {};
  }

  std::string attrs(const Term& t) const {
    const OpInfo& info = op_info(t.op);
    std::string text;
    for (size_t slot = 0; slot < t.attrs.size(); ++slot) {
      const AttrInfo& row = info.attrs()[slot];
      const TermAttr& a = t.attrs[slot];
      if (!row.required && a.kind == TermAttr::Kind::Literal && a.literal == default_value(row))
        continue;
      text += ", " + std::string(row.name) + " = " + attr(a);
    }
    return text;
  }

  /// Formats a scalar as its number, larger constants as `full(shape, number)`.
  std::string constant(const Term& t) const {
    const Value& literal = t.attrs[0].literal;
    bool one = t.attrs[0].kind == TermAttr::Kind::Literal &&
               literal.reals.size() + literal.ints.size() == 1;
    std::string number = !one                    ? attr(t.attrs[0])
                         : literal.reals.empty() ? std::to_string(literal.ints[0])
                                                 : Value::of_float(literal.reals[0]).text_form();
    if (t.attrs[1].kind != TermAttr::Kind::Computed) return number;
    std::string shape = attr(t.attrs[1]);
    return shape == "[]" ? number : "full(" + shape + ", " + number + ")";
  }

  const Rule& rule_;
  mutable size_t printed_ = 0; // number of terms; shared ones count at each use
};

} // namespace

std::string rule_side_text(const Rule& rule, bool left) {
  if (!left && rule.native == Native::FusePointwise) return "fuse(f, xs...)";
  return Printer(rule).side(left ? rule.lhs : rule.rhs);
}

std::string rule_text(const Rule& rule) {
  std::string text =
      rule.name + ": " + rule_side_text(rule, true) + " => " + rule_side_text(rule, false);
  llvm::StringRef separator = " where ";
  for (ExprIndex condition : rule.conditions) {
    if (number_like(rule, rule.exprs[condition])) continue; // true for every number
    text += separator.str() + expr_text(rule, condition);
    separator = ", ";
  }
  for (uint32_t variable : rule.finite) {
    text += separator.str() + "finite(" + rule.class_var_names[variable] + ")";
    separator = ", ";
  }
  return text;
}

std::string expr_text(const Rule& rule, ExprIndex expr) { return Printer(rule).expr(expr); }

llvm::StringRef numerics_name(Numerics numerics) {
  switch (numerics) {
  case Numerics::Exact: return "exact";
  case Numerics::Reassociates: return "reassociates";
  case Numerics::Risky: return "risky";
  case Numerics::Lossy: return "lossy";
  }
  return "";
}

llvm::StringRef rule_kind(const Rule& rule) {
  if (rule.native != Native::No) return "native";
  return rule.multi() ? "multi" : "rewrite";
}

std::string verify_command(const Rule& rule) {
  return "tg rules verify " + (rule.with_program ? rule.declared : rule.file);
}

} // namespace tg
