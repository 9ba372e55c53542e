#include "compiler/ir/eval/builtin_call.h"

#include "compiler/ir/eval/gradient_call.h"
#include "compiler/ir/eval/weight_call.h"
#include "lang/check/consteval.h"
#include "lang/syntax/idioms.h"

#include <cmath>

namespace tg::eval {

namespace {

/// Returns a written shape: a list of sizes, or a single size.
std::optional<llvm::SmallVector<Size, 6>> shape_of(const Val& val) {
  if (val.integer()) return llvm::SmallVector<Size, 6>{val.as_size()};
  return as_sizes(val);
}

bool holds_open(const Val& val) {
  return val.is(Val::Kind::Open) || llvm::any_of(val.items, holds_open);
}

} // namespace

Val BuiltinCall::result(Builtin kind, llvm::ArrayRef<Val> args) {
  SizeSite site(nodes_.run(), e_.span, "`" + e_.callee.text.str() + "`");
  switch (kind) {
  case Builtin::Constant: return fold_constants(report_, frame_, e_, args);
  case Builtin::Split: return split(args);
  case Builtin::Grad: return gradient_call(nodes_, report_, frame_, e_, args);
  case Builtin::Params:
  case Builtin::Path:
  case Builtin::Update: return weight_call(kind, nodes_, report_, frame_, e_, args);
  case Builtin::Zip: return zip(args);
  case Builtin::Dim:
  case Builtin::Rank:
  case Builtin::ShapeOf:
  case Builtin::DTypeOf: return question(kind, args);
  default: return literal(kind, args);
  }
}

Val fold_constants(Report& report, const Frame& frame, const ast::Expr& e,
                   llvm::ArrayRef<Val> args) {
  std::vector<Value> values;
  bool open = llvm::any_of(args, holds_open);
  for (size_t i = 0; i < args.size(); ++i) {
    if (e.callee.text == "len" && args[i].is(Val::Kind::List))
      return Val::of(Value::of_int(static_cast<int64_t>(args[i].items.size())));
    if (std::optional<Value> value = open ? at_sample(args[i]) : as_value(args[i])) {
      values.push_back(std::move(*value));
      continue;
    }
    bool runtime = args[i].is(Val::Kind::Tensor);
    Diagnostic d =
        error(runtime ? Code::not_constant : Code::wrong_kind, e.span,
              "`{0}` is for compile-time values, got {1}", e.callee.text, report.describe(args[i]));
    if (runtime) d.help = idiom_of_function(e.callee.text);
    return report.fail(frame, std::move(d));
  }
  Value out;
  ConstError why;
  if (fold_call(e.callee.text, values, out, why))
    return open ? open_function(e.callee.text, args, out) : Val::of(std::move(out));
  return report.fail(frame, error(why.code, e.span, "{0}", why.message));
}

Val BuiltinCall::question(Builtin kind, llvm::ArrayRef<Val> args) {
  NodeId node;
  if (!nodes_.tensor(frame_, args[0], frame_.ast[first_].span, node)) return {};
  const OpenType t = nodes_.type(node);
  if (kind == Builtin::Rank) return Val::of(Value::of_int(t.rank()));
  if (kind == Builtin::ShapeOf) return Val::of(llvm::ArrayRef<Size>(t.shape));
  if (kind == Builtin::DTypeOf) return Val::of(Value::of_enum(dtype_name(t.dtype)));
  bool fits =
      args[1].integer() && args[1].value.number >= -t.rank() && args[1].value.number < t.rank();
  if (!fits)
    return report_.fail(frame_, error(Code::bad_attribute, e_.span, "{0} has no axis {1}", t.text(),
                                      report_.describe(args[1])));
  int64_t axis = args[1].as_size().fixed();
  return Val::of(t[static_cast<size_t>(axis < 0 ? axis + t.rank() : axis)]);
}

bool BuiltinCall::split_sizes(llvm::ArrayRef<Val> args, const Size& size,
                              llvm::SmallVectorImpl<Size>& sizes) {
  auto fail = [&](std::string why) {
    report_.fail(frame_, error(Code::bad_attribute, e_.span, "{0}", why));
    return false;
  };
  const Val &parts = args[2], &explicit_sizes = args[3];
  if (parts.is(Val::Kind::Unit) == explicit_sizes.is(Val::Kind::Unit))
    return fail("`split` requires either `parts` or `sizes`");
  if (!parts.is(Val::Kind::Unit)) {
    if (!parts.integer() || parts.as_size().fixed() < 1)
      return fail("`parts` must be a positive integer, got " + report_.describe(parts));
    int64_t n = parts.value.number;
    if (size % n != 0)
      return fail(llvm::formatv("an axis of {0} elements cannot be split into {1} equal parts",
                                size.sample(), n));
    sizes.assign(static_cast<size_t>(n), size / n);
    return true;
  }
  auto ints = as_sizes(explicit_sizes);
  if (!ints)
    return fail("`sizes` must be a list of integers, got " + report_.describe(explicit_sizes));
  Size left = size;
  bool positive = true;
  for (const Size& n : *ints) {
    positive = positive && n >= 1;
    left = left - n;
  }
  if (!positive || left != 0)
    return fail(llvm::formatv("sizes {0} do not add up to the axis of {1} elements",
                              report_.describe(explicit_sizes), size.sample()));
  sizes.assign(ints->begin(), ints->end());
  return true;
}

Val BuiltinCall::split(llvm::ArrayRef<Val> args) {
  NodeId node;
  if (!nodes_.tensor(frame_, args[0], frame_.ast[first_].span, node)) return {};
  Val size = question(Builtin::Dim, {args[0], args[1]});
  llvm::SmallVector<Size, 6> sizes;
  if (size.poison() || !split_sizes(args, size.as_size(), sizes)) return {};
  std::vector<Val> pieces;
  Size start = 0;
  for (const Size& n : sizes) {
    OpenValue axis = OpenValue::of_int(args[1].value.number);
    // A single piece is the whole tensor and needs no node.
    pieces.push_back(sizes.size() == 1 ? Val::of(node)
                                       : nodes_.apply(frame_, id_, OpKind::Slice,
                                                      {axis, OpenValue::of_int(start),
                                                       OpenValue::of_int(start + n)},
                                                      Operand{node, first_}));
    if (pieces.back().poison() || !report_.step(frame_, e_.span)) return {};
    start += Size(n);
  }
  return Val::list(std::move(pieces), Val::Kind::Tuple);
}

Val BuiltinCall::zip(llvm::ArrayRef<Val> args) {
  for (const Val& list : args)
    if (!list.is(Val::Kind::List) && !list.is(Val::Kind::Tuple))
      return report_.fail(frame_,
                          error(Code::wrong_kind, e_.span, "`zip` requires two lists, got {0}",
                                report_.describe(list)));
  if (args[0].items.size() != args[1].items.size())
    return report_.fail(frame_, error(Code::wrong_kind, e_.span,
                                      "`zip` requires lists of equal length, got {0} and {1} items",
                                      args[0].items.size(), args[1].items.size()));
  std::vector<Val> pairs;
  for (size_t i = 0; i < args[0].items.size(); ++i)
    pairs.push_back(Val::list({args[0].items[i], args[1].items[i]}, Val::Kind::Tuple));
  Val list = Val::list(std::move(pairs));
  report_.spend(list.extent);
  if (list.depth <= kMaxListDepth && list.extent <= kMaxListExtent) return list;
  return report_.limit(frame_, e_.span, "a list has too many items");
}

bool BuiltinCall::dtype_argument(const Val& val, std::optional<DType>& out) {
  if (val.is(Val::Kind::Unit)) return true;
  if (val.is(Val::Kind::Const) && val.value.is(Value::Kind::Enum))
    out = parse_dtype(val.value.text);
  if (out) return true;
  report_.fail(frame_, error(Code::wrong_kind, e_.span,
                             "`dtype` of `{0}` must be f32, f64, f16, bf16, "
                             "i32, i64 or bool, got {1}",
                             e_.callee.text, report_.describe(val)));
  return false;
}

/// iota, eye.
Val BuiltinCall::series(Builtin kind, const Val& size, std::optional<DType> dtype) {
  bool iota = kind == Builtin::Iota;
  int64_t limit = iota ? kMaxListExtent : 1024;
  bool good = size.integer() && size.as_size() >= 1 && !exceeds(size.as_size(), limit);
  if (!good)
    return report_.fail(frame_, error(Code::wrong_kind, e_.span,
                                      "`{0}` requires an integer from 1 to {1}, got {2}",
                                      e_.callee.text, limit, report_.describe(size)));
  int64_t n = size.value.number;
  report_.spend(static_cast<uint64_t>(n));
  std::vector<double> values(static_cast<size_t>(iota ? n : n * n), 0.0);
  for (int64_t i = 0; i < n; ++i)
    values[static_cast<size_t>(iota ? i : i * n + i)] = iota ? static_cast<double>(i) : 1.0;
  OpenType type(dtype.value_or(DType::F32), {size.as_size()});
  if (!iota) type.shape.push_back(size.as_size());
  Val made = Val::of(nodes_.leaf(
      type, [&](const TensorType& t) { return nodes_.graph().constant(std::move(values), t); }));
  made.weak = !dtype;
  return made;
}

/// Builds `full` of an integer that a double cannot represent.
Val BuiltinCall::whole_full(int64_t value, llvm::ArrayRef<Size> shape, std::optional<DType> dtype) {
  if (dtype == DType::I64)
    return Val::of(
        nodes_.leaf({DType::I64, OpenShape(shape.begin(), shape.end())},
                    [&](const TensorType& t) { return nodes_.graph().whole_constant(value, t); }));
  return report_.fail(frame_,
                      error(Code::dtype_mismatch, e_.span, "{0} requires the dtype i64", value)
                          .suggest(llvm::formatv("full(…, {0}, i64)", value).str()));
}

/// `iota([2, 3], i64, axis = 1)`: an operator node, which takes no memory until it runs.
Val BuiltinCall::positions(llvm::ArrayRef<Val> args, DType dtype) {
  auto shape = shape_of(args[0]);
  bool axis_given = args[2].integer();
  if (!shape || (!axis_given && !args[2].is(Val::Kind::Unit)))
    return report_.fail(frame_, error(Code::wrong_kind, e_.span, "`iota` requires {0}, got {1}",
                                      shape ? "an axis as an integer" : "a size or a shape",
                                      report_.describe(args[shape ? 2 : 0])));
  int64_t axis = axis_given ? args[2].as_size().fixed() : 0;
  if (axis < 0) axis += static_cast<int64_t>(shape->size());
  OpenType type(dtype, OpenShape(shape->begin(), shape->end()));
  return nodes_.apply(frame_, id_, OpKind::Iota,
                      {OpenValue::of_type(type), OpenValue::of_int(axis)}, {});
}

Val BuiltinCall::literal(Builtin kind, llvm::ArrayRef<Val> args) {
  std::optional<DType> dtype;
  bool iota = kind == Builtin::Iota;
  if (!dtype_argument(iota ? args[1] : args.back(), dtype)) return {};
  if (iota && (as_sizes(args[0]) || !args[2].is(Val::Kind::Unit)))
    return positions(args, dtype.value_or(DType::F32));
  if (iota || kind == Builtin::Eye) return series(kind, args[0], dtype);
  return kind == Builtin::Literal ? converted(args[0], dtype) : filled(kind, args, dtype);
}

Val BuiltinCall::converted(const Val& literal, std::optional<DType> dtype) {
  NodeId node;
  if (!nodes_.tensor(frame_, literal, e_.span, node, dtype.value_or(DType::None))) return {};
  if (dtype && nodes_.dtype(node) != *dtype)
    return report_.fail(frame_, error(Code::dtype_mismatch, e_.span, "this is {0} already",
                                      nodes_.type(node).text())
                                    .suggest("`cast` converts a tensor"));
  return Val::of(node);
}

/// zeros, ones, full.
Val BuiltinCall::filled(Builtin kind, llvm::ArrayRef<Val> args, std::optional<DType> dtype) {
  auto shape = shape_of(args[0]);
  bool fits = shape && shape->size() <= static_cast<size_t>(kMaxRank);
  Size elements = 1;
  for (const Size& size : shape ? *shape : llvm::SmallVector<Size, 6>{}) {
    fits = fits && size >= 0 && !product_exceeds(elements, size, kMaxElements);
    if (fits && size != 0) elements *= size;
  }
  if (!fits)
    return report_.fail(frame_, error(Code::wrong_kind, e_.span, "`{0}` requires a shape, got {1}",
                                      e_.callee.text, report_.describe(args[0])));
  double value = kind == Builtin::Ones ? 1.0 : 0.0;
  bool of_bools = kind == Builtin::Full && args[1].constant(Value::Kind::Bool);
  if (kind == Builtin::Full) {
    if (!is_scalar(args[1]))
      return report_.fail(frame_,
                          error(Code::wrong_kind, e_.span, "`full` requires a number, got {0}",
                                report_.describe(args[1])));
    value = number_of(args[1]);
    if (args[1].integer() && std::fabs(value) >= 0x1p53 && !(dtype && is_float(*dtype)))
      return whole_full(args[1].value.number, *shape, dtype);
  }
  OpenType made(of_bools ? DType::Bool : dtype.value_or(DType::F32),
                OpenShape(shape->begin(), shape->end()));
  if (args.size() > 1 && args[1].is(Val::Kind::Open) && !is_float(made.dtype))
    (void)settled(args[1]); // it has to be an integer
  if (!nodes_.fits(frame_, value, made.dtype, e_.span)) return {};
  Val out = Val::of(
      nodes_.leaf(made, [&](const TensorType& t) { return nodes_.graph().constant({value}, t); }));
  out.weak = !dtype && !of_bools;
  return out;
}

} // namespace tg::eval
