// Binds arguments to parameters. The order is that of DECISIONS.md: compile-time arguments;
// tensors, whose types bind names of dimensions, shapes and dtypes (literals last, because they
// take the dtype that other tensors bind); defaults; then the checks: computed dimensions and where
// clauses.
#pragma once

#include "compiler/ir/eval/types.h"

namespace tg::eval {

class Arguments {
public:
  Arguments(Expressions& expressions, Types& types, Nodes& nodes, Report& report)
      : expressions_(expressions), types_(types), nodes_(nodes), report_(report) {}

  /// For each parameter, the argument and its value; null if omitted.
  using GivenArguments = std::vector<std::pair<const ast::Arg*, Val>>;
  /// Binds the parameters of `frame` to the caller's arguments.
  bool bind(Frame& caller, Frame& frame, Span call, const GivenArguments& given);
  /// Binds omitted parameters to their defaults, except the inputs of a model.
  bool defaults(Frame& frame);
  bool check_where(Frame& frame, Span call_site);

private:
  /// An argument and its parameter, for messages.
  struct Site {
    Frame& caller;
    const ast::Param& param;
    const ast::Arg& arg;
  };
  bool bind_constant(Frame& frame, const Site& site, Val val);
  bool bind_tensor(Frame& frame, const Site& site, Val val);
  bool bind_type(Frame& frame, const Site& site, ast::TypeRef want, Val& val);
  bool bind_rank(Frame& frame, const Site& site, const ast::Type& want, NodeId node);
  bool bind_dimensions(Frame& frame, const Site& site, const ast::Type& want, const OpenType& type);
  bool check_type(Frame& frame, const Site& site, ast::TypeRef want, const Val& val);
  bool needs(Frame& frame, const Site& site, ast::TypeRef want, Code code, std::string label,
             const Val& got);

  Expressions& expressions_;
  Types& types_;
  Nodes& nodes_;
  Report& report_;
};

/// Converts a value to the form of the kind: an int to a float, one number to a pair. Returns false
/// if it has another kind.
bool convert(Val& val, const ParamKind& kind);

} // namespace tg::eval
