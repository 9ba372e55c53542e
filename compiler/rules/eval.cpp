#include "compiler/rules/eval.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <memory>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;
using Ints = llvm::SmallVector<int64_t, 6>;

/// A value on the way: numbers and lists of ints by value, what is only passed on by reference.
struct Item {
  Value::Kind kind = Value::Kind::Int;
  int64_t number = 0;         // Int, Bool
  double real = 0;            // Float
  Ints ints;                  // Ints
  const Value* ref = nullptr; // other kinds; lives in the symbols or in the rule
  std::unique_ptr<Value> own; // a new value of another kind (then `ref` is null)

  bool is_number() const { return kind == Value::Kind::Int || kind == Value::Kind::Float; }
  double as_real() const { return kind == Value::Kind::Float ? real : static_cast<double>(number); }
  const Value& other() const { return ref ? *ref : *own; }
};
using MaybeItem = std::optional<Item>;

Item of_int(int64_t n) {
  Item item;
  item.number = n;
  return item;
}
Item of_bool(bool b) {
  Item item;
  item.kind = Value::Kind::Bool;
  item.number = b;
  return item;
}
Item of_float(double x) {
  Item item;
  item.kind = Value::Kind::Float;
  item.real = x;
  return item;
}
Item of_ints(llvm::ArrayRef<int64_t> ints) {
  Item item;
  item.kind = Value::Kind::Ints;
  item.ints.assign(ints.begin(), ints.end());
  return item;
}
Item of_value(const Value& v) {
  switch (v.kind) {
  case Value::Kind::Int: return of_int(v.number);
  case Value::Kind::Bool: return of_bool(v.number != 0);
  case Value::Kind::Float: return of_float(v.real);
  case Value::Kind::Ints: return of_ints(v.ints);
  default: break;
  }
  Item item;
  item.kind = v.kind;
  item.ref = &v;
  return item;
}
Item made(Value v) {
  Item item;
  item.kind = v.kind;
  item.own = std::make_unique<Value>(std::move(v));
  return item;
}

Value to_value(const Item& item) {
  switch (item.kind) {
  case Value::Kind::Int: return Value::of_int(item.number);
  case Value::Kind::Bool: return Value::of_bool(item.number != 0);
  case Value::Kind::Float: return Value::of_float(item.real);
  case Value::Kind::Ints: return Value::of_ints(item.ints);
  default: return item.other();
  }
}

bool same(const Item& a, const Item& b) {
  if (a.is_number() && b.is_number() && a.kind != b.kind) return a.as_real() == b.as_real();
  if (a.kind != b.kind) return false;
  switch (a.kind) {
  case Value::Kind::Int:
  case Value::Kind::Bool: return a.number == b.number;
  case Value::Kind::Float: return a.real == b.real;
  case Value::Kind::Ints: return a.ints == b.ints;
  default: return a.other() == b.other();
  }
}

/// Python's // and %, towards minus infinity. nullopt on division by zero and on overflow.
std::optional<int64_t> floor_div(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) return std::nullopt;
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

MaybeItem int_arithmetic(Kind kind, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (kind) {
  case Kind::Add:
    if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
    return of_int(r);
  case Kind::Sub:
    if (__builtin_sub_overflow(a, b, &r)) return std::nullopt;
    return of_int(r);
  case Kind::Mul:
    if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
    return of_int(r);
  case Kind::Min: return of_int(std::min(a, b));
  case Kind::Max: return of_int(std::max(a, b));
  case Kind::Div:
  case Kind::FloorDiv:
  case Kind::Mod: {
    std::optional<int64_t> q = floor_div(a, b);
    if (!q) return std::nullopt;
    int64_t rest = a - *q * b;
    if (kind == Kind::Mod) return of_int(rest);
    if (kind == Kind::Div && rest != 0) return std::nullopt;
    return of_int(*q);
  }
  default: return std::nullopt;
  }
}

MaybeItem real_arithmetic(Kind kind, double a, double b) {
  switch (kind) {
  case Kind::Add: return of_float(a + b);
  case Kind::Sub: return of_float(a - b);
  case Kind::Mul: return of_float(a * b);
  case Kind::Div: return b == 0 ? MaybeItem() : of_float(a / b);
  case Kind::Min: return of_float(std::min(a, b));
  case Kind::Max: return of_float(std::max(a, b));
  default: return std::nullopt;
  }
}

