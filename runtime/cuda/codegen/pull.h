// Translates the steps of a fused group to expressions. An element of a result at an index
// is computed from its operands at the indices given by the operator's definition (semantics.h),
// down to loads. Operators that move elements only change the index;
// reductions become stages of the kernel over its inner variables.
//
// All reductions of a kernel share one inner loop; each splits the position
// in the row into the extents that it needs. The first reduction determines which variables
// of the domain are inner (analyse). A group that does not fit in one kernel fails with a reason.
//
// The recursion depth is at most the number of steps of a group (kMaxGroupSteps).
#pragma once

#include "runtime/cuda/codegen/rows.h"

#include <functional>
#include <set>

namespace tg::cuda {

inline constexpr size_t kMaxGroupSteps = 24;

/// Steps that become one kernel, in plan order, and those of their values that others read.
/// The first result defines the domain; the others have its shape or one value per row.
struct Group {
  std::vector<PlanStepId> steps;
  std::vector<PlanValueId> results;
  bool operator==(const Group&) const = default;
};

/// Returns the physical strides of a value, in elements.
using StridesOf = std::function<Shape(PlanValueId)>;

/// Returns true if a kernel can be generated for this operator.
bool can_generate(OpKind op);
/// True if it only moves elements; of pull_layout.cpp.
bool can_move(OpKind op);

/// A product with fewer rows reads a matrix once, so tiles have nothing to share.
inline constexpr int64_t kFewRows = 8;
bool is_product_of_few_rows(const Plan& plan, const PlanStep& step);

class Puller {
public:
  using Index = llvm::ArrayRef<IndexId>;

  Puller(const Plan& plan, const Group& group, const StridesOf& strides, Kernel& kernel);

  /// The first pass, with one variable per axis of the domain: finds the rows.
  bool analyse(Rows& rows, std::string& why);
  /// For the second pass: sets the position in the row for each lane.
  void set_inner(llvm::ArrayRef<IndexId> positions, int64_t length);
  ExprId pull(PlanValueId value, Index index, ConditionId condition);
  /// After analyse(): returns how often elements of this value are computed over all rows.
  /// An iteration computes everything that it needs, even if a neighbour has computed it.
  double evaluations(PlanValueId value) const;
  bool failed() const { return !why_.empty(); }
  const std::string& why() const { return why_; }

  const TensorType& type(PlanValueId value) const { return plan_.values[value].type; }
  IndexPool& indices() { return indices_; }
  ExprPool& exprs() { return exprs_; }

private:
  using Coordinates = llvm::SmallVector<IndexId, 5>;
  using Rule = ExprId (Puller::*)(const PlanStep&, Index, ConditionId);
  friend struct Rules;

  ExprId fail(const char* why);
  ExprId leaf(PlanValueId value, Index index, ConditionId condition);
  const TensorType& operand_type(const PlanStep& step, size_t i) const {
    return type(step.operands[i]);
  }
  uint32_t parameter(PlanValueId value);
  Coordinates broadcast(Index index, llvm::ArrayRef<int64_t> shape);
  ExprId number(double value) { return exprs_.number(Scalar::Float, value); }
  ExprId apply(OpKind op, ExprId x) { return exprs_.apply(op, {x}); }
  ExprId apply(OpKind op, ExprId x, ExprId y) { return exprs_.apply(op, {x, y}); }
  ExprId compare(OpKind op, ExprId x, ExprId y) {
    return exprs_.apply(op, Scalar::Integer, {x, y});
  }

  bool bind_row(Index kept, Index proposed, int64_t length, ConditionId condition);

  ExprId pointwise(const PlanStep& step, Index index, ConditionId condition);
  ExprId fused_map(const PlanStep& step, Index index, ConditionId condition);
  ExprId repeated(const PlanStep& step, Index index, ConditionId condition);
  ExprId cast(const PlanStep& step, Index index, ConditionId condition);
  ExprId batch_norm(const PlanStep& step, Index index, ConditionId condition);
  ExprId softmax(const PlanStep& step, Index index, ConditionId condition);
  ExprId layer_norm(const PlanStep& step, Index index, ConditionId condition);
  ExprId reduction(const PlanStep& step, Index index, ConditionId condition);
  ExprId cumsum(const PlanStep& step, Index index, ConditionId condition);
  ExprId argmax(const PlanStep& step, Index index, ConditionId condition);
  ExprId matmul(const PlanStep& step, Index index, ConditionId condition);
  ExprId conv2d(const PlanStep& step, Index index, ConditionId condition);
  ExprId pool(const PlanStep& step, Index index, ConditionId condition);
  ExprId epilogue(const PlanStep& step, ExprId sum, IndexId channel, Index index,
                  ConditionId condition, const Value& act);
  /// An operator that moves elements (pull_layout.cpp).
  ExprId moved(const PlanStep& step, Index index, ConditionId condition);

  const Plan& plan_;
  const Group& group_;
  const StridesOf& strides_;
  Kernel& kernel_;
  IndexPool& indices_;
  ExprPool& exprs_;
  std::set<PlanStepId> members_;
  std::map<PlanValueId, uint32_t> parameters_;
  std::map<std::tuple<PlanValueId, std::vector<IndexId>, ConditionId>, ExprId> done_;

  RowBinding rows_;
  std::string why_;
};

} // namespace tg::cuda
