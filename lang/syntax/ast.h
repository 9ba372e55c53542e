// The syntax tree of one .tg file. Nodes are in arrays of the Ast and refer to each other
// by small indices; lists are slices of shared pools. The tree represents only what was written:
// no name is resolved, no type is computed, and sugar is kept,
// so that the formatter can print it again.
//
// Invariants, kept by the parser:
//   - children are made before their parents, so an expression's id is larger than its children's;
//   - no expression is deeper than kMaxDepth and no block is nested deeper than kMaxNesting, so a
//     pass may recurse over one tree (deeper input is refused with E0111);
//   - each span is within the file, and a parent's span covers its children's;
//   - after an error the tree is still well formed; unreadable parts are ExprKind::Error or
//     omitted.
// Text (`Name::text`, `Expr::text`) points into the SourceFile or into the Ast;
// both must outlive it.
#pragma once

#include "lang/core/diagnostics/source.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>

#include <cassert>
#include <compare>
#include <cstdint>
#include <deque>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tg {
class AstBuilder;
class OpUnfolder;

namespace ast {

inline constexpr uint32_t kMaxDepth = 250;   // of one expression
inline constexpr uint32_t kMaxNesting = 200; // of brackets and blocks together

/// Index of a node in its Ast; invalid (`!id.valid()`) if the construct is absent.
template <class Node> struct Id {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  explicit operator bool() const { return valid(); }
  auto operator<=>(const Id&) const = default;
};

/// A slice of the Ast's pool of T. Read it with `Ast::operator[]`.
template <class T> struct List {
  uint32_t first = 0;
  uint32_t count = 0;
  bool empty() const { return count == 0; }
  uint32_t size() const { return count; }
};

struct Expr;
struct Stmt;
struct Decl;
struct Type;
struct Block;
using ExprId = Id<Expr>;
using StmtId = Id<Stmt>;
using DeclId = Id<Decl>;
using TypeRef = Id<Type>; // a written type; the checked one is tg::TensorType
using BlockId = Id<Block>;

/// An identifier as written. The text is empty if it is absent.
struct Name {
  llvm::StringRef text;
  Span span;
  bool present() const { return !text.empty(); }
  explicit operator bool() const { return present(); }
};

// --- expressions ----------------------------------------------------------------------------

enum class ExprKind : uint8_t {
  Error,  // could not be read; already reported, so it causes no other errors
  Name,   // text: x, same, f32
  Int,    // int_value; text: as written
  Float,  // float_value; text: as written, which is the exact decimal value ("0.02", "1e-5")
  String, // text: contents with escapes resolved
  Bool,   // int_value: 0 or 1
  List,   // items: [a, b]
  Tuple,  // items: (a, b), (a,) and (); plain parentheses leave no node
  Call,   // callee, args, alias: relu(x), fire(x, 16) as fire2
  Unary,  // op, a: -a, not a
  Binary, // op, a, b: arithmetic, comparison, and, or
  Index,  // a, slices: x[:, 0:64]
  Range,  // a, b: 0..12, half open; of a parameter: both ends included, b absent without an end
  Spread, // text: S..., the dimensions of a shape variable: an item of a type or of a list
  If,     // a: condition; then_block, else_block (else_block may be absent)
};

enum class Op : uint8_t {
  None,
  Add,      // +
  Sub,      // -
  Mul,      // *
  Div,      // /   exact on integers
  FloorDiv, // //
  Mod,      // %
  MatMul,   // @
  Pow,      // **
  Eq,       // ==
  Ne,       // !=
  Lt,       // <
  Le,       // <=
  Gt,       // >
  Ge,       // >=
  And,      // and
  Or,       // or
  Neg,      // unary -
  Not,      // not
};

/// Returns the operator as written: "+", "//", "and", "-", "not".
llvm::StringRef spelling(Op op);
inline bool is_comparison(Op op) { return op >= Op::Eq && op <= Op::Ge; }

enum class ArgKind : uint8_t {
  Positional, // value
  Named,      // name = value
  Spread,     // xs...: value is the Name xs; all values of that variadic variable
  Rest,       // .. at the end of a call: any other attributes (rules only)
};

struct Arg {
  ArgKind kind = ArgKind::Positional;
  Name name;    // Named only
  ExprId value; // absent for Rest
  Span span;    // the whole argument: `axis = 1`
};

/// One entry between the brackets of `x[...]`.
struct Slice {
  bool range = false;    // false: a single index, in `begin`
  bool ellipsis = false; // `...`: all axes that the other entries leave
  ExprId begin, end;     // absent if omitted: `:`, `0:`, `:64`
  ExprId step;           // `0:64:2`
  Span span;
};

struct Expr {
  ExprKind kind = ExprKind::Error;
  Op op = Op::None;
  uint32_t depth = 1; // of the tree below, including itself; at most kMaxDepth
  Span span;
  Span op_span; // the span of the operator: Unary, Binary, Range
  llvm::StringRef text;
  int64_t int_value = 0;
  double float_value = 0;
  ExprId a, b;
  List<ExprId> items;
  Name callee;
  List<Arg> args;
  Name alias; // the name after `as`
  List<Slice> slices;
  BlockId then_block, else_block;
  /// In a rule: the call in the rule's text because of which this was read in the body
  /// of a function or an operator (unfold_ops.h). Its names are then not names of the rule.
  ExprId unfolded_from;
};

// --- types ----------------------------------------------------------------------------------

enum class TypeKind : uint8_t {
  Error,
  Named, // int, Pad, pointwise; f32[N, C / 2]: name and dims; list[int]: dims holds the Name int
  Tuple, // (f32[N], i64[N])
};

struct Type {
  TypeKind kind = TypeKind::Error;
  Name name;
  bool bracketed = false; // f32[] and f32[N] have brackets, f32 has none
  List<ExprId> dims;
  List<TypeRef> parts; // Tuple
  Span span;
};

// --- statements -----------------------------------------------------------------------------

enum class StmtKind : uint8_t {
  Error,
  Let,    // let a = value; let (a, b) = value
  Var,    // var a = value; var (a, b) = value
  Assign, // a = value; (a, b) = value
  Param,  // param w: T; = weight("path"); (init = normal(0.02))
  For,    // for i in value { body }; for (k, s) in [(3, 1)] { body }
  Expr,   // value; the last one of a block is the block's value. `if` is an expression.
};

struct Stmt {
  StmtKind kind = StmtKind::Error;
  bool destructures = false; // parenthesized targets; `(a,)` destructures a 1-tuple
  Span span;
  List<Name> targets; // Let, Var, Assign, For; Param: the one name
  TypeRef type;       // Param
  ExprId value;       // right of `=`; For: the iterated value; Param: `weight("p")` or absent
  List<Arg> args;     // Param: the options in parentheses, `init = normal(0.02)`
  BlockId body;       // For
};

struct Block {
  List<StmtId> stmts;
  Span span; // including the braces
};

// --- declarations ---------------------------------------------------------------------------

enum class DeclKind : uint8_t {
  Use,     // path, relative, imports
  Fn,      // name, params, results, where, body
  Model,   // as Fn
  Ruleset, // name: the following part of this file belongs to it
  Rule,    // name, params, numerics, lets, lhs, rhs, two_way, where
  Op,      // name, params, results, where, value; as a rule: lhs[0] <=> rhs[0]
};

struct Param {
  Name name;
  TypeRef type;          // absent in rules if the kind is omitted
  ExprId default_value;  // absent: required
  bool variadic = false; // `xs...` in a rule
  Span span;
  ExprId range{}; // a Range, `1..2048` or `1..`; absent: a parameter of one value
};

/// One result type. `-> T` is a single unnamed one.
struct ResultType {
  Name name; // `-> (logits: T, ...)`; absent if it has none
  TypeRef type;
  Span span;
};

struct Decl {
  DeclKind kind = DeclKind::Fn;
  Span span;
  Name name;           // absent for Use
  llvm::StringRef doc; // the preceding `##` lines, without the marks, joined by newlines

