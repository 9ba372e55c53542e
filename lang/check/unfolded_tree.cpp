#include "lang/check/unfolded_tree.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

#include <algorithm>

namespace tg {

using ast::ExprId;
using ast::ExprKind;

namespace {

bool encloses(Span outer, Span inner) {
  return outer.file == inner.file && outer.begin <= inner.begin && inner.end <= outer.end;
}

ast::Expr expr(ExprKind kind, const ast::Expr& at) {
  ast::Expr e;
  e.kind = kind;
  e.span = at.span;
  e.unfolded_from = at.unfolded_from;
  return e;
}

} // namespace

UnfoldedTree::UnfoldedTree(const Ast& from, DiagnosticSink& sink) : sink_(sink), out_(from.file()) {
  out_.doc_ = from.doc_;
  out_.comments_ = from.comments_;
  out_.exprs_ = from.exprs_;
  out_.stmts_ = from.stmts_;
  out_.decl_nodes_ = from.decl_nodes_;
  out_.types_ = from.types_;
  out_.blocks_ = from.blocks_;
  out_.pools_ = from.pools_;
}

void UnfoldedTree::begin_rule(const Ast& from, const ast::Decl& rule) {
  failed_ = false;
  steps_ = 0;
  following_ = {};
  lets_.clear();
  own_names_.clear();
  for (const ast::Param& param : from[rule.params]) own_names_.insert(param.name.text);
  for (ast::StmtId let : from[rule.lets])
    for (const ast::Name& target : from[from[let].targets]) own_names_.insert(target.text);
  if (rule.lets.size() > kMaxLets)
    fail(error(Code::rule_pattern, rule.name.span, "rule `{0}` has more than {1} lets",
               rule.name.text, kMaxLets));
}

void UnfoldedTree::end_rule(ast::DeclId id, ast::Decl rule) {
  rule.lets = keep(lets_);
  out_.decl_nodes_[id.index] = rule;
}

std::optional<Value> UnfoldedTree::folded(ExprId id) const {
  return fold_expr(out_, id, [&](const ast::Expr& word) {
    bool own = !word.unfolded_from && is_own_name(word.text);
    return own ? std::nullopt : constant_of_name(word.text);
  });
}

ExprId UnfoldedTree::make(ast::Expr e, uint32_t depth) {
  uint64_t size = 1;
  ++steps_;
  e.depth = depth + 1;
  out_.exprs_.push_back(e);
  ExprId id{static_cast<uint32_t>(out_.exprs_.size() - 1)};
  for_each_child(out_, id, [&](ExprId child) {
    size += child.index < sizes_.size() ? sizes_[child.index] : 1;
    e.depth = std::max(e.depth, out_[child].depth + 1);
    ++steps_;
  });
  out_.exprs_.back().depth = e.depth;
  sizes_.resize(out_.exprs_.size(), 1);
  sizes_[id.index] = size;
  if (size <= kMaxSize && e.depth <= kMaxDeep) return id;
  return fail(error(Code::rule_pattern, e.span,
                    "the operators of this rule unfold into more "
                    "than {0} parts, or deeper than {1}",
                    kMaxSize, kMaxDeep));
}

ExprId UnfoldedTree::fail(Diagnostic d) {
  if (following_ && !encloses(out_[following_].span, d.span))
    d.labels.push_back({out_[following_].span, "called here"});
  if (!failed_) sink_.report(std::move(d));
  failed_ = true;
  out_.exprs_.emplace_back(); // an Error
  sizes_.resize(out_.exprs_.size(), 1);
  return {static_cast<uint32_t>(out_.exprs_.size() - 1)};
}

bool UnfoldedTree::too_long(Span at) {
  if (++steps_ > kMaxSteps)
    fail(error(Code::rule_pattern, at, "the calls of this rule take more than {0} steps to unfold",
               kMaxSteps));
  return failed_;
}

void UnfoldedTree::add_let(ast::StmtId let, ExprId value) {
  out_.stmts_[let.index].value = value;
  lets_.push_back(let);
}

std::vector<ast::Name> UnfoldedTree::let_of(std::vector<ast::Name> targets, ExprId value,
                                            bool destructures) {
  for (ast::Name& target : targets)
    target.text =
        out_.texts_.emplace_back((target.text + "." + llvm::Twine(out_.stmts_.size())).str());
  ast::Stmt let;
  let.kind = ast::StmtKind::Let;
  let.destructures = destructures;
  let.span = out_[value].span;
  let.targets = keep(targets);
  let.value = value;
  out_.stmts_.push_back(let);
  lets_.push_back({static_cast<uint32_t>(out_.stmts_.size() - 1)});
  return targets;
}

ExprId UnfoldedTree::integer(const ast::Expr& at, int64_t value) {
  ast::Expr e = expr(ExprKind::Int, at);
  e.int_value = value;
  return make(e);
}

ExprId UnfoldedTree::real(const ast::Expr& at, double value) {
  ast::Expr e = expr(ExprKind::Float, at);
  e.float_value = value;
  return make(e);
}

ExprId UnfoldedTree::truth(const ast::Expr& at, bool value) {
  ast::Expr e = expr(ExprKind::Bool, at);
  e.int_value = value;
  return make(e);
}

ExprId UnfoldedTree::text(const ast::Expr& at, std::string value) {
  ast::Expr e = expr(ExprKind::String, at);
  e.text = out_.texts_.emplace_back(std::move(value));
  return make(e);
}

ExprId UnfoldedTree::items(const ast::Expr& at, const std::vector<ExprId>& operands) {
  ast::Expr e = expr(ExprKind::List, at);
  e.items = keep(operands);
  return make(e);
}

ExprId UnfoldedTree::name(const ast::Name& name, uint32_t depth) {
  ast::Expr e;
  e.kind = ExprKind::Name;
  e.span = name.span;
  e.text = name.text;
  return make(e, depth);
}

ExprId UnfoldedTree::table_call(const ast::Expr& at, llvm::StringRef name,
                                const std::vector<ExprId>& operands, const Named& named) {
  std::vector<ast::Arg> args;
  args.reserve(operands.size() + named.size());
  for (ExprId operand : operands) args.push_back({ast::ArgKind::Positional, {}, operand, at.span});
  for (auto [key, value] : named)
    args.push_back({ast::ArgKind::Named, {key, at.span}, value, at.span});
  ast::Expr e = expr(ExprKind::Call, at);
  e.callee = {name, at.callee.span};
  e.args = keep(args);
  return make(e);
}

ExprId UnfoldedTree::shape_part(const ast::Expr& at, ExprId x, int64_t before, int64_t behind) {
  ExprId shape = table_call(at, "shape", {x}, {});
  if (before == 0 && behind == 0) return shape;
  ast::Slice part;
  part.range = true;
  part.span = at.span;
  if (before > 0) part.begin = integer(at, before);
  if (behind > 0) part.end = integer(at, -behind);
  ast::Expr index = expr(ExprKind::Index, at);
  index.a = shape;
  index.slices = keep(std::vector<ast::Slice>{part});
  return failed_ ? ExprId{} : make(index);
}

ExprId UnfoldedTree::fold_value(ExprId value) {
  const ast::Expr e = out_[value]; // a copy: the array grows
  bool computed = e.kind == ExprKind::Unary || e.kind == ExprKind::Binary ||
                  e.kind == ExprKind::Call || e.kind == ExprKind::Index;
  std::optional<Value> known = computed ? folded(value) : std::nullopt;
  if (!known) return value;
  switch (known->kind) {
  case Value::Kind::Int: return integer(e, known->number);
  case Value::Kind::Float: return real(e, known->real);
  case Value::Kind::Bool: return truth(e, known->number != 0);
  default: return value;
  }
}

Span call_behind(const Ast& unfolded, Span rule, Span place) {
  for (uint32_t i = 0; i < unfolded.expr_count() && !encloses(rule, place); ++i) {
    const ast::Expr& e = unfolded[ExprId{i}];
    if (!e.unfolded_from || !encloses(e.span, place)) continue;
    if (Span call = unfolded[e.unfolded_from].span; encloses(rule, call)) return call;
  }
  return {};
}

} // namespace tg
