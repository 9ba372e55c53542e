// Values meet parameters. Binding goes in the order of DECISIONS.md: compile-time arguments;
// tensors, whose types bind the names of dimensions, shapes and dtypes (literals last, as they take
// the dtype that others bind); defaults; then what is only checked: computed dimensions, where
// clauses.
#pragma once

#include "compiler/ir/eval/types.h"

namespace tg::eval {

class Arguments {
public:
  Arguments(Expressions& expressions, Types& types, Nodes& nodes, Report& report)
      : expressions_(expressions), types_(types), nodes_(nodes), report_(report) {}

  /// An argument for each parameter, with its value; null where none was given.
  using Given = std::vector<std::pair<const ast::Arg*, Val>>;
  /// Binds the parameters of `frame` to what its caller gives.
  bool bind(Frame& caller, Frame& frame, Span call, const Given& given);
  /// Binds the parameters that got nothing. The inputs of a model are none of these.
  bool defaults(Frame& frame);
  bool check_where(Frame& frame, Span call_site);

private:
  /// Where a value meets a parameter: for messages.
  struct Site {
    Frame& caller;
    const ast::Param& param;
    const ast::Arg& arg;
  };
  bool bind_constant(Frame& frame, const Site& site, Val val);
  bool bind_tensor(Frame& frame, const Site& site, Val val);
  bool bind_type(Frame& frame, const Site& site, ast::TypeRef want, Val& val);
  bool bind_rank(Frame& frame, const Site& site, const ast::Type& want, NodeId node);
  bool bind_dimensions(Frame& frame, const Site& site, const ast::Type& want,
                       const TensorType& type);
  bool check_type(Frame& frame, const Site& site, ast::TypeRef want, const Val& val);
  bool needs(Frame& frame, const Site& site, ast::TypeRef want, Code code, std::string label,
             const Val& got);

  Expressions& expressions_;
  Types& types_;
  Nodes& nodes_;
  Report& report_;
};

/// Brings a value into the form that the kind has: an int becomes a float, one number a pair. False
/// where it is of another kind.
bool convert(Val& val, const ParamKind& kind);

} // namespace tg::eval