  // Use: `use std.nn: conv, max_pool`, `use ./blocks: fire`, `use ../lib/a: f`, `use rules.matmul`
  List<Name> path;       // std, nn; if relative: the folders (".." too) and the file
  bool relative = false; // starts with ./ or ../
  Span path_span;
  List<Name> imports; // empty: the whole module

  // Fn, Model, Rule
  List<Param> params;
  List<ExprId> where; // conditions that must all be true

  // Fn, Model
  List<ResultType> results; // empty: inferred
  bool results_parenthesised = false;
  Span results_span;
  BlockId body;

  // Op: `op f(x: T[S...]) = value`, `extern op f(x: T[S...]) -> T[S...]`.
  // Its definition as a rule is in `lhs` (a call with its own parameters) and `rhs`.
  ExprId value; // absent if external
  bool external = false;

  // Rule. `lets` name parts of the right side, in order; lhs.size() == rhs.size()
  // is not checked here.
  Name numerics; // exact, reassociates or risky; absent: derived. Any word is accepted here.
  List<StmtId> lets;
  List<ExprId> lhs, rhs;
  bool two_way = false; // <=>
  Span arrow_span;
};

/// A comment, including `#`, without its newline. Documentation comments (`##`) are included.
struct Comment {
  Span span;
  bool own_line = false; // preceded by nothing but blanks
};

} // namespace ast

