// Makes the nodes of an Ast for the grammar's actions and the parser: one function per construct.
// It makes the checks that a grammar cannot express (numbers that fit, assignable targets,
// `..` at the end of a call), but no semantic ones.
#pragma once

#include "lang/syntax/ast.h"
#include "lang/syntax/tokens.h"

#include <optional>

namespace tg {

/// The part of a function between its parameters and its body.
struct ResultTypes {
  std::vector<ast::ResultType> types;
  bool parenthesised = false;
  Span span;
};

/// The `=` or the options of a `param`.
struct WeightOptions {
  ast::ExprId value;
  std::vector<ast::Arg> args;
};

struct Targets {
  std::vector<ast::Name> names;
  bool parenthesised = false;
};

/// A line of a rule's body.
struct RuleItem {
  ast::StmtId let;                   // or
  std::vector<ast::ExprId> lhs, rhs; // an equation, and
  bool two_way = false;
  Span arrow;
  std::vector<ast::ExprId> where; // conditions, alone or after an equation
};

class AstBuilder {
public:
  AstBuilder(llvm::StringRef text, SyntaxErrors& errors)
      : text_(text), errors_(errors), nodes_(errors) {}

  using Exprs = std::vector<ast::ExprId>;

  ast::Name name(Span at) const { return {slice(at), at}; }

  ast::ExprId name_expr(Span at);
  ast::ExprId integer(Span at);
  ast::ExprId real(Span at);
  ast::ExprId string(Span at);
  ast::ExprId boolean(Span at, bool value);
  ast::ExprId bad(Span at);
  ast::ExprId list(Span at, const Exprs& items);
  ast::ExprId tuple(Span at, const Exprs& items);
  ast::ExprId call(Span at, Span callee, const std::vector<ast::Arg>& args);
  ast::ExprId named_call(Span at, ast::ExprId call, Span alias);
  ast::ExprId unary(Span at, ast::Op op, Span op_at, ast::ExprId operand);
  ast::ExprId binary(Span at, ast::Op op, Span op_at, ast::ExprId left, ast::ExprId right);
  ast::ExprId range(Span at, Span op_at, ast::ExprId first, ast::ExprId last);
  ast::ExprId index(Span at, ast::ExprId value, const std::vector<ast::Slice>& slices);
  ast::ExprId conditional(Span at, ast::ExprId condition, ast::BlockId then_block,
                          ast::BlockId else_block);
  /// Makes `S...` in a type or a list.
  ast::ExprId spread(Span at, Span name);
  /// Makes a block of one expression, for `else if`.
  ast::BlockId block_of(ast::ExprId value);

  ast::TypeRef type(Span at, Span name);
  ast::TypeRef type(Span at, Span name, const Exprs& dims);
  ast::TypeRef tuple_type(Span at, const std::vector<ast::TypeRef>& parts);

  ast::StmtId let(Span at, ast::StmtKind kind, const Targets& targets, ast::ExprId value);
  ast::StmtId assign(Span at, ast::ExprId target, Span equals, ast::ExprId value);
  ast::StmtId param(Span at, Span name, ast::TypeRef type, const WeightOptions& options);
  ast::StmtId loop(Span at, const Targets& targets, ast::ExprId range, ast::BlockId body);
  ast::StmtId expression(Span at, ast::ExprId value);
  ast::BlockId block(Span at, const std::vector<ast::StmtId>& stmts);

  ast::DeclId use(Span at, Span path, const std::vector<ast::Name>& imports);
  ast::DeclId function(ast::DeclKind kind, Span at, Span name,
                       const std::vector<ast::Param>& params, const ResultTypes& results,
                       const Exprs& where, ast::BlockId body);
  /// `call`: from its name to the end of its parameters. `value` is absent for `extern op`.
  ast::DeclId op(Span at, Span call, Span name, const std::vector<ast::Param>& params,
                 const ResultTypes& results, const Exprs& where, ast::ExprId value);
  ast::DeclId ruleset(Span at, Span name);
  ast::DeclId rule(Span at, Span name, const std::vector<ast::Param>& params, ast::Name numerics,
                   const std::vector<RuleItem>& items);
  /// Adds the declaration to the file, unless it could not be read.
  void add(ast::DeclId decl) {
    if (decl) nodes_.declare(decl);
  }

  /// Attaches documentation; the builder is empty afterwards.
  Ast finish(std::vector<ast::Comment> comments);

private:
  /// The growing tree: nodes at the ends of its arrays, lists at the ends of its pools.
  /// Expressions know their depth; an expression that would be too deep is an Error.
  class Nodes {
  public:
    explicit Nodes(SyntaxErrors& errors) : errors_(errors), tree_(errors.file()) {}

    const Ast& tree() const { return tree_; }
    ast::ExprId add(ast::Expr e);
    ast::TypeRef add(ast::Type type);
    ast::StmtId add(ast::Stmt s);
    ast::BlockId add(const std::vector<ast::StmtId>& stmts, Span at);
    ast::DeclId add(ast::Decl d);
    void declare(ast::DeclId decl) { tree_.decls_.push_back(decl); }
    template <class T> ast::List<T> keep(const std::vector<T>& items);
    llvm::StringRef keep_text(std::string text);
    // Mutable access during construction.
    ast::Expr& at(ast::ExprId id) { return tree_.exprs_[id.index]; }
    ast::Type& at(ast::TypeRef id) { return tree_.types_[id.index]; }
    ast::Decl& at(ast::DeclId id) { return tree_.decl_nodes_[id.index]; }
    /// Attaches the documentation comments; empty afterwards.
    Ast finish(std::vector<ast::Comment> comments, llvm::StringRef text);

  private:
    uint32_t depth(ast::BlockId block) const;
    void attach_docs(llvm::StringRef text);

    SyntaxErrors& errors_;
    Ast tree_;
    std::vector<uint32_t> block_depths_; // of the deepest expression within, by block
    bool depth_reported_ = false;
  };

  llvm::StringRef slice(Span at) const { return text_.slice(at.begin, at.end); }
  bool takes_sign(Span at, ast::Op op, ast::ExprId operand);
  std::optional<std::string> unescape(Span at);
  void check_args(const std::vector<ast::Arg>& args);
  bool read_path(Span at, ast::Decl& use);

  llvm::StringRef text_;
  SyntaxErrors& errors_;
  Nodes nodes_;
  std::vector<Span> unsigned_; // integers 2^63 before which no `-` has been read yet
};

} // namespace tg
