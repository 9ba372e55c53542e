// The tree under construction during unfolding: a copy of a file's tree in which rules
// are rewritten, and the state of the current rule: its size, its lets, its first error.
// Parts are shared, so a result is a graph of expressions. Its depth and its size as a tree
// are limited, because later passes walk it as a tree.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/symbols.h"
#include "lang/syntax/ast.h"

#include <llvm/ADT/StringSet.h>

#include <utility>

namespace tg {

class UnfoldedTree {
public:
  UnfoldedTree(const Ast& from, DiagnosticSink& sink);

  void begin_rule(const Ast& from, const ast::Decl& rule);
  void end_rule(ast::DeclId id, ast::Decl rule);
  void declare(ast::DeclId id) { out_.decls_.push_back(id); }
  Ast take() { return std::move(out_); }

  /// Returns true for a parameter or a let of the rule.
  bool is_own_name(llvm::StringRef name) const { return own_names_.count(name) != 0; }
  bool failed() const { return failed_; }
  /// Stops at an error that was already reported.
  void give_up() { failed_ = true; }
  const ast::Expr& operator[](ast::ExprId id) const { return out_[id]; }
  std::vector<ast::ExprId> items_of(ast::ExprId list) const { return out_[out_[list].items].vec(); }
  /// Returns the value of an expression of this tree that does not depend on the rule's own names.
  std::optional<Value> folded(ast::ExprId id) const;

  /// Adds an expression whose children are in the tree. `depth`: of the definition that it names.
  ast::ExprId make(ast::Expr e, uint32_t depth = 0);
  template <class T> ast::List<T> keep(const std::vector<T>& items) {
    auto& pool = std::get<std::vector<T>>(out_.pools_);
    ast::List<T> kept{static_cast<uint32_t>(pool.size()), static_cast<uint32_t>(items.size())};
    pool.insert(pool.end(), items.begin(), items.end());
    return kept;
  }

  /// Reports one error per rule and drops the rule.
  ast::ExprId fail(Diagnostic d);
  /// Counts discarded parts as well: a short text can represent a lot of work.
  bool too_long(Span at);

  /// While it lives, new expressions are attributed to a call in the rule's text,
  /// which errors in other places refer to.
  class Following {
  public:
    Following(UnfoldedTree& tree, ast::ExprId call)
        : tree_(tree), outer_(std::exchange(tree.following_, call)) {}
    ~Following() { tree_.following_ = outer_; }

  private:
    UnfoldedTree& tree_;
    ast::ExprId outer_;
  };

  /// Adds a let of the rule's own text.
  void add_let(ast::StmtId let, ast::ExprId value);
  /// Adds a let of the rule, under names that no text can have.
  std::vector<ast::Name> let_of(std::vector<ast::Name> targets, ast::ExprId value,
                                bool destructures);

  // --- expressions of the language, in the place of `at`
  ast::ExprId integer(const ast::Expr& at, int64_t value);
  ast::ExprId real(const ast::Expr& at, double value);
  ast::ExprId truth(const ast::Expr& at, bool value);
  ast::ExprId text(const ast::Expr& at, std::string value);
  ast::ExprId items(const ast::Expr& at, const std::vector<ast::ExprId>& operands);
  ast::ExprId name(const ast::Name& name, uint32_t depth);
  using Named = std::vector<std::pair<llvm::StringRef, ast::ExprId>>;
  /// Makes a call of an operator or function of the language.
  ast::ExprId table_call(const ast::Expr& at, llvm::StringRef name,
                         const std::vector<ast::ExprId>& operands, const Named& named);
  /// Returns `shape(x)` without `before` and `behind` dimensions at its ends.
  ast::ExprId shape_part(const ast::Expr& at, ast::ExprId x, int64_t before, int64_t behind);
  /// Replaces an expression by its value if that is a number or a bool, so that loop counters stay
  /// small.
  ast::ExprId fold_value(ast::ExprId value);

private:
  static constexpr size_t kMaxLets = 32;       // of the rule's own
  static constexpr uint64_t kMaxSize = 10'000; // of one side, as a tree
  static constexpr uint32_t kMaxDeep = 400;
  static constexpr uint64_t kMaxSteps = 100'000; // of one rule: expressions read and parts made

  DiagnosticSink& sink_;
  Ast out_;
  std::vector<uint64_t> sizes_; // of expressions as trees; 1 if unknown
  // State of the current rule:
  llvm::StringSet<> own_names_;
  std::vector<ast::StmtId> lets_; // including those that calls need
  ast::ExprId following_;         // the call in its text that is being followed, if any
  uint64_t steps_ = 0;
  bool failed_ = false;
};

/// Returns the call in a rule's text that caused a place in the body of a function or operator
/// to be read; invalid for a place in the rule itself.
Span call_behind(const Ast& unfolded, Span rule, Span place);

} // namespace tg