/// The tree of one file. Movable, not copyable (its texts may point into itself).
class Ast {
public:
  explicit Ast(FileId file) : file_(file) {}
  Ast(Ast&&) = default;
  Ast& operator=(Ast&&) = default;
  Ast(const Ast&) = delete;
  Ast& operator=(const Ast&) = delete;

  FileId file() const { return file_; }
  /// The `##` lines at the start of the file, if followed by a blank line or a `use`.
  llvm::StringRef doc() const { return doc_; }
  /// The declarations in source order. Unreadable ones are omitted.
  llvm::ArrayRef<ast::DeclId> decls() const { return decls_; }
  /// All comments in source order.
  llvm::ArrayRef<ast::Comment> comments() const { return comments_; }

  const ast::Expr& operator[](ast::ExprId id) const { return exprs_[id.index]; }
  const ast::Stmt& operator[](ast::StmtId id) const { return stmts_[id.index]; }
  const ast::Decl& operator[](ast::DeclId id) const { return decl_nodes_[id.index]; }
  const ast::Type& operator[](ast::TypeRef id) const { return types_[id.index]; }
  const ast::Block& operator[](ast::BlockId id) const { return blocks_[id.index]; }

  template <class T> llvm::ArrayRef<T> operator[](ast::List<T> list) const {
    const std::vector<T>& all = std::get<std::vector<T>>(pools_);
    return llvm::ArrayRef<T>(all).slice(list.first, list.count);
  }

  size_t expr_count() const { return exprs_.size(); }
  size_t stmt_count() const { return stmts_.size(); }

  /// Returns the argument of that name, or null.
  const ast::Arg* find_arg(ast::List<ast::Arg> args, llvm::StringRef name) const;

private:
  friend class AstBuilder;
  friend class UnfoldedTree;

  FileId file_;
  llvm::StringRef doc_;
  std::vector<ast::DeclId> decls_;
  std::vector<ast::Comment> comments_;
  std::vector<ast::Expr> exprs_;
  std::vector<ast::Stmt> stmts_;
  std::vector<ast::Decl> decl_nodes_;
  std::vector<ast::Type> types_;
  std::vector<ast::Block> blocks_;
  std::tuple<std::vector<ast::ExprId>, std::vector<ast::StmtId>, std::vector<ast::TypeRef>,
             std::vector<ast::Name>, std::vector<ast::Arg>, std::vector<ast::Slice>,
             std::vector<ast::Param>, std::vector<ast::ResultType>>
      pools_;
  std::deque<std::string> texts_; // a deque: views stay valid as texts are added
};

/// Calls `visit(ExprId)` for each expression directly below `id`, in source order:
/// operands, items, argument values, slice bounds. Does not enter the blocks of `if`.
template <class Visit> void for_each_child(const Ast& tree, ast::ExprId id, Visit&& visit) {
  const ast::Expr& e = tree[id];
  if (e.a) visit(e.a);
  if (e.b) visit(e.b);
  for (ast::ExprId item : tree[e.items]) visit(item);
  for (const ast::Arg& arg : tree[e.args])
    if (arg.value) visit(arg.value);
  for (const ast::Slice& slice : tree[e.slices])
    for (ast::ExprId bound : {slice.begin, slice.end, slice.step})
      if (bound) visit(bound);
}

/// Returns true if both trees are equal: kinds, names, values and structure,
/// including documentation, but not positions and comments.
bool same_tree(const Ast& left, const Ast& right);

/// Returns one line in prefix form, for tests and messages: `(call relu (binary @ x u))`.
std::string dump(const Ast& tree, ast::ExprId id);
/// Returns the whole file, one declaration or statement per line.
std::string dump(const Ast& tree);

} // namespace tg
