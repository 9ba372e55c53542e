// What signs and brackets mean on tensors: `x ** 2`, `x // y`, `x[:, 0:64]`. Each comes to
// operators of the table. Places of an index are taken in two passes: ranges and single places from
// the first axis on, each a slice; then what changes the number of axes, from the last axis on, so
// that the places before keep their axes.
#include "compiler/ir/eval.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::eval {

using ast::Op;

namespace {

/// The operator of the table that a sign stands for between tensors.
llvm::StringRef tensor_op(Op op) {
  switch (op) {
  case Op::Add: return "add";
  case Op::Sub: return "sub";
  case Op::Mul: return "mul";
  case Op::Div: return "div";
  case Op::MatMul: return "matmul";
  case Op::Eq: return "equal";
  case Op::Ne: return "not_equal";
  case Op::Lt: return "less";
  case Op::Le: return "less_equal";
  case Op::Gt: return "greater";
  case Op::Ge: return "greater_equal";
  case Op::And: return "logical_and";
  case Op::Or: return "logical_or";
  default: return "";
  }
}

int64_t length(const Val& list) { return static_cast<int64_t>(list.items.size()); }

} // namespace

Val Evaluator::tensor_binary(Frame& frame, ast::ExprId id, const ast::Expr& e, const Val& a,
                             const Val& b) {
  Operand x{{}, e.a}, y{{}, e.b};
  DType dtype = dtype_met({&a, &b});
  bool good = tensor(frame, a, frame.ast[e.a].span, x.node, dtype);
  good &= tensor(frame, b, frame.ast[e.b].span, y.node, dtype);
  if (!good) return {};
  if (e.op == Op::Pow) return tensor_power(frame, id, x, y, b);
  if (e.op == Op::FloorDiv || e.op == Op::Mod) return tensor_rounded(frame, id, e.op, x, y);
  return apply(frame, id, tensor_op(e.op), {}, {x, y});
}

/// `x ** 2`, `x ** 3` and `x ** 4` are products: exact, and cheaper than a power.
Val Evaluator::tensor_power(Frame& frame, ast::ExprId id, Operand x, Operand y,
                            const Val& exponent) {
  bool whole = exponent.is(Val::Kind::Const) && exponent.value.is(Value::Kind::Int);
  int64_t n = whole ? exponent.value.number : 0;
  if (n < 2 || n > 4) return apply(frame, id, "pow", {}, {x, y});
  Val square = apply(frame, id, "mul", {}, {x, x});
  if (n == 2 || square.poison()) return square;
  Operand s{square.node, {}};
  return apply(frame, id, "mul", {}, {s, n == 3 ? x : s});
}

/// `x // y` rounds down; `x % y` is what it leaves, with the sign of y.
Val Evaluator::tensor_rounded(Frame& frame, ast::ExprId id, Op op, Operand x, Operand y) {
  DType dtype = type(x.node).dtype;
  bool integers = dtype == DType::I32 || dtype == DType::I64;
  if (op == Op::FloorDiv && !integers) {
    Val quotient = apply(frame, id, "div", {}, {x, y});
    if (quotient.poison()) return {};
    return apply(frame, id, "floor", {}, Operand{quotient.node, {}});
  }
  Val rest = apply(frame, id, "mod", {}, {x, y});
  if (op == Op::Mod || rest.poison()) return rest;
  Val whole = apply(frame, id, "sub", {}, {x, Operand{rest.node, {}}}); // a multiple of y
  if (whole.poison()) return {};
  return apply(frame, id, "div", {}, {Operand{whole.node, {}}, y});
}

// --- indexing -----------------------------------------------------------------------------------

/// One place between the brackets, read for an axis.
struct Evaluator::Place {
  int64_t axis = 0;
  int64_t start = 0, stop = 0, step = 1;
  bool single = false; // the axis goes
  Operand indices;     // valid where a tensor of integers stands here
};

Val Evaluator::index(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  Val a = expression(frame, e.a);
  if (a.poison()) return {};
  if (a.is(Val::Kind::Tensor)) return tensor_places(frame, id, e, a.node);
  if (a.is(Val::Kind::List) || a.is(Val::Kind::Tuple)) return list_item(frame, e, a);
  return report(frame, error(Code::wrong_kind, e.span, "{0} has no elements", describe(a)));
}

