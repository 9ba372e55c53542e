// Gradients of layout operators and slices: the inverse movement.
#include "compiler/ir/grad/rules.h"

namespace tg::grad {

namespace {

/// Slices x to a size along each axis, starting at the given offsets.
NodeId cut(NodeBuilder& b, NodeId x, NodeBuilder::Ints before, NodeBuilder::Ints shape) {
  for (size_t i = 0; i < shape.size(); ++i)
    x = b.slice(x, static_cast<int64_t>(i), before[i], before[i] + shape[i]);
  return x;
}

NodeId scattered(NodeBuilder& b, NodeId onto, NodeId indices, NodeId updates, int64_t axis,
                 llvm::StringRef reduce) {
  return b.op(OpKind::Scatter, {onto, indices, updates},
              {{"axis", Value::of_int(axis)}, {"reduce", Value::of_string(reduce)}});
}

} // namespace

/// Casts between floats; `carries` excludes other casts.
void cast(Reverse& r) {
  if (r.wanted(0)) r.add_gradient(0, r.b.cast(r.dy, r.b.dtype(r.x())));
}

void concat(Reverse& r) {
  int64_t axis = r.number("axis"), start = 0;
  for (size_t i = 0; i < r.operands.size(); ++i) {
    int64_t stop = start + r.b.size(r.operands[i], axis);
    if (r.wanted(i)) r.add_gradient(i, r.b.slice(r.dy, axis, start, stop));
    start = stop;
  }
}

void slice(Reverse& r) {
  Shape before(static_cast<size_t>(r.b.rank(r.x())), 0), after = before;
  auto axis = static_cast<size_t>(r.number("axis"));
  before[axis] = r.number("start");
  after[axis] = r.b.shape(r.x())[axis] - r.number("stop");
  r.add_gradient(0, r.b.pad(r.dy, before, after));
}

/// Each element of a window is added to the element that it is.
void windows(Reverse& r) {
  NodeBuilder& b = r.b;
  auto axis = static_cast<size_t>(r.number("axis"));
  Shape flat = copied(b.shape(r.x()));
  int64_t count = b.size(r.node, r.number("axis")), size = r.number("size");
  auto places_of = [&](int64_t along, llvm::StringRef apart) {
    return b.mul(b.iota({DType::I64, {count, size}}, along), static_cast<double>(r.number(apart)));
  };
  NodeId places = b.add(places_of(0, "step"), places_of(1, "dilation"));
  flat[axis] = count * size;
  r.add_gradient(0, scattered(b, b.filled(0, b.type(r.x())), b.reshape(places, {flat[axis]}),
                              b.reshape(r.dy, flat), static_cast<int64_t>(axis), "add"));
}

void reshape(Reverse& r) { r.add_gradient(0, r.b.reshape(r.dy, r.b.shape(r.x()))); }

void transpose(Reverse& r) {
  NodeBuilder::Ints perm = r.ints("perm");
  Shape back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  r.add_gradient(0, r.b.transpose(r.dy, back));
}

void pad(Reverse& r) { r.add_gradient(0, cut(r.b, r.dy, r.ints("before"), r.b.shape(r.x()))); }

void enlarge(Reverse& r) {
  NodeBuilder::Ints small = r.b.shape(r.x()), large = r.b.shape(r.node);
  Shape before = {0, 0, (large[2] - small[2]) / 2, (large[3] - small[3]) / 2};
  r.add_gradient(0, cut(r.b, r.dy, before, small));
}

/// In [.., count, O, count, I, ..], only rows of the i-th group and columns of the i-th place carry
/// a gradient.
void merge_gconv(Reverse& r) {
  NodeBuilder& b = r.b;
  int64_t count = r.number("count"), groups = r.number("groups");
  int64_t rows = b.size(r.x(), 0) / groups, row = b.type(r.x()).elements() / b.size(r.x(), 0);
  NodeId apart = b.reshape(r.dy, {groups / count, count, rows, count, row});
  TensorType square{DType::F32, {count, 1, count, 1}};
  NodeId own = b.equal(b.iota(square, 0), b.iota(square, 2));
  NodeId kept = b.select(own, apart, b.like(r.dy, 0));
  r.add_gradient(0, b.reshape(b.reduce(OpKind::ReduceSum, kept, {3}, false), b.shape(r.x())));
}

/// Sums the gradients of slices taken several times. An index outside of x gave NaN, which has no
/// gradient.
void gather(Reverse& r) {
  if (!r.wanted(0)) return;
  NodeBuilder& b = r.b;
  auto axis = static_cast<size_t>(r.number("axis"));
  Shape flat = copied(b.shape(r.x()));
  flat[axis] = b.type(r.operands[1]).elements();
  r.add_gradient(0, scattered(b, b.filled(0, b.type(r.x())), b.reshape(r.operands[1], {flat[axis]}),
                              b.reshape(r.dy, flat), static_cast<int64_t>(axis), "add"));
}

void broadcast(Reverse& r) { r.add_gradient(0, r.dy); }

namespace {

/// Returns dy for the updates whose number remains after the numbers are scattered to the indices.
/// With distinct numbers this selects the last update of each index; with equal numbers, all
/// updates inside x.
NodeId gradient_of_remaining_updates(Reverse& r, int64_t axis, NodeId numbers) {
  NodeBuilder& b = r.b;
  NodeId none = b.filled(0, {DType::I64, {b.size(r.x(), axis)}});
  NodeId left = scattered(b, none, r.operands[1], numbers, 0, "none");
  Shape column(static_cast<size_t>(b.rank(r.x()) - axis), 1);
  column[0] = b.size(numbers, 0);
  NodeId counts = b.reshape(b.equal(b.gather(left, r.operands[1], 0), numbers), column);
  return b.select(counts, b.gather(r.dy, r.operands[1], axis), b.like(r.dy, 0));
}

/// Overwritten elements of x have no gradient; of updates with the same index only the last has
/// one.
void scatter_none(Reverse& r, int64_t axis) {
  NodeBuilder& b = r.b;
  NodeId nothing = b.filled(0, b.type(r.operands[2]));
  if (r.wanted(0)) r.add_gradient(0, scattered(b, r.dy, r.operands[1], nothing, axis, "none"));
  TensorType numbers{DType::I64, {b.size(r.operands[2], axis)}};
  if (r.wanted(2))
    r.add_gradient(
        2, gradient_of_remaining_updates(r, axis, b.add(b.iota(numbers, 0), b.filled(1, numbers))));
}

void scatter_add(Reverse& r, int64_t axis) {
  r.add_gradient(0, r.dy);
  TensorType numbers{DType::I64, {r.b.size(r.operands[2], axis)}};
  if (r.wanted(2))
    r.add_gradient(2, gradient_of_remaining_updates(r, axis, r.b.filled(1, numbers)));
}

/// The gradient is the product of x and all other updates; `rest` has the nonzero ones. A zero
/// update has a gradient only if it is the only zero; other updates have one only if there is no
/// zero.
void scatter_mul(Reverse& r, int64_t axis) {
  NodeBuilder& b = r.b;
  NodeId indices = r.operands[1], u = r.operands[2];
  if (r.wanted(0)) r.add_gradient(0, scattered(b, r.dy, indices, u, axis, "mul"));
  if (!r.wanted(2)) return;
  NodeId is_zero = b.equal(u, b.like(u, 0));
  NodeId zero = b.cast(is_zero, b.dtype(u)), factor = b.select(is_zero, b.like(u, 1), u);
  NodeId zeros = scattered(b, b.filled(0, b.type(r.x())), indices, zero, axis, "add");
  NodeId rest = scattered(b, b.mul(r.x(), r.dy), indices, factor, axis, "mul");
  NodeId counts = b.equal(b.gather(zeros, indices, axis), zero);
  // Select before dividing: the NaN outside of x would make a second gradient NaN.
  r.add_gradient(2, b.div(b.select(counts, b.gather(rest, indices, axis), b.like(u, 0)), factor));
}

/// Sends the gradient to the largest or smallest of x and the updates. Equal elements share it.
void scatter_extreme(Reverse& r, int64_t axis) {
  NodeBuilder& b = r.b;
  NodeId indices = r.operands[1], u = r.operands[2], zero = b.like(r.dy, 0);
  NodeId of_x = b.equal(r.x(), r.node), of_u = b.equal(u, b.gather(r.node, indices, axis));
  DType dtype = b.dtype(r.dy);
  NodeId count = scattered(b, b.cast(of_x, dtype), indices, b.cast(of_u, dtype), axis, "add");
  NodeId share = b.div(r.dy, count);
  r.add_gradient(0, b.select(of_x, share, zero));
  r.add_gradient(2, b.select(of_u, b.gather(share, indices, axis), zero));
}

} // namespace

void scatter(Reverse& r) {
  int64_t axis = r.number("axis");
  llvm::StringRef reduce = r.attr("reduce").text;
  if (reduce == "none") return scatter_none(r, axis);
  if (reduce == "add") return scatter_add(r, axis);
  if (reduce == "mul") return scatter_mul(r, axis);
  scatter_extreme(r, axis);
}

} // namespace tg::grad
