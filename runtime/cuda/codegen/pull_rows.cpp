// Operators that reduce: rows of one operand; and products and windows as plain loops,
// which a library runs faster if there is one.
#include "runtime/cuda/codegen/pull.h"

#include "lang/core/shape_rules.h"

#include <llvm/ADT/STLExtras.h>

#include <limits>

namespace tg::cuda {

namespace {

int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

} // namespace

// --- rows of one operand ------------------------------------------------------------------------

ExprId Puller::softmax(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  Coordinates at(index.begin(), index.end()), kept = at;
  kept.erase(kept.begin() + axis);
  int64_t size = operand_type(step, 0).shape[axis];
  if (!bind_row(kept, {index[axis]}, size, condition)) return number(0);
  auto element = [&](Index position) {
    at[axis] = position[0];
    return pull(step.operands[0], at, condition);
  };
  ExprId most = rows_.reduce(ReduceOp::Max, {size}, element);
  auto power = [&](ExprId x) { return apply(OpKind::Exp, apply(OpKind::Sub, x, most)); };
  ExprId sum = rows_.reduce(ReduceOp::Sum, {size}, [&](Index p) { return power(element(p)); });
  return apply(OpKind::Div, power(element({index[axis]})), sum);
}

ExprId Puller::layer_norm(const PlanStep& step, Index index, ConditionId condition) {
  Coordinates at(index.begin(), index.end());
  int64_t size = operand_type(step, 0).shape.back();
  if (!bind_row(index.drop_back(), {index.back()}, size, condition)) return number(0);
  auto element = [&](IndexId position) {
    at.back() = position;
    return pull(step.operands[0], at, condition);
  };
  ExprId count = number(static_cast<double>(size));
  ExprId sum = rows_.reduce(ReduceOp::Sum, {size}, [&](Index p) { return element(p[0]); });
  ExprId mean = apply(OpKind::Div, sum, count);
  auto centred = [&](IndexId position) { return apply(OpKind::Sub, element(position), mean); };
  ExprId squares = rows_.reduce(ReduceOp::Sum, {size}, [&](Index p) {
    ExprId distance = centred(p[0]);
    return apply(OpKind::Mul, distance, distance);
  });
  ExprId variance =
      apply(OpKind::Add, apply(OpKind::Div, squares, count), number(step.attrs[0].real));
  ExprId scaled = apply(OpKind::Mul, centred(index.back()), apply(OpKind::Rsqrt, variance));
  ExprId scale = pull(step.operands[1], {index.back()}, condition);
  ExprId bias = pull(step.operands[2], {index.back()}, condition);
  return apply(OpKind::Add, apply(OpKind::Mul, scaled, scale), bias);
}

ExprId Puller::reduction(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> shape = operand_type(step, 0).shape, axes = step.attrs[0].ints;
  bool keepdims = step.attrs[1].number != 0;
  Coordinates at, kept;
  Shape extents;
  for (size_t axis = 0, next = 0; axis < shape.size(); ++axis) {
    bool gone = llvm::is_contained(axes, static_cast<int64_t>(axis));
    at.push_back(gone ? indices_.constant(0) : index[next]);
    if (gone)
      extents.push_back(shape[axis]);
    else
      kept.push_back(index[next]);
    next += !gone || keepdims;
  }
  if (!bind_row(kept, {}, product(extents), condition)) return number(0);
  auto element = [&](Index position) {
    for (size_t axis = 0, next = 0; axis < shape.size(); ++axis)
      if (llvm::is_contained(axes, static_cast<int64_t>(axis))) at[axis] = position[next++];
    return pull(step.operands[0], at, condition);
  };
  if (step.op == OpKind::ReduceMax) return rows_.reduce(ReduceOp::Max, extents, element);
  if (step.op == OpKind::ReduceMin) return rows_.reduce(ReduceOp::Min, extents, element);
  ExprId sum = rows_.reduce(ReduceOp::Sum, extents, element);
  if (step.op == OpKind::ReduceSum) return sum;
  return apply(OpKind::Div, sum, number(static_cast<double>(product(extents))));
}

/// Every element sums its own prefix: quadratic, but one short loop for the small sizes
/// in networks.
ExprId Puller::cumsum(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  Coordinates at(index.begin(), index.end());
  int64_t size = operand_type(step, 0).shape[axis];
  if (!bind_row(index, {}, size, condition)) return number(0);
  return rows_.reduce(ReduceOp::Sum, {size}, [&](Index position) {
    IndexId ahead = indices_.subtract(index[axis], position[0]);
    ConditionId within = exprs_.also(condition, ahead, 0, size);
    at[axis] = position[0];
    ExprId x = pull(step.operands[0], at, within);
    return exprs_.choose(exprs_.also(kAlways, ahead, 0, size), x,
                         exprs_.number(exprs_[x].scalar, 0));
  });
}

ExprId Puller::argmax(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  llvm::ArrayRef<int64_t> shape = operand_type(step, 0).shape;
  Coordinates kept(index.begin(), index.end());
  if (step.attrs[1].number != 0) kept.erase(kept.begin() + axis);
  if (!bind_row(kept, {}, shape[axis], condition)) return exprs_.number(Scalar::Integer, 0);
  Coordinates at = kept;
  at.insert(at.begin() + axis, indices_.constant(0));
  auto element = [&](Index position) {
    at[axis] = position[0];
    return pull(step.operands[0], at, condition);
  };
  ExprId most = rows_.reduce(ReduceOp::Max, {shape[axis]}, element);
  ExprId none = exprs_.number(Scalar::Integer, static_cast<double>(shape[axis]));
  return rows_.reduce(ReduceOp::Min, {shape[axis]}, [&](Index position) {
    ExprId x = element(position); // a NaN makes `most` NaN, which equals nothing
    ExprId found = compare(OpKind::LogicalOr, compare(OpKind::Equal, x, most),
                           compare(OpKind::NotEqual, x, x));
    return exprs_.apply(OpKind::Select, Scalar::Integer, {found, exprs_.index(position[0]), none});
  });
}

// --- products and windows, as plain loops --------------------------------------------------------

ExprId Puller::epilogue(const PlanStep& step, ExprId sum, IndexId channel, Index index,
                        ConditionId condition, const Value& act) {
  if (step.operands[2] != kNoValue)
    sum = apply(OpKind::Add, sum, pull(step.operands[2], {channel}, condition));
  if (step.operands[3] != kNoValue)
    sum = apply(OpKind::Add, sum, pull(step.operands[3], index, condition));
  std::optional<OpKind> op = act_op(parse_act(act.text).value_or(Act::None));
  return op ? apply(*op, sum) : sum;
}

ExprId Puller::matmul(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> x = operand_type(step, 0).shape, y = operand_type(step, 1).shape;
  int64_t depth = x.back();
  if (!bind_row(index, {}, depth, condition)) return number(0);
  Index batch = index.drop_back(2);
  Coordinates left = broadcast(batch, x.drop_back(2)), right = broadcast(batch, y.drop_back(2));
  left.append({index[index.size() - 2], 0});
  right.append({0, index.back()});
  ExprId sum = rows_.reduce(ReduceOp::Sum, {depth}, [&](Index k) {
    left.back() = right[right.size() - 2] = k[0];
    return apply(OpKind::Mul, pull(step.operands[0], left, condition),
                 pull(step.operands[1], right, condition));
  });
  return epilogue(step, sum, index.back(), index, condition, step.attrs[0]);
}

ExprId Puller::conv2d(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> x = operand_type(step, 0).shape, w = operand_type(step, 1).shape;
  llvm::ArrayRef<int64_t> stride = step.attrs[0].ints, dilation = step.attrs[2].ints;
  if (!bind_row(index, {}, product(w.drop_front()), condition)) return number(0);
  int64_t per_group = type(step.result).shape[1] / (x[1] / w[1]);
  IndexId first = indices_.scale(indices_.divide(index[1], per_group), w[1]);
  ExprId sum = rows_.reduce(ReduceOp::Sum, w.drop_front(), [&](Index tap) {
    ConditionId inside = condition;
    Coordinates at = {index[0], indices_.add(first, tap[0])};
    for (int axis = 0; axis < 2; ++axis) {
      int64_t before =
          window(x[2 + axis], w[2 + axis], stride[axis], dilation[axis], step.attrs[1], axis)
              ->before;
      IndexId row = indices_.add(indices_.scale(index[2 + axis], stride[axis]),
                                 indices_.scale(tap[1 + axis], dilation[axis]));
      at.push_back(indices_.shift(row, -before));
      inside = exprs_.also(inside, at.back(), 0, x[2 + axis] - 1);
    }
    ExprId pixel = pull(step.operands[0], at, inside); // 0 outside if it is a load
    if (inside != condition) pixel = exprs_.choose(inside, pixel, number(0));
    return apply(OpKind::Mul, pixel,
                 pull(step.operands[1], {index[1], tap[0], tap[1], tap[2]}, condition));
  });
  return epilogue(step, sum, index[1], index, condition, step.attrs[3]);
}

ExprId Puller::pool(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> x = operand_type(step, 0).shape, kernel = step.attrs[0].ints;
  llvm::ArrayRef<int64_t> stride = step.attrs[1].ints;
  if (!bind_row(index, {}, product(kernel), condition)) return number(0);
  bool most = step.op == OpKind::MaxPool2d;
  bool integer = scalar_of(type(step.result).dtype) == Scalar::Integer;
  bool always_inside = true;
  auto place = [&](Index tap, Coordinates& at) {
    ConditionId inside = kAlways;
    at = {index[0], index[1]};
    for (int axis = 0; axis < 2; ++axis) {
      Window w = *window(x[2 + axis], kernel[axis], stride[axis], 1, step.attrs[2], axis);
      IndexId row = indices_.add(indices_.scale(index[2 + axis], stride[axis]), tap[axis]);
      at.push_back(indices_.shift(row, -w.before));
      inside = exprs_.also(inside, at.back(), 0, x[2 + axis] - 1);
    }
    always_inside &= inside == kAlways;
    return inside;
  };
  double outside = most ? -std::numeric_limits<double>::infinity() : 0;
  if (most && integer) outside = static_cast<double>(std::numeric_limits<int64_t>::min());
  auto element = [&](Index tap) {
    Coordinates at;
    ConditionId inside = place(tap, at), both = condition;
    for (const ConditionTerm& term : llvm::to_vector(exprs_.terms(inside)))
      both = exprs_.also(both, term.id, term.low, term.high);
    ExprId value = pull(step.operands[0], at, both);
    return exprs_.choose(inside, value, exprs_.number(exprs_[value].scalar, outside));
  };
  ExprId result = rows_.reduce(most ? ReduceOp::Max : ReduceOp::Sum, kernel, element);
  if (most) return result;
  ExprId count = number(static_cast<double>(product(kernel)));
  if (!always_inside && step.attrs[3].number == 0)
    count = rows_.reduce(ReduceOp::Sum, kernel, [&](Index tap) {
      Coordinates at;
      return exprs_.choose(place(tap, at), number(1), number(0));
    });
  return apply(OpKind::Div, result, count);
}

} // namespace tg::cuda
