// Nodes are appended to the arrays of the Ast; lists are copied to its pools.
#include "lang/syntax/ast_builder.h"

#include "lang/core/diagnostics/escape.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tg {

using ast::ExprId;
using ast::ExprKind;

namespace {

constexpr size_t kMaxDigits = 1000; // of a number

/// Shortens a long text for a message.
std::string quoted(llvm::StringRef text) {
  constexpr size_t kShown = 40;
  if (text.size() <= kShown) return text.str();
  return (text.take_front(kShown) + "...").str();
}

} // namespace

// --- the tree ------------------------------------------------------------------------------------

template <class T> ast::List<T> AstBuilder::Nodes::keep(const std::vector<T>& items) {
  std::vector<T>& pool = std::get<std::vector<T>>(tree_.pools_);
  ast::List<T> list{static_cast<uint32_t>(pool.size()), static_cast<uint32_t>(items.size())};
  pool.insert(pool.end(), items.begin(), items.end());
  return list;
}

llvm::StringRef AstBuilder::Nodes::keep_text(std::string text) {
  return tree_.texts_.emplace_back(std::move(text));
}

uint32_t AstBuilder::Nodes::depth(ast::BlockId block) const {
  return block ? block_depths_[block.index] : 0;
}

/// Sets the depth of `e` from its children's; if it is too large, `e` becomes an Error.
ExprId AstBuilder::Nodes::add(ast::Expr e) {
  tree_.exprs_.push_back(e);
  ExprId id{static_cast<uint32_t>(tree_.exprs_.size() - 1)};
  uint32_t below = std::max(depth(e.then_block), depth(e.else_block));
  for_each_child(tree_, id,
                 [&](ExprId child) { below = std::max(below, tree_.exprs_[child.index].depth); });
  ast::Expr& made = tree_.exprs_.back();
  made.depth = below + 1;
  if (made.depth <= ast::kMaxDepth) return id;
  if (!depth_reported_) {
    Span place = made.op_span.valid() ? made.op_span : made.span;
    errors_
        .add(Code::nesting_too_deep, place.begin, place.end,
             "this expression is more than {0} operations deep", ast::kMaxDepth)
        .help = "name a part of it with `let`";
  }
  depth_reported_ = true;
  Span span = made.span;
  made = ast::Expr{};
  made.span = span;
  return id;
}

ast::TypeRef AstBuilder::Nodes::add(ast::Type type) {
  tree_.types_.push_back(type);
  return {static_cast<uint32_t>(tree_.types_.size() - 1)};
}

ast::StmtId AstBuilder::Nodes::add(ast::Stmt s) {
  tree_.stmts_.push_back(s);
  return {static_cast<uint32_t>(tree_.stmts_.size() - 1)};
}

ast::BlockId AstBuilder::Nodes::add(const std::vector<ast::StmtId>& stmts, Span at) {
  uint32_t deepest = 0;
  for (ast::StmtId id : stmts) {
    const ast::Stmt& s = tree_[id];
    if (s.value) deepest = std::max(deepest, tree_[s.value].depth);
    deepest = std::max(deepest, depth(s.body));
  }
  tree_.blocks_.push_back({keep(stmts), at});
  block_depths_.push_back(deepest + 1);
  return {static_cast<uint32_t>(tree_.blocks_.size() - 1)};
}

ast::DeclId AstBuilder::Nodes::add(ast::Decl d) {
  tree_.decl_nodes_.push_back(d);
  return {static_cast<uint32_t>(tree_.decl_nodes_.size() - 1)};
}

Ast AstBuilder::Nodes::finish(std::vector<ast::Comment> comments, llvm::StringRef text) {
  tree_.comments_ = std::move(comments);
  attach_docs(text);
  return std::move(tree_);
}

namespace {

/// Returns the texts of comments, without `##` and one blank.
std::string doc_lines(llvm::ArrayRef<ast::Comment> comments, llvm::StringRef text) {
  std::string doc;
  for (const ast::Comment& comment : comments) {
    llvm::StringRef line = text.slice(comment.span.begin, comment.span.end).drop_front(2);
    line.consume_front(" ");
    doc += (&comment == comments.begin() ? "" : "\n") + line.str();
  }
  return doc;
}

} // namespace

