// The statements of a body: blocks with their names, assignments, loops, and the weights that they
// declare.
#pragma once

#include "compiler/ir/eval/types.h"
#include "compiler/ir/eval/weight_paths.h"

namespace tg::eval {

class Statements {
public:
  Statements(Expressions& expressions, Types& types, WeightPaths& paths, Nodes& nodes,
             Report& report)
      : expressions_(expressions), types_(types), paths_(paths), nodes_(nodes), report_(report) {}

  /// Runs a block, whose names end with it; the value of its last statement.
  Val block(Frame& frame, ast::BlockId id);

private:
  Val run(Frame& frame, ast::BlockId id);
  Val statement(Frame& frame, const ast::Stmt& s);
  void destructure(Frame& frame, const ast::Stmt& s, Val value);
  static void assign(Frame& frame, const ast::Name& target, Val value);
  void loop(Frame& frame, const ast::Stmt& s);
  void loop_round(Frame& frame, const ast::Stmt& s, Val item, int64_t round);
  void weight(Frame& frame, const ast::Stmt& s);
  std::string weight_init(Frame& frame, const ast::Stmt& s);

  Expressions& expressions_;
  Types& types_;
  WeightPaths& paths_;
  Nodes& nodes_;
  Report& report_;
};

} // namespace tg::eval