Val Evaluator::list_item(Frame& frame, const ast::Expr& e, const Val& list) {
  llvm::ArrayRef<ast::Slice> slices = frame.ast[e.slices];
  if (slices.size() == 1 && slices[0].range) return list_slice(frame, slices[0], list);
  if (slices.size() != 1 || slices[0].ellipsis)
    return report(frame, error(Code::wrong_kind, e.span, "a list is indexed by one integer")
                             .suggest("lists of lists: list[0][1]"));
  int64_t i = 0, size = length(list);
  if (!integer(frame, slices[0].begin, "an index", i)) return {};
  if (int64_t place = i; place_in_list(place, size)) return list.items[static_cast<size_t>(place)];
  return report(frame, error(Code::bad_attribute, slices[0].span,
                             "the index {0} is out of range for {1}", i, describe(list)));
}

Val Evaluator::list_slice(Frame& frame, const ast::Slice& slice, const Val& list) {
  Place place;
  if (!read_range(frame, slice, length(list), place)) return {};
  std::vector<Val> items;
  for (int64_t i = place.start; i < place.stop; i += place.step)
    items.push_back(list.items[static_cast<size_t>(i)]);
  return Val::list(std::move(items), list.kind);
}

bool Evaluator::slice_bound(Frame& frame, ast::ExprId bound, int64_t size, int64_t& out) {
  if (!bound) return true;
  if (!integer(frame, bound, "a bound of a slice", out)) return false;
  if (bound_in_list(out, size)) return true;
  report(frame, error(Code::bad_attribute, frame.ast[bound].span,
                      "the bound {0} lies outside of an axis of {1}",
                      program_.sources->text(frame.ast[bound].span), size));
  return false;
}

bool Evaluator::read_range(Frame& frame, const ast::Slice& slice, int64_t size, Place& out) {
  out.stop = size;
  if (!slice_bound(frame, slice.begin, size, out.start)) return false;
  if (!slice_bound(frame, slice.end, size, out.stop)) return false;
  if (slice.step && !integer(frame, slice.step, "the step of a slice", out.step)) return false;
  if (out.step >= 1) { // beyond the size, steps take the first alone
    out.step = std::min(out.step, std::max<int64_t>(size, 1));
    return true;
  }
  Diagnostic d = error(Code::bad_attribute, frame.ast[slice.step].span,
                       "the step of a slice must be at least 1, got {0}", out.step);
  if (out.step < 0 && size >= 2)
    d.help =
        llvm::formatv("places in another order are named: x[[{0}, {1}, …]]", size - 1, size - 2);
  report(frame, std::move(d));
  return false;
}

bool Evaluator::read_place(Frame& frame, const ast::Slice& slice, int64_t size, Place& out) {
  if (slice.range) return read_range(frame, slice, size, out);
  Val v = expression(frame, slice.begin);
  if (v.poison()) return false;
  out.indices.expr = slice.begin;
  if (v.is(Val::Kind::List)) return tensor(frame, v, slice.span, out.indices.node, DType::I64);
  if (v.is(Val::Kind::Tensor)) {
    if (!tensor(frame, v, slice.span, out.indices.node, DType::I64)) return false;
    DType dtype = type(out.indices.node).dtype;
    if (dtype == DType::I32 || dtype == DType::I64) return true;
    Diagnostic d =
        error(Code::dtype_mismatch, slice.span, "an index is of integers, got {0}", describe(v));
    if (dtype == DType::Bool)
      d.help = "shapes do not depend on values: `select(mask, x, 0)` keeps the shape";
    report(frame, std::move(d));
    return false;
  }
  int64_t i = 0;
  if (!v.is(Val::Kind::Const) || !v.value.is(Value::Kind::Int)) {
    report(frame, error(Code::wrong_kind, slice.span,
                        "an index is an integer or a tensor of integers, got {0}", describe(v)));
    return false;
  }
  out.start = i = v.value.number;
  out.single = true;
  bool inside = place_in_list(out.start, size);
  out.stop = out.start + 1;
  if (inside) return true;
  report(frame, error(Code::bad_attribute, slice.span,
                      "the index {0} is out of range for an axis of {1}", i, size));
  return false;
}

