// Layout and pieces: the gradient moves the other way.
#include "compiler/ir/grad/rules.h"

namespace tg::grad {

namespace {

/// x cut to a size along each axis, from these places on.
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

/// Between floats; `carries` lets no other through.
void cast(Reverse& r) {
  if (r.wanted(0)) r.give(0, r.b.cast(r.dy, r.b.dtype(r.x())));
}

void concat(Reverse& r) {
  int64_t axis = r.number("axis"), start = 0;
  for (size_t i = 0; i < r.operands.size(); ++i) {
    int64_t stop = start + r.b.size(r.operands[i], axis);
    if (r.wanted(i)) r.give(i, r.b.slice(r.dy, axis, start, stop));
    start = stop;
  }
}

void slice(Reverse& r) {
  Shape before(static_cast<size_t>(r.b.rank(r.x())), 0), after = before;
  auto axis = static_cast<size_t>(r.number("axis"));
  before[axis] = r.number("start");
  after[axis] = r.b.shape(r.x())[axis] - r.number("stop");
  r.give(0, r.b.pad(r.dy, before, after));
}

void reshape(Reverse& r) { r.give(0, r.b.reshape(r.dy, r.b.shape(r.x()))); }

void transpose(Reverse& r) {
  NodeBuilder::Ints perm = r.ints("perm");
  Shape back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  r.give(0, r.b.transpose(r.dy, back));
}

void pad(Reverse& r) { r.give(0, cut(r.b, r.dy, r.ints("before"), r.b.shape(r.x()))); }

void enlarge(Reverse& r) {
  NodeBuilder::Ints small = r.b.shape(r.x()), large = r.b.shape(r.node);
  Shape before = {0, 0, (large[2] - small[2]) / 2, (large[3] - small[3]) / 2};
  r.give(0, cut(r.b, r.dy, before, small));
}

/// Of [.., count, O, count, I, ..], rows of the i-th group and columns of the i-th place belong
/// together.
void merge_gconv(Reverse& r) {
  NodeBuilder& b = r.b;
  int64_t count = r.number("count"), groups = r.number("groups");
  int64_t rows = b.size(r.x(), 0) / groups, row = b.type(r.x()).elements() / b.size(r.x(), 0);
  NodeId apart = b.reshape(r.dy, {groups / count, count, rows, count, row});
  TensorType square{DType::F32, {count, 1, count, 1}};
  NodeId own = b.equal(b.iota(square, 0), b.iota(square, 2));
  NodeId kept = b.select(own, apart, b.like(r.dy, 0));
  r.give(0, b.reshape(b.reduce(OpKind::ReduceSum, kept, {3}, false), b.shape(r.x())));
}

/// Slices that were taken several times add up; an index outside of x took NaN, which gives
/// nothing.
void gather(Reverse& r) {
  if (!r.wanted(0)) return;
  NodeBuilder& b = r.b;
  auto axis = static_cast<size_t>(r.number("axis"));
  Shape flat = copied(b.shape(r.x()));
  flat[axis] = b.type(r.operands[1]).elements();
  r.give(0, scattered(b, b.filled(0, b.type(r.x())), b.reshape(r.operands[1], {flat[axis]}),
                      b.reshape(r.dy, flat), static_cast<int64_t>(axis), "add"));
}

void broadcast(Reverse& r) { r.give(0, r.dy); }

/// Written over: nothing is left of x there, and of updates with one index the last counts. Added:
/// all of it. Which updates count, none of them outside of x, the same operator tells of their
/// numbers.
void scatter(Reverse& r) {
  NodeBuilder& b = r.b;
  llvm::StringRef reduce = r.attr("reduce").text;
  bool adds = reduce == "add";
  if (!adds && reduce != "none")
    return r.refuse("there is no rule for reduce = \"" + reduce.str() + "\"");
  int64_t axis = r.number("axis"), size = b.size(r.x(), axis), count = b.size(r.operands[2], axis);
  NodeId indices = r.operands[1];
  NodeId nothing = b.filled(0, b.type(r.operands[2]));
  if (r.wanted(0)) r.give(0, adds ? r.dy : scattered(b, r.dy, indices, nothing, axis, "none"));
  if (!r.wanted(2)) return;
  TensorType numbers{DType::I64, {count}};
  NodeId own = b.filled(1, numbers);
  if (!adds) own = b.add(b.iota(numbers, 0), own);
  NodeId left = scattered(b, b.filled(0, {DType::I64, {size}}), indices, own, 0, "none");
  Shape column(static_cast<size_t>(b.rank(r.x()) - axis), 1);
  column[0] = count;
  NodeId counts = b.reshape(b.equal(b.gather(left, indices, 0), own), column);
  r.give(2, b.select(counts, b.gather(r.dy, indices, axis), nothing));
}

} // namespace tg::grad
