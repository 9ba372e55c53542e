// Operators that move elements: they change the index, guard loads, and compute nothing.
#include "runtime/cuda/codegen/pull.h"
#include "runtime/kernel_table.h"

#include <limits>

namespace tg::cuda {

namespace {

/// The expression of one element of an operator that moves elements.
class Move {
public:
  using Index = llvm::ArrayRef<IndexId>;
  Move(Puller& puller, const PlanStep& step, Index index, ConditionId condition)
      : puller_(puller), step_(step), index_(index), condition_(condition),
        indices_(puller.indices()), exprs_(puller.exprs()) {}

  ExprId concat();
  ExprId slice();
  ExprId windows();
  ExprId reshape();
  ExprId transpose();
  ExprId pad();
  ExprId enlarge();
  ExprId merge_gconv();
  ExprId gather();
  ExprId iota();

private:
  using Coordinates = llvm::SmallVector<IndexId, 5>;
  ExprId padded(llvm::ArrayRef<int64_t> before, const Value& value);
  const TensorType& operand_type(size_t i) const { return puller_.type(step_.operands[i]); }

  Puller& puller_;
  const PlanStep& step_;
  Index index_;
  ConditionId condition_;
  IndexPool& indices_;
  ExprPool& exprs_;
};

ExprId Move::concat() {
  size_t axis = static_cast<size_t>(step_.attrs[0].number);
  int64_t start = 0;
  std::optional<ExprId> result;
  for (PlanValueId operand : step_.operands) {
    int64_t size = puller_.type(operand).shape[axis];
    Coordinates at(index_.begin(), index_.end());
    at[axis] = indices_.shift(index_[axis], -start);
    start += size;
    const IndexForm& form = indices_.form(at[axis]);
    if (form.high < 0 || form.low >= size) continue; // no lane of this loop reaches it
    ExprId piece = puller_.pull(operand, at, exprs_.also(condition_, at[axis], 0, size - 1));
    // An element is in exactly one piece: the last piece that does not begin after it.
    ConditionId begun = exprs_.also(kAlways, at[axis], 0, int64_t{1} << 48);
    result = result ? exprs_.choose(begun, piece, *result) : piece;
  }
  return *result;
}

ExprId Move::slice() {
  Coordinates at(index_.begin(), index_.end());
  size_t axis = static_cast<size_t>(step_.attrs[0].number);
  at[axis] = indices_.shift(at[axis], step_.attrs[1].number);
  return puller_.pull(step_.operands[0], at, condition_);
}

ExprId Move::windows() {
  size_t axis = static_cast<size_t>(step_.attrs[0].number);
  Coordinates at(index_.begin(), index_.end());
  at[axis] = indices_.add(indices_.scale(index_[axis], step_.attrs[2].number),
                          indices_.scale(index_[axis + 1], step_.attrs[3].number));
  at.erase(at.begin() + axis + 1);
  return puller_.pull(step_.operands[0], at, condition_);
}

ExprId Move::reshape() {
  IndexId offset = indices_.offset(index_, contiguous_strides(puller_.type(step_.result).shape));
  return puller_.pull(step_.operands[0], indices_.split(offset, operand_type(0).shape), condition_);
}

ExprId Move::transpose() {
  Coordinates at(index_.size());
  for (size_t axis = 0; axis < index_.size(); ++axis) at[step_.attrs[0].ints[axis]] = index_[axis];
  return puller_.pull(step_.operands[0], at, condition_);
}

ExprId Move::padded(llvm::ArrayRef<int64_t> before, const Value& value) {
  Coordinates at;
  ConditionId inside = kAlways, both = condition_;
  for (size_t axis = 0; axis < index_.size(); ++axis) {
    int64_t last = operand_type(0).shape[axis] - 1;
    at.push_back(indices_.shift(index_[axis], -before[axis]));
    inside = exprs_.also(inside, at.back(), 0, last);
    both = exprs_.also(both, at.back(), 0, last);
  }
  ExprId x = puller_.pull(step_.operands[0], at, both);
  return exprs_.choose(inside, x, exprs_.number(exprs_[x].scalar, value));
}

ExprId Move::pad() { return padded(step_.attrs[0].ints, step_.attrs[2]); }

ExprId Move::enlarge() {
  llvm::ArrayRef<int64_t> w = operand_type(0).shape, large = puller_.type(step_.result).shape;
  return padded({0, 0, (large[2] - w[2]) / 2, (large[3] - w[3]) / 2}, Value::of_float(0));
}

ExprId Move::merge_gconv() {
  llvm::ArrayRef<int64_t> w = operand_type(0).shape;
  int64_t count = step_.attrs[0].number, per_group = w[0] / step_.attrs[1].number;
  IndexId place = indices_.modulo(indices_.divide(index_[0], per_group), count);
  Coordinates at(index_.begin(), index_.end());
  at[1] = indices_.subtract(index_[1], indices_.scale(place, w[1]));
  ExprId x = puller_.pull(step_.operands[0], at, exprs_.also(condition_, at[1], 0, w[1] - 1));
  return exprs_.choose(exprs_.also(kAlways, at[1], 0, w[1] - 1), x,
                       exprs_.number(exprs_[x].scalar, 0));
}

ExprId Move::gather() {
  size_t axis = static_cast<size_t>(step_.attrs[0].number);
  const TensorType &x = operand_type(0), &indices = operand_type(1);
  size_t rank = indices.shape.size();
  ExprId found = puller_.pull(step_.operands[1], index_.slice(axis, rank), condition_);
  int64_t last = x.shape[axis] - 1;
  Coordinates at(index_.begin(), index_.begin() + axis);
  at.push_back(indices_.loaded(found, 0, last, exprs_[found].variables));
  at.append(index_.begin() + axis + rank, index_.end());
  ExprId value = puller_.pull(step_.operands[0], at, exprs_.also_value(condition_, found, 0, last));
  double missing = is_float(x.dtype) ? std::numeric_limits<double>::quiet_NaN() : 0;
  return exprs_.choose(exprs_.also_value(kAlways, found, 0, last), value,
                       exprs_.number(exprs_[value].scalar, missing));
}

ExprId Move::iota() {
  ExprId value = exprs_.index(index_[static_cast<size_t>(step_.attrs[1].number)]);
  return scalar_of(puller_.type(step_.result).dtype) == Scalar::Float
             ? exprs_.convert(DType::F32, value)
             : value;
}

using MoveFn = ExprId (Move::*)();
constexpr KernelTable<MoveFn> kMoves = {
    {OpKind::Concat, &Move::concat},       {OpKind::Slice, &Move::slice},
    {OpKind::Windows, &Move::windows},     {OpKind::Reshape, &Move::reshape},
    {OpKind::Transpose, &Move::transpose}, {OpKind::Pad, &Move::pad},
    {OpKind::Enlarge, &Move::enlarge},     {OpKind::MergeGconv, &Move::merge_gconv},
    {OpKind::Gather, &Move::gather},       {OpKind::Iota, &Move::iota},
};

} // namespace

bool can_move(OpKind op) { return kMoves.has(op); }

ExprId Puller::moved(const PlanStep& step, Index index, ConditionId condition) {
  return (Move(*this, step, index, condition).*kMoves[step.op])();
}

} // namespace tg::cuda
