// Unique by sorting: equal elements (or rows along an axis) become neighbours, and a group begins
// where an element differs from the previous one. Sorting is stable, so a group begins with the
// element that comes first in the input.
//
//   order    positions in the input, sorted         groups   which sorted elements begin a group
//   starts   sorted positions of groups' firsts     rank     the group of each element
#include "compiler/import/onnx/read/forms/unique.h"

namespace tg::onnx {
namespace {

/// Rows are sorted by comparing all pairs.
constexpr int64_t kMostCompared = int64_t{1} << 26;

/// Returns positions in sorted order, the smallest or largest first; equal elements in input order.
NodeId sorted_places(Emitter& e, NodeId x, bool largest = false) {
  return e.named("top_k", {x},
                 {{"axis", Value::of_int(0)},
                  {"k", Value::of_int(e.size(x, 0))},
                  {"largest", Value::of_bool(largest)}});
}

NodeId both(Emitter& e, NodeId a, NodeId b) { return e.op(OpKind::LogicalAnd, {a, b}); }

/// NaN differs from numbers, but not from NaN.
NodeId differ(Emitter& e, NodeId a, NodeId b) {
  NodeId unequal = e.op(OpKind::NotEqual, {a, b});
  if (!is_float(e.dtype(a))) return unequal;
  NodeId numbers = e.op(OpKind::LogicalOr, {e.equal(a, a), e.equal(b, b)});
  return both(e, unequal, numbers);
}

/// Returns true for rows [.., m] with any true element.
NodeId any(Emitter& e, NodeId flags) {
  NodeId count = e.reduce(OpKind::ReduceMax, e.cast(flags, DType::I32), {e.rank(flags) - 1}, false);
  return e.op(OpKind::NotEqual, {count, e.like(count, 0)});
}

/// Returns the positions of rows x[n, m] in lexicographic order. A row comes after rows that are
/// smaller where the two first differ, and after equal rows that precede it.
NodeId sorted_rows(Emitter& e, NodeId x) {
  int64_t n = e.size(x, 0), m = e.size(x, 1);
  if (m == 1) return sorted_places(e, e.reshape(x, {n}));
  NodeId a = e.reshape(x, {n, 1, m}), b = e.reshape(x, {1, n, m});
  NodeId unequal = e.cast(differ(e, a, b), DType::I32);
  NodeId first = e.op(OpKind::Argmax, {unequal},
                      {{"axis", Value::of_int(2)}, {"keepdims", Value::of_bool(true)}});
  NodeId here = e.equal(e.iota({DType::I64, {1, 1, m}}, 2), first);
  NodeId below = e.less(b, a);
  if (is_float(e.dtype(x))) // NaN is the largest
    below =
        e.op(OpKind::LogicalOr, {below, both(e, e.equal(b, b), e.op(OpKind::NotEqual, {a, a}))});
  NodeId smaller = any(e, both(e, here, below));
  NodeId before = e.less(e.iota({DType::I64, {n, n}}, 1), e.iota({DType::I64, {n, n}}, 0));
  NodeId is_behind =
      e.select(any(e, e.op(OpKind::NotEqual, {unequal, e.like(unequal, 0)})), smaller, before);
  NodeId rank = e.reduce(OpKind::ReduceSum, e.cast(is_behind, DType::I64), {1}, false);
  return sorted_places(e, rank);
}

struct Groups {
  NodeId firsts; // i64[n]: input position of each group's first element; n after the count
  NodeId sizes;  // i64[n]: 0 after the count
  NodeId ranks;  // i64[n]: the group of each element
  NodeId count;  // i64
  NodeId there;  // bool[n]: the first `count`
};

/// Replaces the padding of positions by 0, since other runtimes reject positions out of range.
NodeId inside(Emitter& e, NodeId there, NodeId places) {
  return e.select(there, places, e.like(places, 0));
}

/// Returns the groups of rows x[n, m], sorted.
Groups groups_of(Emitter& e, NodeId x) {
  int64_t n = e.size(x, 0);
  NodeId order = sorted_rows(e, x), rows = e.gather(x, order, 0);
  NodeId begins =
      e.cast(e.equal(e.iota({DType::I64, {1}}, 0), e.scalar(0, DType::I64)), DType::I64);
  if (n > 1) {
    NodeId changes = any(e, differ(e, e.slice(rows, 0, 1, n), e.slice(rows, 0, 0, n - 1)));
    begins = e.concat({begins, e.cast(changes, DType::I64)}, 0);
  }
  Groups made;
  made.count = e.reduce(OpKind::ReduceSum, begins, {0}, false);
  made.there = e.less(e.iota({DType::I64, {n}}, 0), made.count);
  NodeId end = e.filled(static_cast<double>(n), {DType::I64, {n}});
  NodeId starts = e.select(made.there, sorted_places(e, begins, /*largest=*/true), end);
  NodeId last = e.slice(end, 0, 0, 1);
  NodeId next = n > 1 ? e.concat({e.slice(starts, 0, 1, n), last}, 0) : last;
  made.sizes = e.sub(next, starts);
  made.firsts = e.select(made.there, e.gather(order, inside(e, made.there, starts), 0), end);
  NodeId group = e.sub(e.named("cumsum", {begins}, {{"axis", Value::of_int(0)}}), 1.0);
  made.ranks = e.gather(group, sorted_places(e, order), 0);
  return made;
}

/// Sorts the groups by their first position in the input.
void sort_by_first_position(Emitter& e, Groups& groups) {
  NodeId order = sorted_places(e, groups.firsts);
  groups.firsts = e.gather(groups.firsts, order, 0);
  groups.sizes = e.gather(groups.sizes, order, 0);
  groups.ranks = e.gather(sorted_places(e, order), groups.ranks, 0);
}

} // namespace

void unique(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  bool is_sorted = flag(call, "sorted", true), is_flat = !call.attribute("axis");
  if (call.failed()) return;
  int64_t axis = is_flat ? 0 : call.axis(call.whole("axis", 0), e.rank(x));
  if (is_flat) x = e.reshape(x, {e.type(x).elements()});
  if (call.failed()) return;
  int64_t n = e.size(x, axis), m = e.type(x).elements() / n;
  if (m > 1 && n > kMostCompared / n / m) {
    call.fail("sorting " + llvm::Twine(n) + " rows of " + llvm::Twine(m) +
              " elements takes more than " + llvm::Twine(kMostCompared) + " comparisons");
    return;
  }
  Shape perm = {axis};
  for (int64_t i = 0; i < e.rank(x); ++i)
    if (i != axis) perm.push_back(i);
  NodeId rows = e.reshape(e.transpose(x, perm), {n, m});
  if (e.dtype(rows) == DType::Bool) rows = e.cast(rows, DType::I32);
  Groups groups = groups_of(e, rows);
  if (!is_sorted) sort_by_first_position(e, groups);
  Shape line(static_cast<size_t>(e.rank(x)), 1);
  line[static_cast<size_t>(axis)] = n;
  NodeId there = e.reshape(groups.there, line);
  NodeId taken = e.gather(x, inside(e, groups.there, groups.firsts), axis);
  bool is_bool = e.dtype(x) == DType::Bool;
  NodeId none = is_bool ? e.cast(e.scalar(0, DType::I32), DType::Bool) : e.like(x, 0);
  NodeId indices = e.select(groups.there, groups.firsts, e.like(groups.firsts, -1));
  padded_result(call, 0, e.select(there, taken, none), groups.count, axis);
  if (call.uses_result(1)) padded_result(call, 1, indices, groups.count, 0);
  if (call.uses_result(2)) call.result(2, groups.ranks);
  if (call.uses_result(3)) padded_result(call, 3, groups.sizes, groups.count, 0);
}

} // namespace tg::onnx
