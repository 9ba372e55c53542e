// Lowers signs and brackets on tensors in a rule, on either side, with the meaning that they have
// in models (compiler/ir/eval/brackets.h): `x[:, 0:64]`, `x[..., 0]`, `x[ids]`, `x // y`. Models
// can use sizes for this; a rule is read before sizes are known, so it expresses them symbolically.
#pragma once

#include "compiler/rules/compile/values.h"

namespace tg {

/// Lowers the tensors of a side.
class TensorReader {
public:
  virtual std::optional<TermId> tensor(ast::ExprId expr) = 0;

protected:
  ~TensorReader() = default;
};

class RulePlaces {
public:
  /// `integers` selects the variant of a rule with `x // y`.
  RulePlaces(const Ast& tree, TensorReader& side, RuleValues& values, RuleNames& names,
             RuleDraft& draft, RuleErrors& errors, bool integers)
      : tree_(tree), side_(side), values_(values), names_(names), draft_(draft),
        exprs_(draft.exprs()), errors_(errors), integers_(integers) {}

  std::optional<TermId> index(ast::ExprId expr);
  std::optional<TermId> floor_division(ast::ExprId expr);
  /// True if there was a division by `//`.
  bool divides() const { return divides_; }

private:
  std::optional<ExprIndex> axis_of(ast::ExprId expr, TermId x, int64_t axis);
  std::optional<TermId> piece(ast::ExprId expr, TermId x, int64_t axis, const ast::Slice& place);
  std::optional<ExprIndex> bound(ast::ExprId expr, TermId x, int64_t axis, ast::ExprId written);
  std::optional<TermId> without_axes(ast::ExprId expr, TermId x, TermId shaped,
                                     llvm::ArrayRef<int64_t> axes);
  std::optional<TermId> gathered(ast::ExprId expr, TermId x, int64_t axis);
  std::optional<TermId> index_operand(ast::ExprId expr);

  const Ast& tree_;
  TensorReader& side_;
  RuleValues& values_;
  RuleNames& names_;
  RuleDraft& draft_;
  RuleExprs& exprs_;
  RuleErrors& errors_;
  bool integers_, divides_ = false;
};

} // namespace tg