/// What is left to do at a place after the first pass: a step, or a gather.
Val Evaluator::take(Frame& frame, ast::ExprId id, Operand from, int64_t axis, const Place& place) {
  Value at = Value::of_int(axis);
  if (place.indices.node.valid()) return apply(frame, id, "gather", at, {from, place.indices});
  int64_t step = place.step, count = (place.stop - place.start + step - 1) / step;
  Shape shape = type(from.node).shape, kept = shape;
  auto dim = static_cast<size_t>(axis);
  if (int64_t missing = count * step - shape[dim]; missing > 0) { // up to whole steps
    Shape before(shape.size(), 0), after(shape.size(), 0);
    after[dim] = missing;
    Val padded =
        apply(frame, id, OpKind::Pad, {Value::of_ints(before), Value::of_ints(after)}, from);
    if (padded.poison()) return {};
    from.node = padded.node;
  }
  kept[dim] = count;
  shape[dim] = count;
  shape.insert(shape.begin() + axis + 1, step);
  Val rows = apply(frame, id, OpKind::Reshape, Value::of_ints(shape), from);
  if (rows.poison()) return {};
  Val first =
      apply(frame, id, OpKind::Slice, {Value::of_int(axis + 1), Value::of_int(0), Value::of_int(1)},
            Operand{rows.node, from.expr});
  if (first.poison()) return {};
  return apply(frame, id, OpKind::Reshape, Value::of_ints(kept), Operand{first.node, from.expr});
}

Val Evaluator::tensor_places(Frame& frame, ast::ExprId id, const ast::Expr& e, NodeId node) {
  llvm::ArrayRef<ast::Slice> slices = frame.ast[e.slices];
  int64_t rank = type(node).rank(), given = 0, ellipses = 0;
  for (const ast::Slice& slice : slices) ++(slice.ellipsis ? ellipses : given);
  if (given > rank)
    return report(frame, error(Code::shape_mismatch, e.span, "{0} indices for {1}", given,
                               type(node).text()));
  if (ellipses > 1)
    return report(frame, error(Code::wrong_kind, e.span, "`...` stands once in an index"));
  llvm::SmallVector<Place, 6> places;
  int64_t axis = 0;
  for (const ast::Slice& slice : slices) {
    if (slice.ellipsis) {
      axis += rank - given;
      continue;
    }
    Place& place = places.emplace_back();
    place.axis = axis++;
    if (!read_place(frame, slice, type(node)[static_cast<size_t>(place.axis)], place)) return {};
  }
  for (const Place& place : places) {
    int64_t size = type(node)[static_cast<size_t>(place.axis)];
    // With a step, the slice ends with a whole step where the axis goes on that far.
    int64_t whole = (place.stop - place.start + place.step - 1) / place.step * place.step;
    int64_t stop = place.start + whole <= size ? place.start + whole : place.stop;
    if (place.indices.node.valid() || (place.start == 0 && stop == size)) continue;
    Val piece = apply(frame, id, OpKind::Slice,
                      {Value::of_int(place.axis), Value::of_int(place.start), Value::of_int(stop)},
                      Operand{node, e.a});
    if (piece.poison()) return {};
    node = piece.node;
  }
  llvm::SmallVector<int64_t, 6> dropped; // axes of `node`
  for (const Place& place : llvm::reverse(places)) {
    if (place.single) dropped.push_back(place.axis);
    if (place.step == 1 && !place.indices.node.valid()) continue;
    int64_t before = type(node).rank();
    Val taken = take(frame, id, {node, e.a}, place.axis, place);
    if (taken.poison()) return {};
    node = taken.node;
    for (int64_t& d : dropped) d += type(node).rank() - before;
  }
  if (dropped.empty()) return Val::of(node);
  llvm::SmallVector<int64_t, 6> kept;
  for (int64_t i = 0; i < type(node).rank(); ++i)
    if (!llvm::is_contained(dropped, i)) kept.push_back(type(node)[static_cast<size_t>(i)]);
  return apply(frame, id, OpKind::Reshape, Value::of_ints(kept), Operand{node, e.a});
}

} // namespace tg::eval
