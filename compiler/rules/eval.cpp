#include "compiler/rules/eval.h"

#include "lang/core/support/round_number.h"

#include <llvm/ADT/STLExtras.h>

#include <cassert>
#include <utility>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;
using Ints = llvm::SmallVector<int64_t, 6>;
using Numbers = std::vector<ConstNumber>;

/// An intermediate value, made without allocation if possible.
struct Item {
  Value::Kind kind = Value::Kind::Int;
  DType dtype{};        // Type
  ConstNumber number;   // Int, Bool, Float
  Ints ints;            // Ints; Type: the shape
  Numbers numbers;      // Floats: a list with at least one float
  llvm::StringRef text; // Enum, String; owned by the symbols, by the rule, or static

  bool is(Value::Kind k) const { return kind == k; }
  bool is_scalar() const {
    return is(Value::Kind::Int) || is(Value::Kind::Bool) || is(Value::Kind::Float);
  }
  bool is_number() const { return is_scalar() && number.is_number(); }
  bool is_list() const { return is(Value::Kind::Ints) || is(Value::Kind::Floats); }
  int64_t length() const {
    return static_cast<int64_t>(is(Value::Kind::Ints) ? ints.size() : numbers.size());
  }
};
using MaybeItem = std::optional<Item>;

Item of(const ConstNumber& number) {
  Item item;
  item.kind = number.kind;
  item.number = number;
  return item;
}
Item of_int(int64_t n) { return of(ConstNumber::of_int(n)); }
Item of_bool(bool b) { return of(ConstNumber::of_bool(b)); }
Item of_ints(llvm::ArrayRef<int64_t> ints) {
  Item item;
  item.kind = Value::Kind::Ints;
  item.ints.assign(ints.begin(), ints.end());
  return item;
}
Item of_numbers(Numbers numbers) {
  Item item;
  item.kind = Value::Kind::Floats;
  item.numbers = std::move(numbers);
  return item;
}
Item of_type(DType dtype, llvm::ArrayRef<int64_t> shape) {
  Item item = of_ints(shape);
  item.kind = Value::Kind::Type;
  item.dtype = dtype;
  return item;
}
Item of_text(Value::Kind kind, llvm::StringRef text) {
  Item item;
  item.kind = kind;
  item.text = text;
  return item;
}
Item of_value(const Value& v) {
  switch (v.kind) {
  case Value::Kind::Int:
  case Value::Kind::Bool:
  case Value::Kind::Float: return of({v.kind, v.number, v.real});
  case Value::Kind::Ints: return of_ints(v.ints);
  case Value::Kind::Floats: {
    Numbers numbers;
    for (double x : v.reals) numbers.push_back(ConstNumber::of_float(x));
    return of_numbers(std::move(numbers));
  }
  case Value::Kind::Type: return of_type(v.as_type().dtype, v.ints);
  case Value::Kind::Enum:
  case Value::Kind::String: break;
  }
  return of_text(v.kind, v.text);
}

std::vector<double> reals_of(const Item& list) {
  std::vector<double> reals(list.ints.begin(), list.ints.end());
  for (const ConstNumber& n : list.numbers) reals.push_back(n.as_real());
  return reals;
}

/// Returns nullopt for lists of both integers and floats, which no slot can have.
std::optional<Value> to_value(const Item& item) {
  switch (item.kind) {
  case Value::Kind::Int:
  case Value::Kind::Bool:
  case Value::Kind::Float: return value_of(item.number);
  case Value::Kind::Ints: return Value::of_ints(item.ints);
  case Value::Kind::Floats:
    if (!llvm::all_of(item.numbers, [](auto& n) { return n.is(Value::Kind::Float); }))
      return std::nullopt;
    return Value::of_floats(reals_of(item));
  case Value::Kind::Type:
    return Value::of_type({item.dtype, Shape(item.ints.begin(), item.ints.end())});
  case Value::Kind::Enum: return Value::of_enum(item.text);
  case Value::Kind::String: return Value::of_string(item.text);
  }
  return std::nullopt;
}

ConstNumber number_at(const Item& list, size_t place) {
  return list.is(Value::Kind::Ints) ? ConstNumber::of_int(list.ints[place]) : list.numbers[place];
}

bool same_lists(const Item& a, const Item& b) {
  if (a.is(Value::Kind::Ints) && b.is(Value::Kind::Ints)) return a.ints == b.ints;
  return a.length() == b.length() &&
         equal_items(
             static_cast<size_t>(a.length()), [&](size_t i) { return number_at(a, i); },
             [&](size_t i) { return number_at(b, i); });
}