/// Comments and declarations are both in source order, so one merge suffices.
/// A run of `##` lines belongs to the declaration on the next line;
/// the first run of a file belongs to the file if a blank line or a `use` follows.
void AstBuilder::Nodes::attach_docs(llvm::StringRef text) {
  const std::vector<ast::Comment>& all = tree_.comments_;
  auto is_doc = [&](const ast::Comment& c) {
    return c.own_line && text.slice(c.span.begin, c.span.end).startswith("##");
  };
  // Only one newline, and blanks, between the two positions.
  auto adjacent = [&](uint32_t from, uint32_t to) {
    llvm::StringRef gap = text.slice(from, to);
    return gap.trim().empty() && gap.count('\n') == 1;
  };
  size_t decl = 0;
  for (size_t first = 0; first < all.size();) {
    size_t last = first + 1;
    if (is_doc(all[first]))
      while (last < all.size() && is_doc(all[last]) &&
             adjacent(all[last - 1].span.end, all[last].span.begin))
        ++last;
    uint32_t end = all[last - 1].span.end;
    while (decl < tree_.decls_.size() && tree_[tree_.decls_[decl]].span.begin < end) ++decl;
    if (is_doc(all[first])) {
      llvm::ArrayRef<ast::Comment> run = llvm::makeArrayRef(all).slice(first, last - first);
      ast::Decl* next =
          decl < tree_.decls_.size() ? &tree_.decl_nodes_[tree_.decls_[decl].index] : nullptr;
      bool touches = next && adjacent(end, next->span.begin);
      bool at_head = decl == 0 && text.take_front(all[first].span.begin).trim().empty();
      if (touches && next->kind != ast::DeclKind::Use)
        next->doc = keep_text(doc_lines(run, text));
      else if (at_head)
        tree_.doc_ = keep_text(doc_lines(run, text));
    }
    first = last;
  }
}

// --- expressions ---------------------------------------------------------------------------------

namespace {
ast::Expr node(ExprKind kind, Span at) {
  ast::Expr e;
  e.kind = kind;
  e.span = at;
  return e;
}
} // namespace

ExprId AstBuilder::name_expr(Span at) {
  ast::Expr e = node(ExprKind::Name, at);
  e.text = slice(at);
  return nodes_.add(e);
}

static void too_large(SyntaxErrors& errors, llvm::StringRef integer, Span at) {
  errors.add(Code::bad_number, at.begin, at.end, "the integer {0} does not fit 64 bits",
             quoted(integer));
}

ExprId AstBuilder::integer(Span at) {
  ast::Expr e = node(ExprKind::Int, at);
  e.text = slice(at);
  uint64_t magnitude = 0;
  constexpr uint64_t kSmallest = uint64_t{1} << 63; // of INT64_MIN after `-`
  if (e.text.getAsInteger(10, magnitude) || magnitude > kSmallest) {
    too_large(errors_, e.text, at);
    return bad(at);
  }
  e.int_value = static_cast<int64_t>(magnitude);
  if (magnitude == kSmallest) unsigned_.push_back(at);
  return nodes_.add(e);
}

/// `-9223372036854775808` is one integer: without its sign it would overflow.
bool AstBuilder::takes_sign(Span at, ast::Op op, ExprId operand) {
  ast::Expr& e = nodes_.at(operand);
  bool takes = op == ast::Op::Neg && e.kind == ExprKind::Int && e.int_value == INT64_MIN &&
               e.text.front() != '-' && e.span.end == at.end;
  if (!takes) return false;
  Span digits = e.span;
  llvm::erase_if(unsigned_, [&](Span span) { return span.begin == digits.begin; });
  e.text = nodes_.keep_text("-" + e.text.str());
  e.span = at;
  return true;
}

Ast AstBuilder::finish(std::vector<ast::Comment> comments) {
  for (Span at : unsigned_) too_large(errors_, slice(at), at);
  return nodes_.finish(std::move(comments), text_);
}

ExprId AstBuilder::real(Span at) {
  ast::Expr e = node(ExprKind::Float, at);
  e.text = slice(at);
  std::from_chars_result read{};
  if (e.text.size() <= kMaxDigits)
    read = std::from_chars(e.text.begin(), e.text.end(), e.float_value);
  if (read.ptr != e.text.end() || read.ec != std::errc()) {
    errors_.add(Code::bad_number, at.begin, at.end, "the number {0} does not fit a 64-bit float",
                quoted(e.text));
    return bad(at);
  }
  return nodes_.add(e);
}

ExprId AstBuilder::string(Span at) {
  std::optional<std::string> contents = unescape(at);
  if (!contents) return bad(at);
  ast::Expr e = node(ExprKind::String, at);
  e.text = nodes_.keep_text(std::move(*contents));
  return nodes_.add(e);
}

