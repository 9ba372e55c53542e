// The row that all reductions of a kernel share: which axes of the domain it runs along, and the
// position in it. The first reduction settles it, in the analysis; those that do not fit it make
// the group none.
#pragma once

#include "runtime/cuda/codegen/kernel.h"

#include <functional>

namespace tg::cuda {

/// Which of the domain's axes a row runs along; with none, and a row longer than 1, elements of a
/// row are operands' alone (a sum, a window).
struct Rows {
  bool reduces = false;
  llvm::SmallVector<uint32_t, 5> axes;
  int64_t length = 1;
};

class RowBinding {
public:
  using Index = llvm::ArrayRef<IndexId>;

  /// `domain`: the shape of the first result, which outlives it.
  RowBinding(Kernel& kernel, llvm::ArrayRef<int64_t> domain)
      : indices_(kernel.indices), exprs_(kernel.exprs), stages_(kernel.stages), domain_(domain) {}

  /// For the second pass: the position in the row, for each lane.
  void set_inner(llvm::ArrayRef<IndexId> positions, int64_t length);
  /// `kept`: the indices that are no part of the row. `proposed`: those that are, where the result
  /// has them (softmax); empty where the operator reduces them away. Why it does not fit, or null.
  const char* bind(Index kept, Index proposed, int64_t length, ConditionId condition);
  using Element = std::function<ExprId(Index position)>;
  ExprId reduce(ReduceOp op, llvm::ArrayRef<int64_t> extents, const Element& element);

  const Rows& rows() const { return rows_; }
  /// How often an element at this index is computed, over all rows.
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
