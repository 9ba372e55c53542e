// A call of a builtin with evaluated arguments: literals (`zeros`, `full`, `iota`), queries on a
// tensor (`dim`, `shape`), `split`, and functions of compile-time values.
#pragma once

#include "compiler/ir/eval/nodes.h"
#include "lang/syntax/builtins.h"

namespace tg::eval {

class BuiltinCall {
public:
  /// `first`: the first written argument.
  BuiltinCall(Nodes& nodes, Report& report, const Frame& frame, ast::ExprId id, ast::ExprId first)
      : nodes_(nodes), report_(report), frame_(frame), id_(id), e_(frame.ast[id]), first_(first) {}

  /// `args` holds a value for each parameter; Unit if omitted.
  Val result(Builtin kind, llvm::ArrayRef<Val> args);

private:
  Val question(Builtin kind, llvm::ArrayRef<Val> args);
  Val split(llvm::ArrayRef<Val> args);
  Val zip(llvm::ArrayRef<Val> args);
  bool split_sizes(llvm::ArrayRef<Val> args, const Size& size, llvm::SmallVectorImpl<Size>& sizes);
  Val literal(Builtin kind, llvm::ArrayRef<Val> args);
  Val converted(const Val& literal, std::optional<DType> dtype);
  Val filled(Builtin kind, llvm::ArrayRef<Val> args, std::optional<DType> dtype);
  Val whole_full(int64_t value, llvm::ArrayRef<Size> shape, std::optional<DType> dtype);
  Val positions(llvm::ArrayRef<Val> args, DType dtype);
  Val series(Builtin kind, const Val& size, std::optional<DType> dtype);
  bool dtype_argument(const Val& val, std::optional<DType>& out);

  Nodes& nodes_;
  Report& report_;
  const Frame& frame_;
  ast::ExprId id_;
  const ast::Expr& e_;
  ast::ExprId first_;
};

/// Evaluates a function of compile-time values: `len(sizes)`, `max(2, N)`.
Val fold_constants(Report& report, const Frame& frame, const ast::Expr& e,
                   llvm::ArrayRef<Val> args);

} // namespace tg::eval