std::optional<std::string> AstBuilder::unescape(Span at) {
  llvm::StringRef body = slice(at).drop_front().drop_back();
  size_t bad = 0;
  std::optional<std::string> text = unescaped(body, bad);
  if (text) return text;
  uint32_t begin = at.begin + 1 + static_cast<uint32_t>(bad);
  errors_
      .add(Code::syntax, begin, begin + 2, "unknown escape `{0}` in a string", body.substr(bad, 2))
      .help = "the escapes are \\n, \\t, \\\\, \\\" and \\x01 to \\x7f";
  return std::nullopt;
}

ExprId AstBuilder::boolean(Span at, bool value) {
  ast::Expr e = node(ExprKind::Bool, at);
  e.text = slice(at);
  e.int_value = value;
  return nodes_.add(e);
}

ExprId AstBuilder::bad(Span at) { return nodes_.add(node(ExprKind::Error, at)); }

ExprId AstBuilder::list(Span at, const Exprs& items) {
  ast::Expr e = node(ExprKind::List, at);
  e.items = nodes_.keep(items);
  return nodes_.add(e);
}

ExprId AstBuilder::tuple(Span at, const Exprs& items) {
  ast::Expr e = node(ExprKind::Tuple, at);
  e.items = nodes_.keep(items);
  return nodes_.add(e);
}

ExprId AstBuilder::call(Span at, Span callee, const std::vector<ast::Arg>& args) {
  check_args(args);
  ast::Expr e = node(ExprKind::Call, at);
  e.callee = name(callee);
  e.args = nodes_.keep(args);
  return nodes_.add(e);
}

void AstBuilder::check_args(const std::vector<ast::Arg>& args) {
  // If brackets were mended, the arguments may differ from the intended ones.
  if (args.empty() || errors_.any_within(args.front().span.begin, args.back().span.end)) return;
  const ast::Arg* named = nullptr;
  for (size_t i = 0; i < args.size(); ++i) {
    const ast::Arg& arg = args[i];
    if (arg.kind == ast::ArgKind::Rest && i + 1 != args.size()) {
      errors_.add(Code::syntax, arg.span.begin, arg.span.end,
                  "`..` must be the last argument of a call");
      return;
    }
    bool by_place = arg.kind == ast::ArgKind::Positional || arg.kind == ast::ArgKind::Spread;
    if (by_place && named) {
      Diagnostic& d = errors_.add(Code::syntax, arg.span.begin, arg.span.end,
                                  "a positional argument follows a named one");
      d.labels.push_back({named->span, "this argument is named"});
      return;
    }
    if (arg.kind == ast::ArgKind::Named) named = &arg;
  }
}

ExprId AstBuilder::named_call(Span at, ExprId call, Span alias) {
  ast::Expr& e = nodes_.at(call);
  if (e.kind != ExprKind::Call) return call;
  e.alias = name(alias);
  e.span = at;
  return call;
}

ExprId AstBuilder::unary(Span at, ast::Op op, Span op_at, ExprId operand) {
  if (operand && takes_sign(at, op, operand)) return operand;
  ast::Expr e = node(ExprKind::Unary, at);
  e.op = op;
  e.op_span = op_at;
  e.a = operand;
  return nodes_.add(e);
}

ExprId AstBuilder::binary(Span at, ast::Op op, Span op_at, ExprId left, ExprId right) {
  ast::Expr e = node(ExprKind::Binary, at);
  e.op = op;
  e.op_span = op_at;
  e.a = left;
  e.b = right;
  return nodes_.add(e);
}

ExprId AstBuilder::range(Span at, Span op_at, ExprId first, ExprId last) {
  ast::Expr e = node(ExprKind::Range, at);
  e.op_span = op_at;
  e.a = first;
  e.b = last;
  return nodes_.add(e);
}

ExprId AstBuilder::index(Span at, ExprId value, const std::vector<ast::Slice>& slices) {
  ast::Expr e = node(ExprKind::Index, at);
  e.a = value;
  e.slices = nodes_.keep(slices);
  return nodes_.add(e);
}

ExprId AstBuilder::conditional(Span at, ExprId condition, ast::BlockId then_block,
                               ast::BlockId else_block) {
  ast::Expr e = node(ExprKind::If, at);
  e.a = condition;
  e.then_block = then_block;
  e.else_block = else_block;
  return nodes_.add(e);
}

ExprId AstBuilder::spread(Span at, Span variable) {
  ast::Expr e = node(ExprKind::Spread, at);
  e.text = slice(variable);
  return nodes_.add(e);
}