/// Compares two values that are not both numbers or bools.
bool same(const Item& a, const Item& b) {
  if (a.is_list() && b.is_list()) return same_lists(a, b);
  return a.kind == b.kind && a.dtype == b.dtype && a.ints == b.ints && a.text == b.text;
}

MaybeItem index(const Item& list, int64_t at) {
  if (!place_in_list(at, list.length())) return std::nullopt;
  return of(number_at(list, static_cast<size_t>(at)));
}

/// A list of integers only is Ints, even if it comes from a list of another kind.
Item of_list(Numbers numbers) {
  if (!llvm::all_of(numbers, [](auto& n) { return n.is(Value::Kind::Int); }))
    return of_numbers(std::move(numbers));
  Item item = of_ints({});
  for (const ConstNumber& n : numbers) item.ints.push_back(n.number);
  return item;
}

MaybeItem slice(const Item& list, int64_t start, int64_t stop, int64_t step) {
  bool inside = bound_in_list(start, list.length()) && bound_in_list(stop, list.length());
  if (!inside || step < 1) return std::nullopt;
  Ints ints;
  Numbers numbers;
  for (; start < stop; start += std::min(step, stop - start)) {
    auto at = static_cast<size_t>(start);
    if (list.is(Value::Kind::Ints))
      ints.push_back(list.ints[at]);
    else
      numbers.push_back(list.numbers[at]);
  }
  return list.is(Value::Kind::Ints) ? of_ints(ints) : of_list(std::move(numbers));
}

MaybeItem joined(Item a, const Item& b) {
  if (!a.is_list() || !b.is_list()) return std::nullopt;
  if (a.is(Value::Kind::Ints) && b.is(Value::Kind::Ints)) {
    a.ints.append(b.ints.begin(), b.ints.end());
    return a;
  }
  Numbers numbers;
  for (const Item* list : {&std::as_const(a), &b})
    for (size_t i = 0; i < static_cast<size_t>(list->length()); ++i)
      numbers.push_back(number_at(*list, i));
  return of_list(std::move(numbers));
}

