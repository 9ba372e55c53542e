// See external.h. Recursion is bounded by ast::kMaxDepth.
#include "lang/check/external.h"

#include "lang/check/resolve.h"
#include "lang/core/extern_signature.h"

namespace tg {

namespace {

using ast::ExprKind;

class Writer {
public:
  Writer(const Ast& ast, const ast::Decl& op) : ast_(ast), op_(op) {}

  Result<std::string> run() {
    llvm::ArrayRef<ast::ResultType> results = ast_[op_.results];
    if (results.size() != 1)
      return error(Code::wrong_kind, op_.name.span, "an `extern op` gives one tensor")
          .suggest("declare its type behind `->`");
    text_ = "(";
    for (const ast::Param& param : ast_[op_.params]) {
      bool tensor =
          param.type && param_kind(ast_, ast_[param.type]).base == ParamKind::Base::Tensor;
      if (!tensor || param.default_value || param.variadic)
        return error(Code::wrong_kind, param.span, "an `extern op` takes tensors, all of them")
            .suggest("what it is to know besides is part of what it is: declare one for each case");
      if (text_.size() > 1) text_ += ", ";
      type(ast_[param.type]);
    }
    if (text_.size() == 1)
      return error(Code::wrong_kind, op_.name.span, "an `extern op` takes one tensor at least");
    text_ += ") -> ";
    type(ast_[results[0].type]);
    for (ast::ExprId condition : ast_[op_.where]) {
      text_ += condition == ast_[op_.where][0] ? " where " : ", ";
      expression(condition, false);
    }
    if (failed_.valid())
      return error(Code::wrong_kind, failed_, "an `extern op` computes with sizes alone")
          .suggest("names of dimensions, integers, + - * / // %, comparisons, and, or, not");
    if (!ExternSignature::parse(text_))
      return error(Code::wrong_kind, ast_[results[0].type].span,
                   "the type of the result does not follow from the types of the operands")
          .suggest("each name in it stands alone in the type of an operand");
    return std::move(text_);
  }

private:
  void type(const ast::Type& written) {
    text_ += written.name.text;
    text_ += "[";
    for (ast::ExprId dim : ast_[written.dims]) {
      if (text_.back() != '[') text_ += ", ";
      expression(dim, false);
    }
    text_ += "]";
  }

  void expression(ast::ExprId id, bool nested) {
    const ast::Expr& e = ast_[id];
    switch (e.kind) {
    case ExprKind::Name: text_ += e.text; return;
    case ExprKind::Int: text_ += std::to_string(e.int_value); return;
    case ExprKind::Spread: text_ += (e.text + "...").str(); return;
    case ExprKind::Unary:
      text_ += (nested ? "(" : "") + ast::spelling(e.op).str() + (e.op == ast::Op::Not ? " " : "");
      expression(e.a, true);
      text_ += nested ? ")" : "";
      return;
    case ExprKind::Binary:
      if (e.op == ast::Op::MatMul || e.op == ast::Op::Pow) break;
      text_ += nested ? "(" : "";
      expression(e.a, true);
      text_ += (" " + ast::spelling(e.op) + " ").str();
      expression(e.b, true);
      text_ += nested ? ")" : "";
      return;
    default: break;
    }
    if (!failed_.valid()) failed_ = e.span;
  }

  const Ast& ast_;
  const ast::Decl& op_;
  std::string text_;
  Span failed_;
};

} // namespace

Result<std::string> extern_signature(const Ast& ast, const ast::Decl& op) {
  return Writer(ast, op).run();
}

} // namespace tg