ast::BlockId AstBuilder::block_of(ExprId value) {
  Span at = nodes_.tree()[value].span;
  return block(at, {expression(at, value)});
}

// --- types ---------------------------------------------------------------------------------------

ast::TypeRef AstBuilder::type(Span at, Span type_name) {
  ast::Type t;
  t.kind = ast::TypeKind::Named;
  t.name = name(type_name);
  t.span = at;
  return nodes_.add(t);
}

ast::TypeRef AstBuilder::type(Span at, Span type_name, const Exprs& dims) {
  ast::TypeRef id = type(at, type_name);
  ast::Type& made = nodes_.at(id);
  made.bracketed = true;
  made.dims = nodes_.keep(dims);
  return id;
}

ast::TypeRef AstBuilder::tuple_type(Span at, const std::vector<ast::TypeRef>& parts) {
  ast::Type t;
  t.kind = ast::TypeKind::Tuple;
  t.parts = nodes_.keep(parts);
  t.span = at;
  return nodes_.add(t);
}

// --- statements ----------------------------------------------------------------------------------

ast::StmtId AstBuilder::let(Span at, ast::StmtKind kind, const Targets& targets, ExprId value) {
  ast::Stmt s;
  s.kind = kind;
  s.span = at;
  s.targets = nodes_.keep(targets.names);
  s.destructures = targets.parenthesised;
  s.value = value;
  return nodes_.add(s);
}

ast::StmtId AstBuilder::assign(Span at, ExprId target, Span equals, ExprId value) {
  const ast::Expr& left = nodes_.tree()[target];
  Targets targets;
  targets.parenthesised = left.kind == ExprKind::Tuple;
  bool fits = left.kind == ExprKind::Name || (left.kind == ExprKind::Tuple && !left.items.empty());
  if (left.kind == ExprKind::Name) targets.names.push_back({left.text, left.span});
  for (ExprId item : nodes_.tree()[left.items]) {
    fits = fits && nodes_.tree()[item].kind == ExprKind::Name;
    targets.names.push_back({nodes_.tree()[item].text, nodes_.tree()[item].span});
  }
  if (fits) return let(at, ast::StmtKind::Assign, targets, value);
  if (left.kind != ExprKind::Error) {
    Diagnostic& d = errors_.add(Code::syntax, left.span.begin, left.span.end,
                                "cannot assign to this expression");
    d.labels.push_back({equals, "assignment"});
    d.help = left.kind == ExprKind::Index ? "values do not change in place; create a new one"
                                          : "the left side of `=` must be a name";
  }
  ast::Stmt s;
  s.span = at;
  return nodes_.add(s);
}

ast::StmtId AstBuilder::param(Span at, Span param_name, ast::TypeRef type,
                              const WeightOptions& options) {
  ast::Stmt s;
  s.kind = ast::StmtKind::Param;
  s.span = at;
  s.targets = nodes_.keep(std::vector<ast::Name>{name(param_name)});
  s.type = type;
  s.value = options.value;
  check_args(options.args);
  s.args = nodes_.keep(options.args);
  return nodes_.add(s);
}

ast::StmtId AstBuilder::loop(Span at, const Targets& targets, ExprId range, ast::BlockId body) {
  ast::Stmt s;
  s.kind = ast::StmtKind::For;
  s.span = at;
  s.targets = nodes_.keep(targets.names);
  s.destructures = targets.parenthesised;
  s.value = range;
  s.body = body;
  return nodes_.add(s);
}

ast::StmtId AstBuilder::expression(Span at, ExprId value) {
  ast::Stmt s;
  s.kind = ast::StmtKind::Expr;
  s.span = at;
  s.value = value;
  return nodes_.add(s);
}

ast::BlockId AstBuilder::block(Span at, const std::vector<ast::StmtId>& stmts) {
  return nodes_.add(stmts, at);
}

// --- declarations --------------------------------------------------------------------------------

ast::DeclId AstBuilder::use(Span at, Span path, const std::vector<ast::Name>& imports) {
  ast::Decl d;
  d.kind = ast::DeclKind::Use;
  d.span = at;
  d.path_span = path;
  d.imports = nodes_.keep(imports);
  if (!read_path(path, d)) {
    Diagnostic& e = errors_.add(Code::syntax, path.begin, path.end, "`{0}` does not name a module",
                                quoted(slice(path)));
    e.help = "write `use std.nn` for a module of the library, `use ./blocks` for blocks.tg in "
             "this folder";
    return {};
  }
  return nodes_.add(d);
}

