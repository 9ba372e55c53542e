// Memory traversal of the definitions of operators (impl.h): row-major walks,
// and rows along which broadcast operands have constant steps.
#pragma once

#include "lang/core/semantics/semantics.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>

namespace tg {

namespace semantics {

/// One application of an operator to elements.
template <class T> struct Application {
  AttrValues attrs;
  llvm::ArrayRef<ConstView<T>> operands;
  View<T> result;
  llvm::MutableArrayRef<WideOf<T>> scratch;

  const ConstView<T>& x() const { return operands[0]; }
};

/// Heads the definition of an operator: `in` is an Application<T>. evaluate_op (impl.h) calls it;
/// an operator that has a row in ops.def and none of these does not compile.
template <OpKind> struct Operator {};
#define TG_MEANING(kind)                                                                           \
  template <class T> void evaluate(Operator<OpKind::kind>, const Application<T>& in)

using Dims = llvm::SmallVector<int64_t, 8>; // kMaxRank: never allocates

inline int64_t product(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

inline Dims row_major(llvm::ArrayRef<int64_t> shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Steps through the indices of `shape` in row-major order and maintains the offset given
/// by `strides`.
class Walk {
public:
  Walk(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides)
      : shape_(shape.begin(), shape.end()), strides_(strides.begin(), strides.end()),
        index_(shape.size(), 0) {}
  int64_t offset() const { return offset_; }
  void next() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      offset_ += strides_[axis];
      if (++index_[axis] < shape_[axis]) return;
      offset_ -= strides_[axis] * shape_[axis];
      index_[axis] = 0;
    }
  }

private:
  Dims shape_, strides_, index_;
  int64_t offset_ = 0;
};

/// Operands under NumPy broadcasting, as rows along which every operand has a constant step.
/// Adjacent axes that all operands traverse alike are merged, so equal shapes are a single row.
class Rows {
public:
  Rows(llvm::ArrayRef<int64_t> result, llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands) {
    llvm::SmallVector<Dims, 8> strides;
    for (llvm::ArrayRef<int64_t> shape : operands) strides.push_back(broadcast(shape, result));
    Dims outer;
    llvm::SmallVector<Dims, 8> merged(operands.size());
    for (size_t axis = 0; axis < result.size(); ++axis) {
      if (result[axis] == 1) continue;
      bool joins = !outer.empty();
      for (size_t i = 0; i < operands.size() && joins; ++i)
        joins = merged[i].back() == strides[i][axis] * result[axis];
      if (joins)
        outer.back() *= result[axis];
      else
        outer.push_back(result[axis]);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (joins) merged[i].pop_back();
        merged[i].push_back(strides[i][axis]);
      }
    }
    length_ = outer.empty() ? 1 : outer.pop_back_val();
    count_ = product(outer);
    for (Dims& axes : merged) {
      steps_.push_back(axes.empty() ? 0 : axes.pop_back_val());
      walks_.emplace_back(outer, axes);
    }
  }

  int64_t length() const { return length_; }
  int64_t step(size_t operand) const { return steps_[operand]; }
  int64_t offset(size_t operand) const { return walks_[operand].offset(); }
  /// Calls f(offset in the result) for each row; offset() then returns the start of the row
  /// in each operand.
  template <class F> void for_each(F f) {
    for (int64_t row = 0; row < count_; ++row) {
      f(row * length_);
      for (Walk& walk : walks_) walk.next();
    }
  }

private:
  static Dims broadcast(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> result) {
    Dims own = row_major(shape), strides(result.size(), 0);
    size_t lead = result.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : own[i];
    return strides;
  }

  int64_t length_ = 1, count_ = 1;
  llvm::SmallVector<int64_t, 8> steps_;
  llvm::SmallVector<Walk, 8> walks_;
};

template <class T>
llvm::SmallVector<llvm::ArrayRef<int64_t>, 8> shapes_of(llvm::ArrayRef<ConstView<T>> operands) {
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 8> shapes;
  for (const ConstView<T>& operand : operands) shapes.push_back(operand.shape);
  return shapes;
}

} // namespace semantics

} // namespace tg
