// Lowers the left side of a rule to patterns. It binds variables. An attribute that a pattern
// cannot match (computed, or a negative axis) becomes a fresh value variable and a condition.
#pragma once

#include "compiler/rules/compile/calls.h"
#include "compiler/rules/compile/places.h"

#include <map>

namespace tg {

/// The variables of `..`, for each slot and each optional operand. All `..` of one operator in a
/// rule share them.
class RestVariables {
public:
  std::optional<uint32_t> slot(OpKind op, size_t slot) const { return find(op, slot); }
  std::optional<uint32_t> operand(OpKind op, size_t i) const { return find(op, kMaxAttrs + i); }
  void bind_slot(OpKind op, size_t slot, uint32_t variable) { variables_[{op, slot}] = variable; }
  void bind_operand(OpKind op, size_t i, uint32_t variable) {
    variables_[{op, kMaxAttrs + i}] = variable;
  }
  bool has(OpKind op) const;

private:
  std::optional<uint32_t> find(OpKind op, size_t place) const;
  std::map<std::pair<OpKind, size_t>, uint32_t> variables_; // optional operands after the slots
};

class LeftSide final : public TensorReader {
public:
  /// `swaps`: bit i swaps the operands of the i-th commuting operator.
  LeftSide(const Ast& tree, uint32_t swaps, bool integers, RuleNames& names, RuleCalls& calls,
           RuleValues& values, RuleDraft& draft, RuleErrors& errors)
      : tree_(tree), swaps_(swaps), names_(names), calls_(calls), values_(values), draft_(draft),
        exprs_(draft.exprs()), errors_(errors),
        places_(tree, *this, values, names, draft, errors, integers) {}

  bool lower(ast::List<ast::ExprId> sides);
  /// Number of commuting operators.
  uint32_t commuting() const { return commuting_; }
  bool divides() const { return places_.divides(); }
  const RestVariables& rest() const { return rest_; }

  std::optional<TermId> tensor(ast::ExprId expr) override;

private:
  using Terms = llvm::SmallVector<TermId, 2>;
  bool roots(ast::ExprId expr, Terms& out);
  std::optional<TermId> number(ast::ExprId expr);
  std::optional<TermId> named_number(ast::ExprId full);
  std::optional<TermId> name(ast::ExprId expr);
  std::optional<TermId> call(const RuleCall& call);
  std::optional<TermId> optional_operand(const RuleCall& call, size_t index);
  std::optional<TermAttr> attr(const RuleCall& call, size_t slot, llvm::ArrayRef<TermId> operands);
  TermAttr rest_attr(OpKind op, size_t slot);
  std::optional<TermAttr> left_out(const RuleCall& call, size_t slot,
                                   llvm::ArrayRef<TermId> operands);
  std::optional<TermAttr> literal(const RuleCall& call, size_t slot, const Value& given,
                                  llvm::ArrayRef<TermId> operands);
  std::optional<TermAttr> list(ast::ExprId list, const AttrInfo& info);
  bool split(ast::ExprId expr, Terms& out);
  void split_covers(TermId whole, const TermAttr& axis, uint32_t stop);
  bool piece_size(ast::ExprId size, uint32_t stop, std::optional<uint32_t> start);
  bool names_unbound(ast::ExprId list);

  const Ast& tree_;
  uint32_t swaps_, commuting_ = 0;
  RuleNames& names_;
  RuleCalls& calls_;
  RuleValues& values_;
  RuleDraft& draft_;
  RuleExprs& exprs_;
  RuleErrors& errors_;
  RulePlaces places_;
  RestVariables rest_;
};

} // namespace tg