/// Reads `std.nn` or `./a/b`, `../a`. Returns false if it is neither.
bool AstBuilder::read_path(Span at, ast::Decl& use) {
  llvm::StringRef text = slice(at);
  use.relative = text.startswith("./") || text.startswith("../");
  bool leading = true; // only `..` so far
  bool good = true;
  std::vector<ast::Name> parts;
  llvm::SmallVector<llvm::StringRef, 4> pieces;
  text.split(pieces, use.relative ? '/' : '.');
  for (llvm::StringRef piece : pieces) {
    uint32_t begin = at.begin + static_cast<uint32_t>(piece.data() - text.data());
    Span place{at.file, begin, begin + static_cast<uint32_t>(piece.size())};
    if (use.relative && piece == "." && parts.empty()) continue;
    bool up = use.relative && piece == "..";
    good = good && (up ? leading : !piece.empty() && piece.find_first_of("./") == piece.npos);
    leading = leading && up;
    parts.push_back({piece, place});
  }
  use.path = nodes_.keep(parts);
  return good && !leading;
}

ast::DeclId AstBuilder::function(ast::DeclKind kind, Span at, Span fn_name,
                                 const std::vector<ast::Param>& params, const ResultTypes& results,
                                 const Exprs& where, ast::BlockId body) {
  ast::Decl d;
  d.kind = kind;
  d.span = at;
  d.name = name(fn_name);
  d.params = nodes_.keep(params);
  d.where = nodes_.keep(where);
  d.results = nodes_.keep(results.types);
  d.results_parenthesised = results.parenthesised;
  d.results_span = results.span;
  d.body = body;
  return nodes_.add(d);
}

ast::DeclId AstBuilder::op(Span at, Span call_at, Span op_name,
                           const std::vector<ast::Param>& params, const ResultTypes& results,
                           const Exprs& where, ExprId value) {
  ast::DeclId id = function(ast::DeclKind::Op, at, op_name, params, results, where, {});
  ast::Decl& d = nodes_.at(id);
  d.value = value;
  d.external = !value.valid();
  std::vector<ast::Arg> args;
  args.reserve(params.size());
  for (const ast::Param& param : params)
    args.push_back({ast::ArgKind::Positional, {}, name_expr(param.name.span), param.name.span});
  Exprs left{call(call_at, op_name, args)};
  d.lhs = nodes_.keep(left);
  if (value) d.rhs = nodes_.keep(Exprs{value});
  d.two_way = true;
  return id;
}

ast::DeclId AstBuilder::ruleset(Span at, Span set_name) {
  ast::Decl d;
  d.kind = ast::DeclKind::Ruleset;
  d.span = at;
  d.name = name(set_name);
  return nodes_.add(d);
}

/// Returns true if an error was found in that span.
static bool found_within(SyntaxErrors& errors, Span at) {
  return llvm::any_of(errors.found(), [&](const Diagnostic& d) {
    return at.begin <= d.span.begin && d.span.begin < at.end;
  });
}

ast::DeclId AstBuilder::rule(Span at, Span rule_name, const std::vector<ast::Param>& params,
                             ast::Name numerics, const std::vector<RuleItem>& items) {
  ast::Decl d;
  d.kind = ast::DeclKind::Rule;
  d.span = at;
  d.name = name(rule_name);
  d.params = nodes_.keep(params);
  d.numerics = numerics;
  std::vector<ast::StmtId> lets;
  Exprs where;
  const RuleItem* equation = nullptr;
  for (const RuleItem& item : items) {
    if (item.let) lets.push_back(item.let);
    where.insert(where.end(), item.where.begin(), item.where.end());
    if (item.lhs.empty()) continue;
    if (equation) {
      Diagnostic& e = errors_.add(Code::syntax, item.arrow.begin, item.arrow.end,
                                  "a rule can have only one equation");
      e.labels.push_back({equation->arrow, "the first equation"});
      e.help = "move the second to its own rule; a rule with two left sides is `a, b => c, d`";
    }
    if (!equation) equation = &item;
  }
  if (!equation && !found_within(errors_, at))
    errors_
        .add(Code::syntax, d.name.span.begin, d.name.span.end, "rule `{0}` has no equation",
             d.name.text)
        .help = "write `left => right`, or `left <=> right` for both ways";
  d.lets = nodes_.keep(lets);
  d.where = nodes_.keep(where);
  if (equation) {
    d.lhs = nodes_.keep(equation->lhs);
    d.rhs = nodes_.keep(equation->rhs);
    d.two_way = equation->two_way;
    d.arrow_span = equation->arrow;
  }
  return nodes_.add(d);
}

} // namespace tg
