// See unfold_ops.h. A rewriting copy of the expressions of rules, bottom up. Arguments are
// rewritten once and shared by all uses of a parameter, so a result is a graph of expressions; its
// depth and its size as a tree are bounded, since what comes after walks it as one.
#include "lang/check/unfold_ops.h"

#include "lang/check/composite.h"
#include "lang/check/external.h"
#include "lang/check/resolve.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

using ast::ExprId;
using ast::ExprKind;

class OpUnfolder {
public:
  OpUnfolder(const Ast& tree, const OpScope& scope, DiagnosticSink& sink)
      : from_(tree), scope_(scope), sink_(sink), out_(tree.file()) {}

  Ast run() {
    out_.doc_ = from_.doc_;
    out_.comments_ = from_.comments_;
    out_.exprs_ = from_.exprs_;
    out_.stmts_ = from_.stmts_;
    out_.decl_nodes_ = from_.decl_nodes_;
    out_.types_ = from_.types_;
    out_.blocks_ = from_.blocks_;
    out_.pools_ = from_.pools_;
    for (ast::DeclId id : from_.decls_)
      if (from_[id].kind != ast::DeclKind::Rule || rule(id)) out_.decls_.push_back(id);
    return std::move(out_);
  }

private:
  static constexpr uint64_t kMaxSize = 10'000; // of one side, as a tree
  static constexpr uint32_t kMaxDeep = 400;
  static constexpr uint32_t kMaxUnfolded = 32; // definitions within definitions

  /// Where an expression is read: the tree that it lies in, what callees mean there, and what names
  /// stand for (null in a rule, where they stay).
  struct Site {
    const Ast& tree;
    const OpScope& scope;
    const llvm::StringMap<ExprId>* names = nullptr;
  };

  bool rule(ast::DeclId id) {
    failed_ = false;
    const ast::Decl& decl = from_[id];
    params_.clear();
    for (const ast::Param& param : from_[decl.params]) params_.insert({param.name.text, true});
    Site site{from_, scope_};
    for (ast::StmtId let : from_[decl.lets]) {
      ExprId value = rewrite(site, from_[let].value);
      out_.stmts_[let.index].value = value;
    }
    ast::Decl copy = decl;
    copy.lhs = list(site, decl.lhs);
    copy.rhs = list(site, decl.rhs);
    copy.where = list(site, decl.where);
    out_.decl_nodes_[id.index] = copy;
    return !failed_;
  }

  ast::List<ExprId> list(const Site& site, ast::List<ExprId> items) {
    std::vector<ExprId> made;
    for (ExprId item : site.tree[items]) made.push_back(rewrite(site, item));
    return keep(made);
  }

  template <class T> ast::List<T> keep(const std::vector<T>& items) {
    auto& pool = std::get<std::vector<T>>(out_.pools_);
    ast::List<T> kept{static_cast<uint32_t>(pool.size()), static_cast<uint32_t>(items.size())};
    pool.insert(pool.end(), items.begin(), items.end());
    return kept;
  }