MaybeItem compare(Kind kind, const Item& a, const Item& b) {
  if (kind == Kind::Eq) return of_bool(same(a, b));
  if (kind == Kind::Ne) return of_bool(!same(a, b));
  if (!a.is_number() || !b.is_number()) return std::nullopt;
  bool exact = a.kind == Value::Kind::Int && b.kind == Value::Kind::Int;
  bool less = exact ? a.number < b.number : a.as_real() < b.as_real();
  bool more = exact ? a.number > b.number : a.as_real() > b.as_real();
  switch (kind) {
  case Kind::Lt: return of_bool(less);
  case Kind::Le: return of_bool(!more);
  case Kind::Gt: return of_bool(more);
  case Kind::Ge: return of_bool(!less);
  default: return std::nullopt;
  }
}

MaybeItem index(llvm::ArrayRef<int64_t> list, int64_t at) {
  int64_t size = static_cast<int64_t>(list.size());
  if (at < -size || at >= size) return std::nullopt;
  return of_int(list[at < 0 ? at + size : at]);
}

MaybeItem permute(const Ints& outer, const Ints& inner) {
  Ints result;
  for (int64_t axis : outer) {
    if (axis < 0 || axis >= static_cast<int64_t>(inner.size())) return std::nullopt;
    result.push_back(inner[axis]);
  }
  return of_ints(result);
}

class Evaluator {
public:
  explicit Evaluator(const RuleMatch& match) : m_(match) {}

  MaybeItem run(ExprIndex at) const {
    const ValueExpr& e = m_.rule.exprs[at];
    switch (e.kind) {
    case Kind::Literal: return of_value(e.literal);
    case Kind::Variable: return variable(e.variable);
    case Kind::Rank:
    case Kind::Dim:
    case Kind::ShapeOf:
    case Kind::IsWeight:
    case Kind::IsNone:
    case Kind::IsConstant:
    case Kind::IsFloat:
    case Kind::SameType:
    case Kind::TypeLike: return about_class(e);
    case Kind::And:
    case Kind::Or: return logic(e);
    case Kind::List:
    case Kind::Floats: return list(e);
    case Kind::Neg:
    case Kind::Not:
    case Kind::Len:
    case Kind::Sqrt: return unary(e);
    default: return binary(e);
    }
  }

  bool truth(ExprIndex at) const {
    MaybeItem item = run(at);
    return item && item->kind == Value::Kind::Bool && item->number != 0;
  }

private:
  MaybeItem variable(uint32_t number) const {
    ValueId id = m_.values[number];
    if (id == ValueId{}) return std::nullopt;
    return of_value(m_.symbols.value(id));
  }

  const TensorType& type(uint32_t variable) const {
    return m_.symbols.type(m_.classes.type(variable));
  }

  MaybeItem about_class(const ValueExpr& e) const {
    switch (e.kind) {
    case Kind::IsWeight: return of_bool(m_.classes.weight_only(e.variable));
    case Kind::IsConstant: return of_bool(m_.classes.constant(e.variable));
    default: break;
    }
    if (m_.classes.type(e.variable) == TypeId{}) return std::nullopt;
    switch (e.kind) {
    case Kind::IsNone: return of_bool(type(e.variable).is_none());
    case Kind::SameType:
      return of_bool(m_.classes.type(e.variable) == m_.classes.type(e.variable2));
    default: break;
    }
    const TensorType& t = type(e.variable);
    if (t.is_none()) return std::nullopt; // the absent operand has no shape
    if (e.kind == Kind::IsFloat) return of_bool(is_float(t.dtype));
    if (e.kind == Kind::Rank) return of_int(t.rank());
    if (e.kind == Kind::ShapeOf) return of_ints(t.shape);
    MaybeItem operand = run(e.operands[0]);
    if (!operand) return std::nullopt;
    if (e.kind == Kind::Dim)
      return operand->kind == Value::Kind::Int ? index(t.shape, operand->number) : MaybeItem();
    assert(e.kind == Kind::TypeLike);
    if (operand->kind != Value::Kind::Ints) return std::nullopt;
    return made(Value::of_type({t.dtype, Shape(operand->ints.begin(), operand->ints.end())}));
  }

