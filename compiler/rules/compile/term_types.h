// What a rule's text says of the types of its terms, as expressions over what the left side binds:
// ranks, shapes, dtypes. nullopt where the operators do not say it.
#pragma once

#include "compiler/rules/compile/exprs.h"

namespace tg {

/// The result has the shape of the first operand, whatever the attributes are.
bool keeps_shape(ShapeRule rule);

class TermTypes {
public:
  TermTypes(Rule& rule, RuleExprs& exprs) : rule_(rule), exprs_(exprs) {}

  std::optional<ExprIndex> rank(TermId term);
  std::optional<ExprIndex> shape(TermId term);
  /// A class variable that has the dtype of the term.
  std::optional<uint32_t> dtype_like(TermId term) const;

private:
  std::optional<ExprIndex> highest_rank(llvm::ArrayRef<TermId> operands);
  std::optional<ExprIndex> slice_shape(const Term& slice);
  bool is_number(TermId term) const;
  bool is_open(ExprIndex list) const;

  Rule& rule_;
  RuleExprs& exprs_;
};

} // namespace tg
