// The row that all reductions of a kernel share: the axes of the domain along which it runs,
// and the position in it. The first reduction determines it during analysis;
// a group with a reduction that does not match cannot be one kernel.
#pragma once

#include "runtime/cuda/codegen/kernel.h"

#include <functional>

namespace tg::cuda {

/// The axes of the domain along which a row runs. If there are none and the row is longer than 1,
/// the row's elements exist only in operands (a sum, a window).
struct Rows {
  bool reduces = false;
  llvm::SmallVector<uint32_t, 5> axes;
  int64_t length = 1;
};

class RowBinding {
public:
  using Index = llvm::ArrayRef<IndexId>;

  /// `domain` is the shape of the first result, which must outlive this object.
  RowBinding(Kernel& kernel, llvm::ArrayRef<int64_t> domain)
      : indices_(kernel.indices), exprs_(kernel.exprs), stages_(kernel.stages), domain_(domain) {}

  /// For the second pass: sets the position in the row for each lane.
  void set_inner(llvm::ArrayRef<IndexId> positions, int64_t length);
  /// `kept`: the indices that are not part of the row. `proposed`: the row's indices if the result
  /// has them (softmax); empty if the operator reduces them away. Returns the reason if the row
  /// does not match, else null.
  const char* bind(Index kept, Index proposed, int64_t length, ConditionId condition);
  using Element = std::function<ExprId(Index position)>;
  ExprId reduce(ReduceOp op, llvm::ArrayRef<int64_t> extents, const Element& element);

  const Rows& rows() const { return rows_; }
  /// Returns how often an element at this index is computed, over all rows.
  double evaluations(Index index) const;

private:
  uint64_t variables(Index index) const;
  bool bind_to_proposed(Index proposed);
  bool bind_to_unused(uint64_t used, int64_t length);

  IndexPool& indices_;
  ExprPool& exprs_;
  std::vector<Stage>& stages_;
  llvm::ArrayRef<int64_t> domain_;
  bool bound_ = false;
  llvm::SmallVector<IndexId, 8> inner_; // the position in the row, for each lane
  uint64_t inner_variables_ = 0;
  Rows rows_;
};

} // namespace tg::cuda