  /// The second operand is asked only where the first does not decide.
  MaybeItem logic(const ValueExpr& e) const {
    MaybeItem a = run(e.operands[0]);
    if (!a || a->kind != Value::Kind::Bool) return std::nullopt;
    if ((a->number != 0) == (e.kind == Kind::Or)) return a;
    MaybeItem b = run(e.operands[1]);
    if (!b || b->kind != Value::Kind::Bool) return std::nullopt;
    return b;
  }

  MaybeItem list(const ValueExpr& e) const {
    Ints ints;
    std::vector<double> reals;
    for (ExprIndex operand : e.operands) {
      MaybeItem item = run(operand);
      if (!item || !item->is_number()) return std::nullopt;
      if (e.kind == Kind::Floats)
        reals.push_back(item->as_real());
      else if (item->kind == Value::Kind::Int)
        ints.push_back(item->number);
      else
        return std::nullopt;
    }
    return e.kind == Kind::Floats ? made(Value::of_floats(std::move(reals))) : of_ints(ints);
  }

  MaybeItem unary(const ValueExpr& e) const {
    MaybeItem a = run(e.operands[0]);
    if (!a) return std::nullopt;
    switch (e.kind) {
    case Kind::Not: return a->kind == Value::Kind::Bool ? of_bool(a->number == 0) : MaybeItem();
    case Kind::Len:
      return a->kind == Value::Kind::Ints ? of_int(static_cast<int64_t>(a->ints.size()))
                                          : MaybeItem();
    case Kind::Sqrt:
      return a->is_number() && a->as_real() >= 0 ? of_float(std::sqrt(a->as_real())) : MaybeItem();
    default: break;
    }
    if (a->kind == Value::Kind::Float) return of_float(-a->real);
    return a->kind == Value::Kind::Int ? int_arithmetic(Kind::Sub, 0, a->number) : MaybeItem();
  }

  MaybeItem binary(const ValueExpr& e) const {
    MaybeItem a = run(e.operands[0]), b = run(e.operands[1]);
    if (!a || !b) return std::nullopt;
    if (e.kind >= Kind::Eq && e.kind <= Kind::Ge) return compare(e.kind, *a, *b);
    if (e.kind == Kind::Index)
      return a->kind == Value::Kind::Ints && b->kind == Value::Kind::Int ? index(a->ints, b->number)
                                                                         : MaybeItem();
    if (e.kind == Kind::Permute)
      return a->kind == Value::Kind::Ints && b->kind == Value::Kind::Ints
                 ? permute(a->ints, b->ints)
                 : MaybeItem();
    if (e.kind == Kind::Add && a->kind == Value::Kind::Ints && b->kind == Value::Kind::Ints) {
      a->ints.append(b->ints.begin(), b->ints.end());
      return a;
    }
    if (!a->is_number() || !b->is_number()) return std::nullopt;
    if (a->kind == Value::Kind::Int && b->kind == Value::Kind::Int)
      return int_arithmetic(e.kind, a->number, b->number);
    return real_arithmetic(e.kind, a->as_real(), b->as_real());
  }

  const RuleMatch& m_;
};

} // namespace

std::optional<ValueId> evaluate(const RuleMatch& match, ExprIndex expr) {
  MaybeItem item = Evaluator(match).run(expr);
  if (!item) return std::nullopt;
  return match.symbols.value(to_value(*item));
}

bool holds(const RuleMatch& match, ExprIndex expr) { return Evaluator(match).truth(expr); }

bool conditions_hold(const RuleMatch& match) {
  Evaluator evaluator(match);
  for (ExprIndex condition : match.rule.conditions)
    if (!evaluator.truth(condition)) return false;
  return true;
}

std::optional<ValueId> attribute(const RuleMatch& match, const TermAttr& attr) {
  switch (attr.kind) {
  case TermAttr::Kind::Variable: return match.values[attr.variable];
  case TermAttr::Kind::Literal: return match.symbols.value(attr.literal);
  case TermAttr::Kind::Computed: return evaluate(match, attr.expr);
  }
  return std::nullopt;
}

} // namespace tg
