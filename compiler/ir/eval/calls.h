// Calls of functions: the path of the call, its arguments (arguments.h), the body, and the check of
// the result against the declared type.
#pragma once

#include "compiler/ir/eval/arguments.h"
#include "compiler/ir/eval/statements.h"

#include <functional>

namespace tg::eval {

class Calls {
public:
  Calls(const Program& program, Expressions& expressions, Nodes& nodes, Report& report)
      : program_(program), expressions_(expressions), nodes_(nodes), report_(report),
        types_(expressions, nodes, report), arguments_(expressions, types_, nodes, report),
        statements_(expressions, types_, paths_, nodes, report) {}

  /// Functions for which `damaged` is true have reported errors already: their calls return no
  /// value and report nothing. It is called once for each function.
  void pass_over(std::function<bool(FnRef)> damaged) { damaged_ = std::move(damaged); }
  Val function(Frame& caller, ast::ExprId id, FnRef fn);

  // Also used by a model for its own frame.
  Types& types() { return types_; }
  Arguments& arguments() { return arguments_; }
  Statements& statements() { return statements_; }

private:
  bool passes_over(FnRef fn);
  Val composite(Frame& caller, Frame& frame, ast::ExprId call);
  Val external(Frame& caller, Frame& frame, ast::ExprId call);

  struct Extern {
    std::string signature;
    Span span; // of the declaration
  };

  const Program& program_;
  Expressions& expressions_;
  Nodes& nodes_;
  Report& report_;
  WeightPaths paths_;
  Types types_;
  Arguments arguments_;
  Statements statements_;
  std::function<bool(FnRef)> damaged_;
  std::map<std::pair<uint32_t, uint32_t>, bool> passed_over_; // (module, function)
  llvm::StringMap<Extern> externs_;                           // by name; one type each
  uint32_t depth_ = 0;
};

} // namespace tg::eval
