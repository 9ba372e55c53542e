// Evaluates expressions at compile time. Compile-time values fold by lang/check/consteval. With
// tensors, an operator sign becomes a node of the graph (nodes.h), and an index several nodes
// (brackets.h). Calls of functions (calls.h) evaluate their bodies here.
//
// The evaluator recurses along the syntax tree and along calls; `depth_` bounds both together.
#pragma once

#include "compiler/ir/eval/brackets.h"
#include "compiler/ir/eval/calls.h"

namespace tg::eval {

class Evaluator final : public Expressions {
public:
  Evaluator(const Program& program, Nodes& nodes, Report& report)
      : program_(program), nodes_(nodes), report_(report), brackets_(*this, nodes, report),
        calls_(program, *this, nodes, report) {}

  Val expression(Frame& frame, ast::ExprId id) override;
  bool integer(Frame& frame, ast::ExprId id, llvm::StringRef what, int64_t& out) override;
  bool size(Frame& frame, ast::ExprId id, llvm::StringRef what, Size& out) override;
  Calls& calls() { return calls_; }

private:
  Val expression_kind(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val name(Frame& frame, const ast::Expr& e);
  Val items(Frame& frame, const ast::Expr& e);
  Val unary(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val binary(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val logical(Frame& frame, ast::ExprId id, const ast::Expr& e);
  bool bool_operand(Frame& frame, ast::Op op, ast::ExprId side, const Val& v);
  Val compare_lists(Frame& frame, const ast::Expr& e, const Val& a, const Val& b);
  Val range(Frame& frame, const ast::Expr& e);
  Val conditional(Frame& frame, const ast::Expr& e);
  Val call(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val call_builtin(Frame& frame, ast::ExprId id, const ast::Expr& e, const BuiltinInfo& builtin);
  Val call_op(Frame& frame, ast::ExprId id, const ast::Expr& e, OpKind op);

  const Program& program_;
  Nodes& nodes_;
  Report& report_;
  Brackets brackets_;
  Calls calls_;
  uint32_t depth_ = 0;
};

} // namespace tg::eval
