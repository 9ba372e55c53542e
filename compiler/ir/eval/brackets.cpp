#include "compiler/ir/eval/brackets.h"

#include "lang/check/consteval.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::eval {

namespace {

int64_t length(const Val& list) { return static_cast<int64_t>(list.items.size()); }

/// Counts a negative position from the end. Returns true if it is from 0 to `last`.
bool place_on_axis(Size& at, const Size& size, const Size& last) {
  if (at < 0) at += size;
  return at >= 0 && at <= last;
}

} // namespace

Val Brackets::index(Frame& frame, ast::ExprId id) {
  const ast::Expr& e = frame.ast[id];
  Val a = expressions_.expression(frame, e.a);
  if (a.poison()) return {};
  if (a.is(Val::Kind::Tensor)) return tensor_places(frame, id, a.node);
  if (a.is(Val::Kind::List) || a.is(Val::Kind::Tuple)) return list_item(frame, e, a);
  return report_.fail(frame,
                      error(Code::wrong_kind, e.span, "{0} has no elements", report_.describe(a)));
}

Val Brackets::list_item(Frame& frame, const ast::Expr& e, const Val& list) {
  llvm::ArrayRef<ast::Slice> slices = frame.ast[e.slices];
  if (slices.size() == 1 && slices[0].range) return list_slice(frame, slices[0], list);
  if (slices.size() != 1 || slices[0].ellipsis)
    return report_.fail(frame,
                        error(Code::wrong_kind, e.span, "the index of a list must be one integer")
                            .suggest("index a list of lists as list[0][1]"));
  int64_t i = 0, size = length(list);
  if (!expressions_.integer(frame, slices[0].begin, "an index", i)) return {};
  if (int64_t place = i; place_in_list(place, size)) return list.items[static_cast<size_t>(place)];
  return report_.fail(frame,
                      error(Code::bad_attribute, slices[0].span,
                            "the index {0} is out of range for {1}", i, report_.describe(list)));
}

Val Brackets::list_slice(Frame& frame, const ast::Slice& slice, const Val& list) {
  Place place;
  if (!read_range(frame, slice, length(list), place)) return {};
  std::vector<Val> items;
  int64_t stop = place.stop.fixed(), step = place.step.fixed();
  for (int64_t i = place.start.fixed(); i < stop; i += step)
    items.push_back(list.items[static_cast<size_t>(i)]);
  return Val::list(std::move(items), list.kind);
}

bool Brackets::slice_bound(Frame& frame, ast::ExprId bound, const Size& size, Size& out) {
  if (!bound) return true;
  if (!expressions_.size(frame, bound, "a bound of a slice", out)) return false;
  SizeSite site(nodes_.run(), frame.ast[bound].span);
  if (place_on_axis(out, size, size)) return true;
  report_.fail(frame, error(Code::bad_attribute, frame.ast[bound].span,
                            "the bound {0} is outside of an axis of {1} elements",
                            report_.text(frame.ast[bound].span), size.sample()));
  return false;
}

bool Brackets::read_range(Frame& frame, const ast::Slice& slice, const Size& size, Place& out) {
  out.stop = size;
  if (!slice_bound(frame, slice.begin, size, out.start)) return false;
  if (!slice_bound(frame, slice.end, size, out.stop)) return false;
  if (slice.step && !expressions_.size(frame, slice.step, "the step of a slice", out.step))
    return false;
  SizeSite site(nodes_.run(), slice.span);
  if (identical(out.step, 1)) return true;
  if (out.step >= 1) { // if the step exceeds the size, only the first is taken
    out.step = std::min(out.step, std::max(size, Size(1)));
    if (out.step.sample() == 1 && out.step == 1) out.step = 1; // takes nothing away
    return true;
  }
  Diagnostic d = error(Code::bad_attribute, frame.ast[slice.step].span,
                       "the step of a slice must be at least 1, got {0}", out.step.sample());
  int64_t last = size.sample() - 1;
  if (out.step < 0 && last >= 1)
    d.help = llvm::formatv("list the indices instead: x[[{0}, {1}, …]]", last, last - 1);
  report_.fail(frame, std::move(d));
  return false;
}

bool Brackets::read_indices(Frame& frame, const ast::Slice& slice, const Val& val, Operand& out) {
  out.expr = slice.begin;
  if (!nodes_.tensor(frame, val, slice.span, out.node, DType::I64)) return false;
  DType dtype = nodes_.dtype(out.node);
  bool integers = dtype == DType::I32 || dtype == DType::I64;
  if (integers || val.is(Val::Kind::List)) return true;
  Diagnostic d = error(Code::dtype_mismatch, slice.span,
                       "an index must consist of integers, got {0}", report_.describe(val));
  if (dtype == DType::Bool)
    d.help = "shapes cannot depend on values: use `select(mask, x, 0)`, which keeps the shape";
  report_.fail(frame, std::move(d));
  return false;
}

bool Brackets::read_place(Frame& frame, const ast::Slice& slice, const Size& size, Place& out) {
  if (slice.range) return read_range(frame, slice, size, out);
  Val v = expressions_.expression(frame, slice.begin);
  if (v.poison()) return false;
  if (v.is(Val::Kind::List) || v.is(Val::Kind::Tensor))
    return read_indices(frame, slice, v, out.indices);
  if (!v.integer()) {
    report_.fail(frame, error(Code::wrong_kind, slice.span,
                              "an index must be an integer or a tensor of integers, got {0}",
                              report_.describe(v)));
    return false;
  }
  SizeSite site(nodes_.run(), slice.span);
  out.start = v.as_size();
  out.single = true;
  bool inside = place_on_axis(out.start, size, size - 1);
  out.stop = out.start + 1;
  if (inside) return true;
  report_.fail(frame, error(Code::bad_attribute, slice.span,
                            "the index {0} is out of range for an axis of {1}", v.value.number,
                            size.sample()));
  return false;
}

