// The types that are written in a program, with the names that are bound so far: dtypes, sizes, and
// whether the value of a body is what was declared of it.
#pragma once

#include "compiler/ir/eval/nodes.h"
#include "lang/check/resolve.h"

namespace tg::eval {

class Types {
public:
  Types(Expressions& expressions, Nodes& nodes, Report& report)
      : expressions_(expressions), nodes_(nodes), report_(report) {}

  /// A size that is written; reports one below 1.
  bool dimension(Frame& frame, ast::ExprId id, int64_t& out);
  bool tensor_type(Frame& frame, ast::TypeRef ref, TensorType& out);
  /// The value of a body, made one of the type that is declared.
  Val result(Frame& frame, Val val);

private:
  bool declared_shape(Frame& frame, const ast::Type& written, const TensorType& got, Shape& out);
  bool result_matches(Frame& frame, const ast::ResultType& want, ast::TypeRef part, Val& val,
                      Span at);

  Expressions& expressions_;
  Nodes& nodes_;
  Report& report_;
};

/// Whether its values are tensors, known at run time only.
bool is_tensor(const Ast& ast, const ast::Param& param);
/// The dtype that a type names, itself or through a variable; nullopt where that is not bound yet.
std::optional<DType> dtype_of(const Frame& frame, const ast::Type& written);
/// The axis of a value of this rank that each written dimension stands for; -1 for `S...`, which
/// takes all that the others leave.
llvm::SmallVector<int64_t, 6> axes_of(const Ast& ast, llvm::ArrayRef<ast::ExprId> dims,
                                      int64_t rank);
/// Where the value of the body stands: its last expression.
Span value_span(const Frame& frame);

} // namespace tg::eval
