#include "runtime/cuda/codegen/rows.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::cuda {

namespace {

/// Number of the row variable during analysis only; the domain's axes are numbered from 0.
constexpr uint32_t kFreshRow = 40;

} // namespace

uint64_t RowBinding::variables(Index index) const {
  uint64_t all = 0;
  for (IndexId id : index) all |= indices_.form(id).variables;
  return all;
}

bool RowBinding::bind_to_proposed(Index proposed) {
  for (IndexId id : proposed) {
    const IndexForm& form = indices_.form(id);
    if (indices_.is_constant(id) && form.constant == 0) continue; // extent 1
    bool variable = form.terms.size() == 1 && form.constant == 0 && form.terms[0].factor == 1 &&
                    indices_.atom(form.terms[0].atom).kind == IndexAtom::Kind::Variable;
    if (!variable) return false;
    rows_.axes.push_back(indices_.atom(form.terms[0].atom).of);
    inner_variables_ |= form.variables;
  }
  return true;
}

bool RowBinding::bind_to_unused(uint64_t used, int64_t length) {
  int64_t count = 1;
  for (uint32_t axis = 0; axis < domain_.size(); ++axis)
    if (domain_[axis] > 1 && !(used >> axis & 1)) {
      rows_.axes.push_back(axis);
      inner_variables_ |= uint64_t{1} << axis;
      count *= domain_[axis];
    }
  return rows_.axes.empty() || count == length;
}

const char* RowBinding::bind(Index kept, Index proposed, int64_t length, ConditionId condition) {
  uint64_t used = variables(kept) | exprs_.variables_of(condition);
  if (!bound_) {
    bool fits = proposed.empty() ? bind_to_unused(used, length) : bind_to_proposed(proposed);
    if (!fits) return "the row is not part of the domain";
    bound_ = rows_.reduces = true;
    rows_.length = length;
    IndexId position = indices_.constant(0);
    for (uint32_t axis : rows_.axes) {
      int64_t extent = domain_[axis];
      position = indices_.add(indices_.scale(position, extent), indices_.variable(axis, extent));
    }
    if (rows_.axes.empty() && length > 1) {
      position = indices_.variable(kFreshRow, length);
      inner_variables_ = uint64_t{1} << kFreshRow;
    }
    inner_ = {position};
  }
  if (length != rows_.length) return "rows of different lengths";
  if (used & inner_variables_) return "a reduction within the row of another";
  return nullptr;
}

ExprId RowBinding::reduce(ReduceOp op, llvm::ArrayRef<int64_t> extents, const Element& element) {
  Stage stage{op, Scalar::Float, {}};
  uint64_t used = 0;
  for (IndexId position : inner_) {
    ExprId value = element(indices_.split(position, extents));
    stage.values.push_back(value);
    used |= exprs_[value].variables;
  }
  stage.scalar = exprs_[stage.values[0]].scalar;
  for (uint32_t i = 0; i < stages_.size(); ++i)
    if (stages_[i].op == op && stages_[i].values == stage.values)
      return exprs_.stage(i, stage.scalar, used & ~inner_variables_);
  stages_.push_back(stage);
  return exprs_.stage(static_cast<uint32_t>(stages_.size() - 1), stage.scalar,
                      used & ~inner_variables_);
}

void RowBinding::set_inner(llvm::ArrayRef<IndexId> positions, int64_t length) {
  bound_ = true;
  inner_.assign(positions.begin(), positions.end());
  rows_.length = length;
  inner_variables_ = 0; // analysis is complete
}

double RowBinding::evaluations(Index index) const {
  double rows = 1;
  for (uint32_t axis = 0; axis < domain_.size(); ++axis)
    if (!llvm::is_contained(rows_.axes, axis)) rows *= static_cast<double>(domain_[axis]);
  bool in_row = (variables(index) & inner_variables_) != 0;
  return in_row ? rows * static_cast<double>(rows_.length) : rows;
}

} // namespace tg::cuda
