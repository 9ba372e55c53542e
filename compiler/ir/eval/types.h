// Evaluates written types with the names bound so far: dtypes, sizes, and the check of a body's
// value against its declared type.
#pragma once

#include "compiler/ir/eval/nodes.h"
#include "lang/check/resolve.h"

namespace tg::eval {

class Types {
public:
  Types(Expressions& expressions, Nodes& nodes, Report& report)
      : expressions_(expressions), nodes_(nodes), report_(report) {}

  /// Evaluates a written size, and reports one below 1.
  bool dimension(Frame& frame, ast::ExprId id, Size& out);
  bool tensor_type(Frame& frame, ast::TypeRef ref, OpenType& out);
  /// Converts the value of a body to the declared type.
  Val result(Frame& frame, Val val);

private:
  bool declared_shape(Frame& frame, const ast::Type& written, const OpenType& got, OpenShape& out);
  bool result_matches(Frame& frame, const ast::ResultType& want, ast::TypeRef part, Val& val,
                      Span at);

  Expressions& expressions_;
  Nodes& nodes_;
  Report& report_;
};

/// Returns true if the parameter's values are tensors, known only at run time.
bool is_tensor(const Ast& ast, const ast::Param& param);
/// Returns the dtype of a written type, direct or through a variable; nullopt if not bound yet.
std::optional<DType> dtype_of(const Frame& frame, const ast::Type& written);
/// Returns, for each written dimension, the axis of a value of this rank; -1 for `S...`, which
/// takes all remaining axes.
llvm::SmallVector<int64_t, 6> axes_of(const Ast& ast, llvm::ArrayRef<ast::ExprId> dims,
                                      int64_t rank);
/// Returns the span of the body's value: its last expression.
Span value_span(const Frame& frame);

} // namespace tg::eval