  /// Adds an expression of the new tree, whose children are in it.
  ExprId make(ast::Expr e) {
    uint64_t size = 1;
    e.depth = 1;
    out_.exprs_.push_back(e);
    ExprId id{static_cast<uint32_t>(out_.exprs_.size() - 1)};
    for_each_child(out_, id, [&](ExprId child) {
      size += child.index < sizes_.size() ? sizes_[child.index] : 1;
      e.depth = std::max(e.depth, out_[child].depth + 1);
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

  /// One mistake, one error; the rule is dropped.
  ExprId fail(Diagnostic d) {
    if (!failed_) sink_.report(std::move(d));
    failed_ = true;
    ast::Expr e;
    e.kind = ExprKind::Error;
    out_.exprs_.push_back(e);
    sizes_.resize(out_.exprs_.size(), 1);
    return {static_cast<uint32_t>(out_.exprs_.size() - 1)};
  }

  // --- expressions ------------------------------------------------------------------------------

  ExprId rewrite(const Site& site, ExprId id) {
    if (!id || failed_) return id && !failed_ ? id : ExprId{};
    const ast::Expr e = site.tree[id]; // a copy: the arrays of the new tree grow
    if (e.kind == ExprKind::Name && site.names)
      if (auto at = site.names->find(e.text); at != site.names->end()) return at->second;
    if (e.kind == ExprKind::Call) {
      bool variable = !site.names && params_.count(e.callee.text);
      auto op = site.scope.ops.find(e.callee.text);
      if (!variable && op != site.scope.ops.end()) return call(site, e, op->second, false);
      if (!variable && e.callee.text == "unfold") return definition(site, e);
    }
    if (e.kind == ExprKind::Binary && e.op == ast::Op::Pow) return power(site, e);
    return copy(site, e);
  }

  ExprId copy(const Site& site, ast::Expr e) {
    if (e.a) e.a = rewrite(site, e.a);
    if (e.b) e.b = rewrite(site, e.b);
    e.items = list(site, e.items);
    std::vector<ast::Arg> args;
    for (ast::Arg arg : site.tree[e.args]) {
      if (arg.value) arg.value = rewrite(site, arg.value);
      args.push_back(arg);
    }
    e.args = keep(args);
    std::vector<ast::Slice> slices;
    for (ast::Slice slice : site.tree[e.slices]) {
      for (ExprId* bound : {&slice.begin, &slice.end, &slice.step})
        if (*bound) *bound = rewrite(site, *bound);
      slices.push_back(slice);
    }
    e.slices = keep(slices);
    e.then_block = e.else_block = {}; // of no use in a rule, which says so
    return failed_ ? ExprId{} : make(e);
  }

  /// `x ** 2`, `x ** 3` and `x ** 4`, as in models.
  ExprId power(const Site& site, const ast::Expr& e) {
    const ast::Expr& exponent = site.tree[e.b];
    int64_t n = exponent.kind == ExprKind::Int ? exponent.int_value : 0;
    if (n < 2 || n > 4) return copy(site, e);
    ast::Expr product = e;
    product.op = ast::Op::Mul;
    ExprId x = rewrite(site, e.a);
    product.a = product.b = x;
    if (failed_) return {};
    ExprId square = make(product);
    if (n == 2 || failed_) return square;
    product.a = square;
    product.b = n == 3 ? x : square;
    return make(product);
  }

  // --- calls ------------------------------------------------------------------------------------

  ExprId definition(const Site& site, const ast::Expr& e) {
    llvm::ArrayRef<ast::Arg> args = site.tree[e.args];
    bool one = args.size() == 1 && args[0].kind == ast::ArgKind::Positional &&
               site.tree[args[0].value].kind == ExprKind::Call;
    const ast::Expr* inner = one ? &site.tree[args[0].value] : nullptr;
    auto op = inner ? site.scope.ops.find(inner->callee.text) : site.scope.ops.end();
    if (op == site.scope.ops.end() || (*op->second.tree)[op->second.decl].external)
      return fail(error(Code::rule_pattern, e.span,
                        "`unfold` takes a call of an operator that a file defines"));
    return call(site, *inner, op->second, true);
  }

  ExprId call(const Site& site, const ast::Expr e, const OpScope::Ref& op, bool unfold) {
    const ast::Decl& decl = (*op.tree)[op.decl];
    if (++unfolding_ > kMaxUnfolded)
      return fail(error(Code::rule_pattern, e.span,
                        "`{0}` unfolds into itself, or into more than {1} others", decl.name.text,
                        kMaxUnfolded));
    llvm::StringMap<ExprId> names;
    ExprId made;
    if (bind(site, e, op, names)) {
      std::optional<Composite> body;
      if (!decl.external && !unfold) body = pointwise_composite(*op.tree, decl);
      if (decl.external)
        made = external(e, op, names);
      else if (body)
        made = fused(e, *body, names);
      else
        made = rewrite({*op.tree, *op.home, &names}, decl.value);
    }
    --unfolding_;
    return made;
  }

  /// What the parameters stand for, and the dimensions that their types name.
  bool bind(const Site& site, const ast::Expr& e, const OpScope::Ref& op,
            llvm::StringMap<ExprId>& names) {
    llvm::ArrayRef<ast::Param> params = (*op.tree)[(*op.tree)[op.decl].params];
    size_t position = 0;
    for (const ast::Arg& arg : site.tree[e.args]) {
      const ast::Param* param = nullptr;
      if (arg.kind == ast::ArgKind::Positional && position < params.size())
        param = &params[position++];
      if (arg.kind == ast::ArgKind::Named)
        for (const ast::Param& p : params)
          if (p.name.text == arg.name.text) param = &p;
      if (!param) return no_place(e, arg, params.size());
      auto [at, fresh] = names.try_emplace(param->name.text, ExprId{});
      if (!fresh)
        return fail(
                   error(Code::duplicate_name, arg.span, "`{0}` is given twice", param->name.text)),
               false;
      at->second = rewrite(site, arg.value);
      if (failed_) return false;
    }
    for (const ast::Param& param : params) {
      if (names.count(param.name.text)) continue;
      if (!param.default_value)
        return fail(error(Code::missing_argument, e.span, "`{0}` needs the argument `{1}`",
                          e.callee.text, param.name.text)),
               false;
      ExprId value = rewrite({*op.tree, *op.home, &names}, param.default_value);
      names[param.name.text] = value;
    }
    for (const ast::Param& param : params) name_dimensions(e, *op.tree, param, names);
    return !failed_;
  }

  bool no_place(const ast::Expr& e, const ast::Arg& arg, size_t count) {
    if (arg.kind == ast::ArgKind::Named)
      fail(error(Code::unknown_argument, arg.name.span, "`{0}` has no argument `{1}`",
                 e.callee.text, arg.name.text));
    else if (arg.kind == ast::ArgKind::Positional)
      fail(error(Code::too_many_arguments, arg.span, "`{0}` takes {1} argument{2}", e.callee.text,
                 count, count == 1 ? "" : "s"));
    else
      fail(error(Code::rule_pattern, arg.span, "`{0}` has no attributes that could be carried over",
                 e.callee.text));
    return false;
  }

  /// `N` of `x: f32[N, S...]` is `dim(x, 0)`; behind `S...` it is counted from the end.
  void name_dimensions(const ast::Expr& e, const Ast& tree, const ast::Param& param,
                       llvm::StringMap<ExprId>& names) {
    if (!param.type || param_kind(tree, tree[param.type]).base != ParamKind::Base::Tensor) return;
    llvm::ArrayRef<ExprId> dims = tree[tree[param.type].dims];
    bool behind = false;
    for (size_t i = 0; i < dims.size() && !failed_; ++i) {
      const ast::Expr& dim = tree[dims[i]];
      behind |= dim.kind == ExprKind::Spread;
      if (dim.kind != ExprKind::Name || names.count(dim.text)) continue;
      auto axis = static_cast<int64_t>(i);
      if (behind) axis -= static_cast<int64_t>(dims.size());
      names[dim.text] = table_call(e, "dim", {names[param.name.text], integer(e, axis)}, {});
    }
  }

  ExprId integer(const ast::Expr& at, int64_t value) {
    ast::Expr e;
    e.kind = ExprKind::Int;
    e.span = at.span;
    e.int_value = value;
    return make(e);
  }

  ExprId text(const ast::Expr& at, std::string value) {
    ast::Expr e;
    e.kind = ExprKind::String;
    e.span = at.span;
    e.text = out_.texts_.emplace_back(std::move(value));
    return make(e);
  }

  ExprId real(const ast::Expr& at, double value) {
    ast::Expr e;
    e.kind = ExprKind::Float;
    e.span = at.span;
    e.float_value = value;
    return make(e);
  }

  ExprId items(const ast::Expr& at, const std::vector<ExprId>& operands) {
    ast::Expr e;
    e.kind = ExprKind::List;
    e.span = at.span;
    e.items = keep(operands);
    return make(e);
  }

  using Named = std::vector<std::pair<llvm::StringRef, ExprId>>;

  /// A call of an operator or function of the language, in the place of `at`.
  ExprId table_call(const ast::Expr& at, llvm::StringRef name, const std::vector<ExprId>& operands,
                    const Named& named) {
    std::vector<ast::Arg> args;
    for (ExprId operand : operands)
      args.push_back({ast::ArgKind::Positional, {}, operand, at.span});
    for (auto [key, value] : named)
      args.push_back({ast::ArgKind::Named, {key, at.span}, value, at.span});
    ast::Expr e;
    e.kind = ExprKind::Call;
    e.span = at.span;
    e.callee = {name, at.callee.span};
    e.args = keep(args);
    return make(e);
  }

  ExprId fused(const ast::Expr& e, const Composite& body, const llvm::StringMap<ExprId>& names) {
    std::vector<ExprId> operands;
    for (const Composite::Operand& operand : body.operands)
      operands.push_back(operand.param.empty() ? real(e, operand.number)
                                               : names.lookup(operand.param));
    return table_call(e, "fused_map", {items(e, operands)}, {{"body", text(e, body.body.text())}});
  }

  ExprId external(const ast::Expr& e, const OpScope::Ref& op,
                  const llvm::StringMap<ExprId>& names) {
    const ast::Decl& decl = (*op.tree)[op.decl];
    Result<std::string> signature = extern_signature(*op.tree, decl);
    if (!signature) return fail(std::move(signature.error()));
    std::vector<ExprId> operands;
    for (const ast::Param& param : (*op.tree)[decl.params])
      operands.push_back(names.lookup(param.name.text));
    return table_call(
        e, "extern", {items(e, operands)},
        {{"name", text(e, decl.name.text.str())}, {"signature", text(e, std::move(*signature))}});
  }

  const Ast& from_;
  const OpScope& scope_;
  DiagnosticSink& sink_;
  Ast out_;
  std::vector<uint64_t> sizes_;  // of expressions as trees; 1 where not known
  llvm::StringMap<bool> params_; // of the rule
  uint32_t unfolding_ = 0;
  bool failed_ = false; // in this rule
};

void OpScope::declare(const Ast& tree) {
  for (ast::DeclId id : tree.decls())
    if (tree[id].kind == ast::DeclKind::Op) ops[tree[id].name.text] = {&tree, id, this};
}

Ast unfold_ops(const Ast& tree, const OpScope& scope, DiagnosticSink& sink) {
  return OpUnfolder(tree, scope, sink).run();
}

} // namespace tg
