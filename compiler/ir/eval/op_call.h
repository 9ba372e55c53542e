// A call of an operator with evaluated arguments. Positional arguments fill the operands (a tensor,
// or `none` for an optional one), then the attributes in slot order. Names work for both.
#pragma once

#include "compiler/ir/eval/nodes.h"

namespace tg::eval {

class OpCall {
public:
  OpCall(Nodes& nodes, Report& report, const Frame& frame, ast::ExprId id, OpKind op);

  /// `given` holds the values of the call's arguments in source order.
  Val result(llvm::MutableArrayRef<Val> given);

private:
  struct GivenValue {
    Val val; // Unit where not given
    ast::ExprId expr;
    Span span;
  };
  using Operands = llvm::SmallVector<Operand, 6>;

  bool place_arguments(llvm::MutableArrayRef<Val> given);
  bool place_named(const ast::Arg& arg, Val& val);
  bool place_positional(const ast::Arg& arg, Val val);
  void place_list(const ast::Arg& arg, const Val& list);
  bool complete();
  bool convert_operands(Operands& out);
  bool set_attribute(size_t slot, const ast::Arg& arg, const Val& given);
  bool finish_attributes(const Operands& operands);

  Nodes& nodes_;
  Report& report_;
  const Frame& frame_;
  ast::ExprId id_;
  const ast::Expr& e_;
  const OpInfo& info_;
  llvm::SmallVector<GivenValue, 6> operands_;
  llvm::SmallVector<std::optional<OpenValue>, kMaxAttrs> attrs_;
  size_t next_operand_ = 0, next_attr_ = 0;
};

} // namespace tg::eval
