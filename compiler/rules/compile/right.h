// Lowers the right side of a rule to terms over the bindings of the left side.
#pragma once

#include "compiler/rules/compile/left.h"

namespace tg {

class RightSide final : public TensorReader {
public:
  RightSide(const Ast& tree, bool integers, const RestVariables& rest, RuleNames& names,
            RuleCalls& calls, RuleValues& values, RuleDraft& draft, RuleErrors& errors)
      : tree_(tree), rest_(rest), names_(names), calls_(calls), values_(values), draft_(draft),
        exprs_(draft.exprs()), errors_(errors),
        places_(tree, *this, values, names, draft, errors, integers) {}

  bool lower(ast::List<ast::ExprId> sides);
  bool divides() const { return places_.divides(); }

  std::optional<TermId> tensor(ast::ExprId expr) override;

private:
  using Terms = llvm::SmallVector<TermId, 2>;
  bool tensors(ast::ExprId expr, Terms& out);
  bool name(ast::ExprId expr, Terms& out);
  std::optional<TermId> number(ast::ExprId expr);
  std::optional<TermId> filled(ast::ExprId expr);
  std::optional<TermId> call(const RuleCall& call);
  std::optional<TermId> optional_operand(const RuleCall& call, size_t index);
  std::optional<TermAttr> attr(const RuleCall& call, size_t slot, llvm::ArrayRef<TermId> operands);
  bool split(const RuleCall& call, Terms& out);
  bool split_sizes(const RuleCall& call, TermId whole, const TermAttr& axis,
                   llvm::SmallVectorImpl<ExprIndex>& sizes);

  const Ast& tree_;
  const RestVariables& rest_;
  RuleNames& names_;
  RuleCalls& calls_;
  RuleValues& values_;
  RuleDraft& draft_;
  RuleExprs& exprs_;
  RuleErrors& errors_;
  RulePlaces places_;
  /// Terms of the lets used so far, by their expressions.
  llvm::DenseMap<uint32_t, Terms> lets_;
};

} // namespace tg