/// Returns the numbers from `from` to before `to`. Ranges are of axes, so long ones are rejected.
MaybeItem range(int64_t from, int64_t to) {
  constexpr int64_t kMost = 64;
  if (to > from && (from < -kMost || to > kMost)) return std::nullopt;
  Ints ints;
  for (int64_t i = from; i < to; ++i) ints.push_back(i);
  return of_ints(ints);
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
    if (e.kind == Kind::Literal) return of_value(e.literal);
    if (e.kind == Kind::Variable) return variable(e.variable);
    if (e.queries_class() || e.kind == Kind::TypeLike) return evaluate_class_query(e);
    if (e.kind == Kind::And || e.kind == Kind::Or) return logic(e);
    if (e.is_operation()) return e.operands.size() == 1 ? unary(e) : binary(e);
    if (e.kind == Kind::List || e.kind == Kind::Floats) return list(e);
    return evaluate_list_operation(e);
  }

  bool truth(ExprIndex at) const {
    MaybeItem item = run(at);
    return item && item->is(Value::Kind::Bool) && item->number.number != 0;
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

  MaybeItem evaluate_class_query(const ValueExpr& e) const {
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
    if (t.is_none()) return std::nullopt; // an absent operand has no shape
    if (e.kind == Kind::IsFloat) return of_bool(is_float(t.dtype));
    if (e.kind == Kind::Rank) return of_int(t.rank());
    if (e.kind == Kind::ShapeOf) return of_ints(t.shape);
    if (e.kind == Kind::DTypeOf) return of_text(Value::Kind::Enum, dtype_name(t.dtype));
    MaybeItem operand = run(e.operands[0]);
    if (!operand) return std::nullopt;
    if (e.kind == Kind::Dim) return dim(t, *operand);
    assert(e.kind == Kind::TypeLike);
    if (operand->kind != Value::Kind::Ints) return std::nullopt;
    return of_type(t.dtype, operand->ints);
  }

  static MaybeItem dim(const TensorType& type, const Item& axis) {
    int64_t at = axis.number.number;
    if (!axis.is(Value::Kind::Int) || !place_in_list(at, type.rank())) return std::nullopt;
    return of_int(type[static_cast<size_t>(at)]);
  }

  /// The second operand is evaluated only if the first does not decide.
  MaybeItem logic(const ValueExpr& e) const {
    MaybeItem a = run(e.operands[0]);
    if (!a || !a->is(Value::Kind::Bool)) return std::nullopt;
    if ((a->number.number != 0) == (e.kind == Kind::Or)) return a;
    MaybeItem b = run(e.operands[1]);
    if (!b || !b->is(Value::Kind::Bool)) return std::nullopt;
    return b;
  }

  MaybeItem list(const ValueExpr& e) const {
    Ints ints;
    Numbers numbers; // from the first float on
    for (ExprIndex operand : e.operands) {
      MaybeItem item = run(operand);
      if (!item || !item->is_number()) return std::nullopt;
      bool real = e.kind == Kind::Floats && // attributes of a constant are in normal form
                  !(item->is(Value::Kind::Int) && !is_exact_in_double(item->number.number));
      if (!real && item->is(Value::Kind::Int) && numbers.empty()) {
        ints.push_back(item->number.number);
        continue;
      }
      if (numbers.empty())
        for (int64_t n : ints) numbers.push_back(ConstNumber::of_int(n));
      numbers.push_back(real ? ConstNumber::of_float(item->number.as_real()) : item->number);
    }
    return numbers.empty() ? of_ints(ints) : of_numbers(std::move(numbers));
  }

  MaybeItem evaluate_list_operation(const ValueExpr& e) const {
    MaybeItem a = run(e.operands[0]), b = run(e.operands[1]);
    if (!a || !b) return std::nullopt;
    bool at = b->is(Value::Kind::Int);
    if (e.kind == Kind::Range)
      return at && a->is(Value::Kind::Int) ? range(a->number.number, b->number.number)
                                           : MaybeItem();
    if (!a->is_list()) return std::nullopt;
    if (e.kind == Kind::Index) return at ? index(*a, b->number.number) : MaybeItem();
    if (e.kind == Kind::Permute) {
      bool both = a->is(Value::Kind::Ints) && b->is(Value::Kind::Ints);
      return both ? permute(a->ints, b->ints) : MaybeItem();
    }
    assert(e.kind == Kind::Slice);
    MaybeItem stop = run(e.operands[2]), step = run(e.operands[3]);
    bool bounds = at && stop && step && stop->is(Value::Kind::Int) && step->is(Value::Kind::Int);
    if (!bounds) return std::nullopt;
    return slice(*a, b->number.number, stop->number.number, step->number.number);
  }

  static MaybeItem valued(ConstFault fault, const ConstNumber& made) {
    return fault == ConstFault::None ? of(made) : MaybeItem();
  }

  MaybeItem unary(const ValueExpr& e) const {
    MaybeItem a = run(e.operands[0]);
    if (!a) return std::nullopt;
    ConstNumber out;
    if (a->is_scalar()) return valued(fold(e.operation(), a->number, out), out);
    if (a->is(Value::Kind::Ints))
      return valued(fold(e.operation(), llvm::ArrayRef<int64_t>(a->ints), out), out);
    if (a->is(Value::Kind::Floats))
      return valued(fold(e.operation(), llvm::makeArrayRef(reals_of(*a)), out), out);
    return std::nullopt;
  }

  /// A comparison in place, since rules with numbers evaluate this at every match.
  MaybeItem is_number_like(const NumberLike& asked) const {
    ValueId value = m_.values[asked.type];
    TypeId like = m_.classes.type(asked.like);
    if (value == ValueId{} || like == TypeId{} || m_.symbols.type(like).is_none())
      return std::nullopt;
    const Value& type = m_.symbols.value(value);
    return of_bool(type.is(Value::Kind::Type) && type.ints.empty() &&
                   type.as_type().dtype == m_.symbols.type(like).dtype);
  }

  MaybeItem binary(const ValueExpr& e) const {
    if (std::optional<NumberLike> asked = number_like(m_.rule, e)) return is_number_like(*asked);
    MaybeItem a = run(e.operands[0]), b = run(e.operands[1]);
    if (!a || !b) return std::nullopt;
    ConstNumber out;
    if (a->is_scalar() && b->is_scalar())
      return valued(fold(e.operation(), a->number, b->number, out), out);
    if (e.kind == Kind::Eq || e.kind == Kind::Ne)
      return of_bool(same(*a, *b) == (e.kind == Kind::Eq));
    return e.kind == Kind::Add ? joined(std::move(*a), *b) : MaybeItem();
  }

  const RuleMatch& m_;
};

} // namespace

std::optional<Value> evaluate_value(const RuleMatch& match, ExprIndex expr) {
  MaybeItem item = Evaluator(match).run(expr);
  return item ? to_value(*item) : std::nullopt;
}

std::optional<ValueId> evaluate(const RuleMatch& match, ExprIndex expr) {
  std::optional<Value> value = evaluate_value(match, expr);
  if (!value) return std::nullopt;
  return match.symbols.value(*value);
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