bool Brackets::read_places(Frame& frame, const ast::Expr& e, const OpenType& type, Places& out) {
  llvm::ArrayRef<ast::Slice> slices = frame.ast[e.slices];
  int64_t given = 0, ellipses = 0;
  for (const ast::Slice& slice : slices) ++(slice.ellipsis ? ellipses : given);
  if (given > type.rank()) {
    report_.fail(
        frame, error(Code::shape_mismatch, e.span, "got {0} indices for {1}", given, type.text()));
    return false;
  }
  if (ellipses > 1) {
    report_.fail(frame, error(Code::wrong_kind, e.span, "`...` can occur only once in an index"));
    return false;
  }
  int64_t axis = 0;
  for (const ast::Slice& slice : slices) {
    if (slice.ellipsis) {
      axis += type.rank() - given;
      continue;
    }
    Place& place = out.emplace_back();
    place.axis = axis++;
    if (!read_place(frame, slice, type[static_cast<size_t>(place.axis)], place)) return false;
  }
  return true;
}

/// Applies the part of an index that remains after the first pass: a step, or a gather.
Val Brackets::take(Frame& frame, ast::ExprId id, Operand from, int64_t axis, const Place& place) {
  OpenValue at = OpenValue::of_int(axis);
  if (place.indices.node.valid())
    return nodes_.apply(frame, id, "gather", at, {from, place.indices});
  SizeSite site(nodes_.run(), frame.ast[id].span);
  Size step = place.step, count = (place.stop - place.start + step - 1) / step;
  OpenShape shape = nodes_.type(from.node).shape, kept = shape;
  auto dim = static_cast<size_t>(axis);
  if (Size missing = count * step - shape[dim]; missing > 0) { // pad to whole steps
    OpenShape before(shape.size(), 0), after(shape.size(), 0);
    after[dim] = missing;
    Val padded = nodes_.apply(frame, id, OpKind::Pad,
                              {OpenValue::of_ints(before), OpenValue::of_ints(after)}, from);
    if (padded.poison()) return {};
    from.node = padded.node;
  }
  kept[dim] = count;
  shape[dim] = count;
  shape.insert(shape.begin() + axis + 1, step);
  Val rows = nodes_.apply(frame, id, OpKind::Reshape, OpenValue::of_ints(shape), from);
  if (rows.poison()) return {};
  Val first =
      nodes_.apply(frame, id, OpKind::Slice,
                   {OpenValue::of_int(axis + 1), OpenValue::of_int(0), OpenValue::of_int(1)},
                   Operand{rows.node, from.expr});
  if (first.poison()) return {};
  return nodes_.apply(frame, id, OpKind::Reshape, OpenValue::of_ints(kept),
                      Operand{first.node, from.expr});
}

Val Brackets::tensor_places(Frame& frame, ast::ExprId id, NodeId node) {
  const ast::Expr& e = frame.ast[id];
  Places places;
  if (!read_places(frame, e, nodes_.type(node), places)) return {};
  SizeSite site(nodes_.run(), e.span);
  for (const Place& place : places) {
    Size size = nodes_.type(node)[static_cast<size_t>(place.axis)], stop = place.stop;
    if (!identical(place.step, 1)) { // to a whole number of steps, if the axis is long enough
      Size whole = (place.stop - place.start + place.step - 1) / place.step * place.step;
      if (place.start + whole <= size) stop = place.start + whole;
    }
    // If open bounds do not cover the axis at the sample, sizes at which they do are not a separate
    // case, because the type is the same.
    bool all = place.start.sample() == 0 && stop.sample() == size.sample();
    all = all && place.start == 0 && stop == size;
    if (place.indices.node.valid() || all) continue;
    Val piece = nodes_.apply(
        frame, id, OpKind::Slice,
        {OpenValue::of_int(place.axis), OpenValue::of_int(place.start), OpenValue::of_int(stop)},
        Operand{node, e.a});
    if (piece.poison()) return {};
    node = piece.node;
  }
  llvm::SmallVector<int64_t, 6> dropped; // axes of `node`
  for (const Place& place : llvm::reverse(places)) {
    if (place.single) dropped.push_back(place.axis);
    if (identical(place.step, 1) && !place.indices.node.valid()) continue;
    int64_t before = nodes_.rank(node);
    Val taken = take(frame, id, {node, e.a}, place.axis, place);
    if (taken.poison()) return {};
    node = taken.node;
    for (int64_t& d : dropped) d += nodes_.rank(node) - before;
  }
  if (dropped.empty()) return Val::of(node);
  OpenShape kept;
  for (int64_t i = 0; i < nodes_.rank(node); ++i)
    if (!llvm::is_contained(dropped, i)) kept.push_back(nodes_.type(node)[static_cast<size_t>(i)]);
  return nodes_.apply(frame, id, OpKind::Reshape, OpenValue::of_ints(kept), Operand{node, e.a});
}

} // namespace tg::eval
