// Literals. A number, a nested list or `zeros([2])` has no dtype by itself: it takes that of what
// it meets (the other operand, the parameter, the declared result), and is f32, or bool where it
// holds bools, where it meets nothing. A number that the dtype cannot hold is an error, never
// rounded to an integer or wrapped.
#include "compiler/ir/eval.h"

#include <llvm/ADT/STLExtras.h>

#include <cmath>

namespace tg::eval {

namespace {

bool is_scalar(const Val& val) {
  return val.is(Val::Kind::Const) && (is_number(val.value) || val.value.is(Value::Kind::Bool));
}

bool is_bool(const Val& val) { return val.is(Val::Kind::Const) && val.value.is(Value::Kind::Bool); }

double number_of(const Val& val) {
  return is_bool(val) ? static_cast<double>(val.value.number) : as_real(val.value);
}

bool is_int(const Val* val) { return val->is(Val::Kind::Const) && val->value.is(Value::Kind::Int); }

/// The elements of nested lists, row by row, with their shape. False where rows differ in length or
/// hold anything but numbers and bools.
bool elements_of(const Val& val, Shape& shape, std::vector<const Val*>& out) {
  for (const Val* v = &val; v->is(Val::Kind::List); v = &v->items[0]) {
    shape.push_back(static_cast<int64_t>(v->items.size()));
    if (v->items.empty()) return false;
  }
  std::vector<std::pair<const Val*, size_t>> open{{&val, 0}};
  while (!open.empty()) {
    auto [v, level] = open.back();
    open.pop_back();
    if (v->is(Val::Kind::List)) {
      bool even = level < shape.size() && static_cast<int64_t>(v->items.size()) == shape[level];
      if (!even) return false;
      for (const Val& item : llvm::reverse(v->items)) open.push_back({&item, level + 1});
    } else if (level == shape.size() && is_scalar(*v)) {
      out.push_back(v);
    } else {
      return false;
    }
  }
  return static_cast<int64_t>(shape.size()) <= kMaxRank;
}

} // namespace

/// The dtype of the first value that has one.
DType Evaluator::dtype_met(llvm::ArrayRef<const Val*> values) const {
  for (const Val* val : values)
    if (val->is(Val::Kind::Tensor) && !val->weak) return type(val->node).dtype;
  return DType::None;
}

/// Whether a number can be an element of this dtype; reports if not.
bool Evaluator::fits(Frame& frame, double value, DType dtype, Span span) {
  std::string why;
  bool whole = std::isfinite(value) && value == std::floor(value);
  if (dtype == DType::Bool && value != 0 && value != 1)
    why = "a bool is true or false";
  else if ((dtype == DType::I32 || dtype == DType::I64) && !whole)
    why = "an integer is needed";
  else if (dtype == DType::I32 && (value < -2147483648.0 || value > 2147483647.0))
    why = "it does not fit 32 bits";
  else if (dtype == DType::I64 && std::fabs(value) > 9007199254740992.0)
    why = "a float is exact up to 2 ** 53: write an integer";
  if (why.empty()) return true;
  report(frame,
         error(Code::dtype_mismatch, span, "{0} is no {1}",
               whole && std::fabs(value) < 0x1p62 ? std::to_string(static_cast<long long>(value))
                                                  : Value::of_float(value).text_form(),
               dtype_name(dtype))
             .mark(why));
  return false;
}

bool Evaluator::weak_tensor(Frame& frame, NodeId node, Span span, NodeId& out, DType want) {
  TensorType made = type(node);
  out = node;
  if (want == DType::None || want == made.dtype) return true;
  std::vector<double> values = graph_.attr(node, 0).reals;
  for (double value : values)
    if (!fits(frame, value, want, span)) return false;
  made.dtype = want;
  out = graph_.constant(std::move(values), made);
  return true;
}

/// A tensor from a value: itself, or the constant that a literal stands for.
bool Evaluator::tensor(Frame& frame, const Val& val, Span span, NodeId& out, DType want) {
  if (val.poison()) return false;
  if (val.is(Val::Kind::Tensor) && val.weak) return weak_tensor(frame, val.node, span, out, want);
  if (val.is(Val::Kind::Tensor)) return out = val.node, true;
  if (is_scalar(val) || val.is(Val::Kind::List)) return literal(frame, val, span, out, want);
  std::string help = val.is(Val::Kind::Tuple) ? "take it apart: let (a, b) = …" : "";
  report(frame, error(Code::wrong_kind, span, "a tensor is needed, got {0}", describe(val))
                    .suggest(std::move(help)));
  return false;
}

bool Evaluator::literal(Frame& frame, const Val& val, Span span, NodeId& out, DType want) {
  Shape shape;
  std::vector<const Val*> elements;
  if (!elements_of(val, shape, elements)) {
    report(frame, error(Code::wrong_kind, span, "{0} is no literal of a tensor", describe(val))
                      .suggest("rows of equal length, of numbers only; tensors are joined with "
                               "`concat([a, b], axis = 0)`"));
    return false;
  }
  bool bools = llvm::all_of(elements, [](const Val* v) { return is_bool(*v); });
  DType dtype = want != DType::None ? want : bools ? DType::Bool : DType::F32;
  bool exact = dtype == DType::I64 && llvm::all_of(elements, is_int);
  if (exact) {
    std::vector<int64_t> whole;
    whole.reserve(elements.size());
    for (const Val* v : elements) whole.push_back(v->value.number);
    return out = graph_.whole_constant(whole, {dtype, shape}), true;
  }
  std::vector<double> values;
  values.reserve(elements.size());
  for (const Val* v : elements) {
    if (is_bool(*v) != (dtype == DType::Bool)) {
      report(frame,
             error(Code::dtype_mismatch, span, "{0} is no {1}", describe(*v), dtype_name(dtype)));
      return false;
    }
    values.push_back(number_of(*v));
    if (!fits(frame, values.back(), dtype, span)) return false;
  }
  out = graph_.constant(std::move(values), {dtype, shape});
  return true;
}

bool Evaluator::dtype_argument(Frame& frame, const ast::Expr& e, const Val& val,
                               std::optional<DType>& out) {
  if (val.is(Val::Kind::Unit)) return true;
  if (val.is(Val::Kind::Const) && val.value.is(Value::Kind::Enum))
    out = parse_dtype(val.value.text);
  if (out) return true;
  report(frame, error(Code::wrong_kind, e.span,
                      "`dtype` of `{0}` is one of f32, f16, bf16, i32, "
                      "i64, bool, got {1}",
                      e.callee.text, describe(val)));
  return false;
}

/// iota, eye.
Val Evaluator::series(Frame& frame, const ast::Expr& e, Builtin kind, llvm::ArrayRef<Val> args,
                      std::optional<DType> dtype) {
  bool iota = kind == Builtin::Iota;
  int64_t limit = iota ? kMaxListExtent : 1024;
  const Val& size = args[0];
  bool good = size.is(Val::Kind::Const) && size.value.is(Value::Kind::Int) &&
              size.value.number >= 1 && size.value.number <= limit;
  if (!good)
    return report(frame,
                  error(Code::wrong_kind, e.span, "`{0}` needs an integer from 1 to {1}, got {2}",
                        e.callee.text, limit, describe(size)));
  int64_t n = size.value.number;
  steps_ += static_cast<uint64_t>(n);
  std::vector<double> values(static_cast<size_t>(iota ? n : n * n), 0.0);
  for (int64_t i = 0; i < n; ++i)
    values[static_cast<size_t>(iota ? i : i * n + i)] = iota ? static_cast<double>(i) : 1.0;
  Shape shape{n};
  if (!iota) shape.push_back(n);
  Val made = Val::of(graph_.constant(std::move(values), {dtype.value_or(DType::F32), shape}));
  made.weak = !dtype;
  return made;
}

/// `full` of an integer that no double holds.
Val Evaluator::whole_full(Frame& frame, const ast::Expr& e, int64_t value,
                          llvm::ArrayRef<int64_t> shape, std::optional<DType> dtype) {
  if (dtype == DType::I64)
    return Val::of(graph_.whole_constant(value, {DType::I64, Shape(shape.begin(), shape.end())}));
  return report(frame, error(Code::dtype_mismatch, e.span, "{0} needs the dtype i64", value)
                           .suggest(llvm::formatv("full(…, {0}, i64)", value).str()));
}

/// `iota([2, 3], i64, axis = 1)`: the operator, which takes no room until it runs.
Val Evaluator::positions(Frame& frame, ast::ExprId id, llvm::ArrayRef<Val> args, DType dtype) {
  const ast::Expr& e = frame.ast[id];
  auto shape = as_ints(args[0]);
  if (!shape && args[0].is(Val::Kind::Const) && args[0].value.is(Value::Kind::Int))
    shape = llvm::SmallVector<int64_t, 6>{args[0].value.number};
  bool axis_given = args[2].is(Val::Kind::Const) && args[2].value.is(Value::Kind::Int);
  if (!shape || (!axis_given && !args[2].is(Val::Kind::Unit)))
    return report(frame, error(Code::wrong_kind, e.span, "`iota` needs {0}, got {1}",
                               shape ? "an axis as an integer" : "a size or a shape",
                               describe(args[shape ? 2 : 0])));
  Value axis = Value::of_int(axis_given ? args[2].value.number : 0);
  if (axis.number < 0) axis.number += static_cast<int64_t>(shape->size());
  TensorType type{dtype, Shape(shape->begin(), shape->end())};
  return apply(frame, id, OpKind::Iota, {Value::of_type(type), axis}, {});
}

Val Evaluator::literal_builtin(Frame& frame, ast::ExprId id, Builtin kind,
                               llvm::ArrayRef<Val> args) {
  const ast::Expr& e = frame.ast[id];
  std::optional<DType> dtype;
  bool iota = kind == Builtin::Iota;
  if (!dtype_argument(frame, e, iota ? args[1] : args.back(), dtype)) return {};
  if (iota && (as_ints(args[0]) || !args[2].is(Val::Kind::Unit)))
    return positions(frame, id, args, dtype.value_or(DType::F32));
  if (iota || kind == Builtin::Eye) return series(frame, e, kind, args, dtype);
  if (kind == Builtin::Literal) {
    NodeId node;
    if (!tensor(frame, args[0], e.span, node, dtype.value_or(DType::None))) return {};
    if (dtype && type(node).dtype != *dtype)
      return report(frame,
                    error(Code::dtype_mismatch, e.span, "this is {0} already", type(node).text())
                        .suggest("`cast` converts a tensor"));
    return Val::of(node);
  }
  auto shape = as_ints(args[0]);
  if (!shape && args[0].is(Val::Kind::Const) && args[0].value.is(Value::Kind::Int))
    shape = llvm::SmallVector<int64_t, 6>{args[0].value.number};
  int64_t left = kMaxElements;
  for (int64_t size : shape ? *shape : llvm::SmallVector<int64_t, 6>{})
    left = size < 1 ? 0 : left / size;
  if (!shape || left < 1 || shape->size() > static_cast<size_t>(kMaxRank))
    return report(frame, error(Code::wrong_kind, e.span, "`{0}` needs a shape, got {1}",
                               e.callee.text, describe(args[0])));
  double value = kind == Builtin::Ones ? 1.0 : 0.0;
  bool of_bools = kind == Builtin::Full && is_bool(args[1]);
  if (kind == Builtin::Full) {
    if (!is_scalar(args[1]))
      return report(frame, error(Code::wrong_kind, e.span, "`full` needs a number, got {0}",
                                 describe(args[1])));
    value = number_of(args[1]);
    if (is_int(&args[1]) && std::fabs(value) >= 0x1p53)
      return whole_full(frame, e, args[1].value.number, *shape, dtype);
  }
  TensorType made{of_bools ? DType::Bool : dtype.value_or(DType::F32),
                  Shape(shape->begin(), shape->end())};
  if (!fits(frame, value, made.dtype, e.span)) return {};
  Val out = Val::of(graph_.constant({value}, made));
  out.weak = !dtype && !of_bools;
  return out;
}

} // namespace tg::eval
