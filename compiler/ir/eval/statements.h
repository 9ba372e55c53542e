// Executes the statements of a body: blocks with their scopes, assignments, loops, and declarations
// of weights.
#pragma once

#include "compiler/ir/eval/types.h"
#include "compiler/ir/eval/value.h"

#include <map>
#include <set>

namespace tg::eval {

/// Builds the paths of weights from the calls (DECISIONS.md), each with its name and the iterations
/// of the enclosing loops. Also records the weights declared, because paths must be unique.
class WeightPaths {
public:
  struct Declared {
    Span span;
    std::string chain; // origin: "in layer(), called from m at line 8"
  };

  /// Returns a call's component of the paths of the weights inside: "layer[3]".
  std::string of_call(const Frame& frame, ast::ExprId call);
  /// Returns the default path of a weight, from its name.
  static std::string of_weight(const Frame& frame, const ast::Stmt& s);
  /// Records a weight. Returns the weight that has the path already, or null.
  const Declared* declare(const std::string& path, Declared declared);

private:
  const std::string& segment(const Frame& frame, ast::ExprId call);

  std::map<std::pair<uint32_t, uint32_t>, std::string> segments_; // (module, call)
  std::set<std::pair<uint32_t, uint32_t>> segmented_;             // (module, function) done
  llvm::StringMap<Declared> weights_;                             // by path
};

class Statements {
public:
  Statements(Expressions& expressions, Types& types, WeightPaths& paths, Nodes& nodes,
             Report& report)
      : expressions_(expressions), types_(types), paths_(paths), nodes_(nodes), report_(report) {}

  /// Runs a block with its own scope. Returns the value of its last statement.
  Val block(Frame& frame, ast::BlockId id);

private:
  Val run(Frame& frame, ast::BlockId id);
  Val statement(Frame& frame, const ast::Stmt& s);
  void destructure(Frame& frame, const ast::Stmt& s, Val value);
  static void assign(Frame& frame, const ast::Name& target, Val value);
  void loop(Frame& frame, const ast::Stmt& s);
  void loop_round(Frame& frame, const ast::Stmt& s, Val item, int64_t round);
  void weight(Frame& frame, const ast::Stmt& s);
  std::optional<std::string> weight_path(Frame& frame, const ast::Stmt& s);
  static const ast::Arg* init_of(Frame& frame, const ast::Stmt& s);
  std::string weight_init(Frame& frame, const ast::Stmt& s);
  bool fits_init(Frame& frame, const ast::Stmt& s, const TensorType& type, llvm::StringRef init);
  bool weight_trained(Frame& frame, const ast::Stmt& s);

  Expressions& expressions_;
  Types& types_;
  WeightPaths& paths_;
  Nodes& nodes_;
  Report& report_;
};

} // namespace tg::eval
