// ast::kMaxDepth limits the recursion.
#include "lang/check/composite.h"

#include "lang/check/resolve.h"
#include "lang/core/extern_signature.h"
#include "lang/core/op.h"

#include <llvm/Support/raw_ostream.h>

namespace tg {

namespace {

using ast::ExprKind;

class Writer {
public:
  Writer(const Ast& ast, const ast::Decl& op) : ast_(ast), op_(op) {}

  Result<std::string> run() {
    if (find_op(op_.name.text)) // even one that yields: a written model has no other names
      return error(Code::duplicate_name, op_.name.span,
                   "`{0}` is an operator of the language and cannot be an `extern op`",
                   op_.name.text)
          .suggest("declare it under another name");
    llvm::ArrayRef<ast::ResultType> results = ast_[op_.results];
    if (results.size() != 1)
      return error(Code::wrong_kind, op_.name.span, "an `extern op` must have exactly one result")
          .suggest("declare its type after `->`");
    out_ << "(";
    for (const ast::Param& param : ast_[op_.params]) {
      bool tensor =
          param.type && param_kind(ast_, ast_[param.type]).base == ParamKind::Base::Tensor;
      if (!tensor || param.default_value || param.variadic)
        return error(Code::wrong_kind, param.span,
                     "every operand of an `extern op` must be a tensor")
            .suggest("declare a separate operator for each value of any other parameter");
      if (&param != &ast_[op_.params][0]) out_ << ", ";
      type(ast_[param.type]);
    }
    if (op_.params.empty())
      return error(Code::wrong_kind, op_.name.span,
                   "an `extern op` must have at least one operand");
    out_ << ") -> ";
    type(ast_[results[0].type]);
    for (ast::ExprId condition : ast_[op_.where]) {
      out_ << (condition == ast_[op_.where][0] ? " where " : ", ");
      expression(condition);
    }
    if (failed_.valid())
      return error(Code::wrong_kind, failed_, "an `extern op` can only compute with sizes")
          .suggest("use names of dimensions, integers, + - * / // % **, comparisons, and, or, not");
    if (!ExternSignature::parse(out_.str()))
      return error(Code::wrong_kind, ast_[results[0].type].span,
                   "the type of the result does not follow from the types of the operands")
          .suggest("each of its names must be a whole dimension of an operand's type");
    return std::move(text_);
  }

private:
  void type(const ast::Type& written) {
    out_ << written.name.text << "[";
    bool first = true;
    for (ast::ExprId dim : ast_[written.dims]) {
      out_ << (first ? "" : ", ");
      first = false;
      expression(dim);
    }
    out_ << "]";
  }

  /// Writes an expression in postfix order.
  void expression(ast::ExprId id) {
    const ast::Expr& e = ast_[id];
    switch (e.kind) {
    case ExprKind::Name: out_ << e.text; return;
    case ExprKind::Int: out_ << e.int_value; return;
    case ExprKind::Spread: out_ << e.text << "..."; return;
    case ExprKind::Unary:
      expression(e.a);
      if (e.op == ast::Op::Not)
        out_ << " not";
      else
        out_ << " " << ExternSignature::kNegate;
      return;
    case ExprKind::Binary:
      if (e.op == ast::Op::MatMul) break;
      expression(e.a);
      out_ << " ";
      expression(e.b);
      out_ << " " << ast::spelling(e.op);
      return;
    default: break;
    }
    if (!failed_.valid()) failed_ = e.span;
  }

  const Ast& ast_;
  const ast::Decl& op_;
  std::string text_;
  llvm::raw_string_ostream out_{text_}; // unbuffered
  Span failed_;
};

} // namespace

Result<std::string> extern_signature(const Ast& ast, const ast::Decl& op) {
  return Writer(ast, op).run();
}

} // namespace tg
