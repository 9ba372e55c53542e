// Operators that move elements: they change the index, guard loads, and compute nothing.
#include "runtime/cuda/codegen/pull.h"

#include <limits>

namespace tg::cuda {

ExprId Puller::concat(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  int64_t start = 0;
  std::optional<ExprId> result;
  for (PlanValueId operand : step.operands) {
    int64_t size = type(operand).shape[axis];
    Coordinates at(index.begin(), index.end());
    at[axis] = indices_.shift(index[axis], -start);
    start += size;
    const IndexForm& form = indices_.form(at[axis]);
    if (form.high < 0 || form.low >= size) continue; // no lane of this loop reaches it
    ExprId piece = pull(operand, at, exprs_.also(condition, at[axis], 0, size - 1));
    // Whoever asks lies within one piece: the last that does not begin behind it.
    ConditionId begun = exprs_.also(kAlways, at[axis], 0, int64_t{1} << 48);
    result = result ? exprs_.choose(begun, piece, *result) : piece;
  }
  return *result;
}

ExprId Puller::slice(const PlanStep& step, Index index, ConditionId condition) {
  Coordinates at(index.begin(), index.end());
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  at[axis] = indices_.shift(at[axis], step.attrs[1].number);
  return pull(step.operands[0], at, condition);
}

ExprId Puller::reshape(const PlanStep& step, Index index, ConditionId condition) {
  IndexId offset = indices_.offset(index, contiguous_strides(type(step.result).shape));
  return pull(step.operands[0], indices_.split(offset, operand_type(step, 0).shape), condition);
}

ExprId Puller::transpose(const PlanStep& step, Index index, ConditionId condition) {
  Coordinates at(index.size());
  for (size_t axis = 0; axis < index.size(); ++axis) at[step.attrs[0].ints[axis]] = index[axis];
  return pull(step.operands[0], at, condition);
}

ExprId Puller::padded(const PlanStep& step, llvm::ArrayRef<int64_t> before, double value,
                      Index index, ConditionId condition) {
  Coordinates at;
  ConditionId inside = kAlways, both = condition;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    int64_t last = operand_type(step, 0).shape[axis] - 1;
    at.push_back(indices_.shift(index[axis], -before[axis]));
    inside = exprs_.also(inside, at.back(), 0, last);
    both = exprs_.also(both, at.back(), 0, last);
  }
  ExprId x = pull(step.operands[0], at, both);
  return exprs_.choose(inside, x, exprs_.number(exprs_[x].scalar, value));
}

ExprId Puller::pad(const PlanStep& step, Index index, ConditionId condition) {
  return padded(step, step.attrs[0].ints, step.attrs[2].real, index, condition);
}

ExprId Puller::enlarge(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> w = operand_type(step, 0).shape, large = type(step.result).shape;
  return padded(step, {0, 0, (large[2] - w[2]) / 2, (large[3] - w[3]) / 2}, 0, index, condition);
}

ExprId Puller::merge_gconv(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> w = operand_type(step, 0).shape;
  int64_t count = step.attrs[0].number, per_group = w[0] / step.attrs[1].number;
  IndexId place = indices_.modulo(indices_.divide(index[0], per_group), count);
  Coordinates at(index.begin(), index.end());
  at[1] = indices_.subtract(index[1], indices_.scale(place, w[1]));
  ExprId x = pull(step.operands[0], at, exprs_.also(condition, at[1], 0, w[1] - 1));
  return exprs_.choose(exprs_.also(kAlways, at[1], 0, w[1] - 1), x,
                       exprs_.number(exprs_[x].scalar, 0));
}

ExprId Puller::gather(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  const TensorType &x = operand_type(step, 0), &indices = operand_type(step, 1);
  size_t rank = indices.shape.size();
  ExprId found = pull(step.operands[1], index.slice(axis, rank), condition);
  int64_t last = x.shape[axis] - 1;
  Coordinates at(index.begin(), index.begin() + axis);
  at.push_back(indices_.loaded(found, 0, last, exprs_[found].variables));
  at.append(index.begin() + axis + rank, index.end());
  ExprId value = pull(step.operands[0], at, exprs_.also_value(condition, found, 0, last));
  double missing = is_float(x.dtype) ? std::numeric_limits<double>::quiet_NaN() : 0;
  return exprs_.choose(exprs_.also_value(kAlways, found, 0, last), value,
                       exprs_.number(exprs_[value].scalar, missing));
}

ExprId Puller::iota(const PlanStep& step, Index index, ConditionId) {
  ExprId value = exprs_.index(index[static_cast<size_t>(step.attrs[1].number)]);
  return scalar_of(type(step.result).dtype) == Scalar::Float ? exprs_.convert(DType::F32, value)
                                                             : value;
}

} // namespace tg::cuda
