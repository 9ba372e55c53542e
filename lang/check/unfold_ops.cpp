// See unfold_ops.h. A rewriting copy of the expressions of rules, bottom up. Arguments are
// rewritten once and shared by all uses of a parameter, so a result is a graph of expressions; its
// depth and its size as a tree are bounded, since what comes after walks it as one. The body of a
// function is followed statement by statement; names are what they stand for at that place.
#include "lang/check/unfold_ops.h"

#include "lang/check/composite.h"
#include "lang/check/consteval.h"
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
      : from_(tree), scope_(scope), made_(tree, sink) {}

  Ast run() {
    for (ast::DeclId id : from_.decls_)
      if (from_[id].kind != ast::DeclKind::Rule || rule(id)) made_.declare(id);
    return made_.take();
  }

private:
  static constexpr uint64_t kMaxSize = 10'000; // of one side, as a tree
  static constexpr uint32_t kMaxDeep = 400;
  static constexpr uint32_t kMaxUnfolded = 32;   // definitions within definitions
  static constexpr uint64_t kMaxRounds = 1'000;  // of all loops, of one rule
  static constexpr uint64_t kMaxSteps = 100'000; // of one rule: expressions read and parts made

  /// The tree with rules rewritten: what is added to it, and how much of that one rule may need.
  class Made {
  public:
    Made(const Ast& from, DiagnosticSink& sink) : sink_(sink), out_(from.file()) {
      out_.doc_ = from.doc_;
      out_.comments_ = from.comments_;
      out_.exprs_ = from.exprs_;
      out_.stmts_ = from.stmts_;
      out_.decl_nodes_ = from.decl_nodes_;
      out_.types_ = from.types_;
      out_.blocks_ = from.blocks_;
      out_.pools_ = from.pools_;
    }

    void begin_rule(const Ast& from, const ast::Decl& rule) {
      failed_ = false;
      steps_ = 0;
      lets_.clear();
      params_.clear();
      for (const ast::Param& param : from[rule.params]) params_.insert({param.name.text, true});
    }
    void end_rule(ast::DeclId id, ast::Decl rule) {
      rule.lets = keep(lets_);
      out_.decl_nodes_[id.index] = rule;
    }
    void declare(ast::DeclId id) { out_.decls_.push_back(id); }
    Ast take() { return std::move(out_); }

    bool is_parameter(llvm::StringRef name) const { return params_.count(name); }
    bool failed() const { return failed_; }
    /// At what was reported before.
    void give_up() { failed_ = true; }
    const ast::Expr& operator[](ExprId id) const { return out_[id]; }
    std::vector<ExprId> items_of(ExprId list) const { return out_[out_[list].items].vec(); }

    /// Adds an expression of the new tree, whose children are in it.
    ExprId make(ast::Expr e) {
      uint64_t size = 1;
      ++steps_;
      e.depth = 1;
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

    /// What is discarded is work, too, and a short text can stand for a lot of it.
    bool too_long(Span at) {
      if (++steps_ > kMaxSteps)
        fail(error(Code::rule_pattern, at,
                   "what this rule calls takes more than {0} steps to follow", kMaxSteps));
      return failed_;
    }

    template <class T> ast::List<T> keep(const std::vector<T>& items) {
      auto& pool = std::get<std::vector<T>>(out_.pools_);
      ast::List<T> kept{static_cast<uint32_t>(pool.size()), static_cast<uint32_t>(items.size())};
      pool.insert(pool.end(), items.begin(), items.end());
      return kept;
    }

    /// A let of the rule's own text.
    void add_let(ast::StmtId let, ExprId value) {
      out_.stmts_[let.index].value = value;
      lets_.push_back(let);
    }

    /// A let of the rule, under names that no text has.
    std::vector<ast::Name> let_of(std::vector<ast::Name> targets, ExprId value, bool destructures) {
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

    // --- expressions of the language, in the place of `at`

    ExprId integer(const ast::Expr& at, int64_t value) {
      ast::Expr e;
      e.kind = ExprKind::Int;
      e.span = at.span;
      e.int_value = value;
      return make(e);
    }

    ExprId real(const ast::Expr& at, double value) {
      ast::Expr e;
      e.kind = ExprKind::Float;
      e.span = at.span;
      e.float_value = value;
      return make(e);
    }

    ExprId text(const ast::Expr& at, std::string value) {
      ast::Expr e;
      e.kind = ExprKind::String;
      e.span = at.span;
      e.text = out_.texts_.emplace_back(std::move(value));
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
    ExprId table_call(const ast::Expr& at, llvm::StringRef name,
                      const std::vector<ExprId>& operands, const Named& named) {
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

    /// `shape(x)` without so many dimensions at its ends.
    ExprId shape_part(const ast::Expr& e, ExprId x, int64_t before, int64_t behind) {
      ExprId shape = table_call(e, "shape", {x}, {});
      if (before == 0 && behind == 0) return shape;
      ast::Slice part;
      part.range = true;
      part.span = e.span;
      if (before > 0) part.begin = integer(e, before);
      if (behind > 0) part.end = integer(e, -behind);
      ast::Expr index;
      index.kind = ExprKind::Index;
      index.span = e.span;
      index.a = shape;
      index.slices = keep(std::vector<ast::Slice>{part});
      return failed_ ? ExprId{} : make(index);
    }

    /// The value of an expression of the new tree that numbers and words alone make; nullopt else.
    std::optional<Value> folded(ExprId id) const {
      if (!id) return std::nullopt;
      const ast::Expr& e = out_[id];
      Value out;
      ConstError why;
      switch (e.kind) {
      case ExprKind::Int: return Value::of_int(e.int_value);
      case ExprKind::Float: return Value::of_float(e.float_value);
      case ExprKind::Bool: return Value::of_bool(e.int_value != 0);
      case ExprKind::Name: return folded_name(e.text);
      case ExprKind::Index: return folded_item(e);
      default: break;
      }
      llvm::ArrayRef<ast::Arg> args = out_[e.args];
      if (e.kind == ExprKind::Call && e.callee.text == "len" && args.size() == 1 &&
          out_[args[0].value].kind == ExprKind::List)
        return Value::of_int(static_cast<int64_t>(out_[args[0].value].items.size()));
      llvm::SmallVector<Value, 2> values;
      bool known = e.kind == ExprKind::Unary || e.kind == ExprKind::Binary ||
                   (e.kind == ExprKind::Call && is_const_function(e.callee.text));
      for_each_child(out_, id, [&](ExprId child) {
        std::optional<Value> value = known ? folded(child) : std::nullopt;
        known = value.has_value();
        if (known) values.push_back(*value);
      });
      if (!known || values.empty()) return std::nullopt;
      if (e.kind == ExprKind::Unary) known = fold_unary(e.op, values[0], out, why);
      if (e.kind == ExprKind::Binary) known = fold_binary(e.op, values[0], values[1], out, why);
      if (e.kind == ExprKind::Call) known = fold_call(e.callee.text, values, out, why);
      return known ? std::optional(out) : std::nullopt;
    }

  private:
    /// An item of a list that is written out.
    std::optional<Value> folded_item(const ast::Expr& e) const {
      llvm::ArrayRef<ast::Slice> places = out_[e.slices];
      std::optional<Value> at;
      if (places.size() == 1 && !places[0].range) at = folded(places[0].begin);
      if (!at || !at->is(Value::Kind::Int) || out_[e.a].kind != ExprKind::List) return std::nullopt;
      llvm::ArrayRef<ExprId> items = out_[out_[e.a].items];
      bool inside = place_in_list(at->number, static_cast<int64_t>(items.size()));
      return inside ? folded(items[static_cast<size_t>(at->number)]) : std::nullopt;
    }

    /// A word of the language (`none`, `relu`), where the rule has no parameter of the name.
    std::optional<Value> folded_name(llvm::StringRef name) const {
      return params_.count(name) ? std::nullopt : constant_of_name(name);
    }

    DiagnosticSink& sink_;
    Ast out_;
    std::vector<uint64_t> sizes_;   // of expressions as trees; 1 where not known
    llvm::StringMap<bool> params_;  // of the rule
    std::vector<ast::StmtId> lets_; // of the rule, with those that calls need
    uint64_t steps_ = 0;            // in this rule
    bool failed_ = false;           // in this rule
  };

  using Names = llvm::StringMap<ExprId>;

  /// Where an expression is read: the tree that it lies in, what callees mean there, what names
  /// stand for (null in a rule, where they stay), and the call that all of it is for.
  struct Site {
    const Ast& tree;
    const OpScope& scope;
    Names* names = nullptr;
    const ast::Expr* call = nullptr;
  };

  bool rule(ast::DeclId id) {
    const ast::Decl& decl = from_[id];
    made_.begin_rule(from_, decl);
    rounds_ = 0;
    asked_.clear();
    Site site{from_, scope_};
    for (ast::StmtId let : from_[decl.lets]) { // behind those that its calls make
      ExprId value = rewrite(site, from_[let].value);
      made_.add_let(let, value);
    }
    ast::Decl copy = decl;
    copy.lhs = list(site, decl.lhs);
    copy.rhs = list(site, decl.rhs);
    for (ExprId condition : from_[decl.where]) {
      ExprId made = rewrite(site, condition);
      asked_.push_back(made);
    }
    copy.where = made_.keep(asked_);
    made_.end_rule(id, copy);
    return !made_.failed();
  }

  ast::List<ExprId> list(const Site& site, ast::List<ExprId> items) {
    std::vector<ExprId> made;
    for (ExprId item : site.tree[items]) made.push_back(rewrite(site, item));
    return made_.keep(made);
  }

  // --- expressions ------------------------------------------------------------------------------

  /// What an expression stands for; it has a value, or that is an error.
  ExprId rewrite(const Site& site, ExprId id) {
    ExprId made = statement(site, id);
    if (made || made_.failed()) return made;
    return made_.fail(error(Code::rule_pattern, site.tree[id].span, "this has no value"));
  }

  /// The same of an expression that stands as a statement: an `if` need not have a value there.
  ExprId statement(const Site& site, ExprId id) {
    if (!id) made_.give_up(); // it could not be read, which has been reported
    if (made_.failed() || made_.too_long(site.tree[id].span)) return {};
    const ast::Expr e = site.tree[id]; // a copy: the arrays of the new tree grow
    if ((e.kind == ExprKind::Name || e.kind == ExprKind::Spread) && site.names)
      if (auto at = site.names->find(e.text); at != site.names->end()) return at->second;
    if (e.kind == ExprKind::Call) {
      bool variable = !site.names && made_.is_parameter(e.callee.text);
      auto op = site.scope.ops.find(e.callee.text);
      if (!variable && op != site.scope.ops.end()) return call(site, e, op->second, false);
      if (!variable && e.callee.text == "unfold") return definition(site, e);
      auto fn = site.scope.fns.find(e.callee.text);
      if (!variable && fn != site.scope.fns.end()) return function(site, e, fn->second);
    }
    if (e.kind == ExprKind::If) return choice(site, e);
    if (e.kind == ExprKind::Binary && e.op == ast::Op::Pow) return power(site, e);
    return copy(site, e);
  }

  ExprId copy(const Site& site, ast::Expr e) {
    if (e.a) e.a = rewrite(site, e.a);
    if (e.b) e.b = rewrite(site, e.b);
    e.items = made_.keep(items_of(site, e));
    std::vector<ast::Arg> args;
    for (ast::Arg arg : site.tree[e.args]) {
      if (arg.value) arg.value = rewrite(site, arg.value);
      args.push_back(arg);
    }
    e.args = made_.keep(args);
    std::vector<ast::Slice> slices;
    for (ast::Slice slice : site.tree[e.slices]) {
      for (ExprId* bound : {&slice.begin, &slice.end, &slice.step})
        if (*bound) *bound = rewrite(site, *bound);
      slices.push_back(slice);
    }
    e.slices = made_.keep(slices);
    return made_.failed() ? ExprId{} : made_.make(e);
  }

  /// `[2, S...]`: what a spread name stands for is a list, written out or not.
  std::vector<ExprId> items_of(const Site& site, const ast::Expr& e) {
    std::vector<ExprId> made;
    for (ExprId item : site.tree[e.items]) {
      const ast::Expr written = site.tree[item];
      ExprId at = rewrite(site, item);
      if (made_.failed()) return {};
      bool named =
          written.kind == ExprKind::Spread && site.names && site.names->count(written.text);
      if (named && made_[at].kind == ExprKind::List) {
        llvm::append_range(made, made_.items_of(at));
        continue;
      }
      if (named) at = spread(written, at);
      made.push_back(at);
    }
    return made;
  }

  /// `S...` of a list that an expression gives: by a let of the rule.
  ExprId spread(const ast::Expr& written, ExprId list) {
    ast::Expr e = written;
    e.text = made_.let_of({{written.text, written.span}}, list, false)[0].text;
    return made_.make(e);
  }

  /// `x ** 2`, `x ** 3` and `x ** 4`, as in models.
  ExprId power(const Site& site, ast::Expr e) {
    ExprId x = e.a = rewrite(site, e.a);
    e.b = rewrite(site, e.b);
    if (made_.failed()) return {};
    std::optional<Value> known = made_.folded(e.b);
    int64_t n = known && known->is(Value::Kind::Int) ? known->number : 0;
    if (n < 2 || n > 4) return made_.make(e);
    e.op = ast::Op::Mul;
    e.b = x;
    ExprId square = made_.make(e);
    if (n == 2 || made_.failed()) return square;
    e.a = square;
    e.b = n == 3 ? x : square;
    return made_.make(e);
  }

  // --- calls ------------------------------------------------------------------------------------

  ExprId definition(const Site& site, const ast::Expr& e) {
    llvm::ArrayRef<ast::Arg> args = site.tree[e.args];
    bool one = args.size() == 1 && args[0].kind == ast::ArgKind::Positional &&
               site.tree[args[0].value].kind == ExprKind::Call;
    const ast::Expr* inner = one ? &site.tree[args[0].value] : nullptr;
    auto op = inner ? site.scope.ops.find(inner->callee.text) : site.scope.ops.end();
    if (op == site.scope.ops.end() || (*op->second.tree)[op->second.decl].external)
      return made_.fail(error(Code::rule_pattern, e.span,
                              "`unfold` takes a call of an operator that a file defines"));
    return call(site, *inner, op->second, true);
  }

  ExprId call(const Site& site, const ast::Expr e, const OpScope::Ref& op, bool unfold) {
    const ast::Decl& decl = (*op.tree)[op.decl];
    if (++unfolding_ > kMaxUnfolded)
      return made_.fail(error(Code::rule_pattern, e.span,
                              "`{0}` unfolds into itself, or into more than {1} others",
                              decl.name.text, kMaxUnfolded));
    Names names;
    ExprId made;
    if (bind(site, e, op, names)) {
      std::optional<Composite> body;
      auto declared = [&](llvm::StringRef name) {
        return op.home->ops.count(name) || op.home->fns.count(name);
      };
      if (!decl.external && !unfold) body = pointwise_composite(*op.tree, decl, declared);
      if (decl.external)
        made = external(e, op, names);
      else if (body)
        made = fused(e, *body, names);
      else
        made = rewrite({*op.tree, *op.home, &names, &e}, decl.value);
    }
    --unfolding_;
    return made;
  }

  /// What the parameters stand for, and the dimensions that their types name.
  bool bind(const Site& site, const ast::Expr& e, const OpScope::Ref& op, Names& names) {
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
        return made_.fail(
                   error(Code::duplicate_name, arg.span, "`{0}` is given twice", param->name.text)),
               false;
      at->second = rewrite(site, arg.value);
      if (made_.failed()) return false;
    }
    for (const ast::Param& param : params) {
      if (names.count(param.name.text)) continue;
      if (!param.default_value)
        return made_.fail(error(Code::missing_argument, e.span, "`{0}` needs the argument `{1}`",
                                e.callee.text, param.name.text)),
               false;
      name_all_dimensions(e, op, names); // a default may name them
      ExprId value = rewrite({*op.tree, *op.home, &names, &e}, param.default_value);
      names[param.name.text] = value;
    }
    name_all_dimensions(e, op, names);
    return !made_.failed();
  }

  bool no_place(const ast::Expr& e, const ast::Arg& arg, size_t count) {
    if (arg.kind == ast::ArgKind::Named)
      made_.fail(error(Code::unknown_argument, arg.name.span, "`{0}` has no argument `{1}`",
                       e.callee.text, arg.name.text));
    else if (arg.kind == ast::ArgKind::Positional)
      made_.fail(error(Code::too_many_arguments, arg.span, "`{0}` takes {1} argument{2}",
                       e.callee.text, count, count == 1 ? "" : "s"));
    else
      made_.fail(error(Code::rule_pattern, arg.span,
                       "`{0}` has no attributes that could be carried over", e.callee.text));
    return false;
  }

  void name_all_dimensions(const ast::Expr& e, const OpScope::Ref& op, Names& names) {
    for (const ast::Param& param : (*op.tree)[(*op.tree)[op.decl].params])
      if (names.count(param.name.text)) name_dimensions(e, *op.tree, param, names);
  }

  /// `N` of `x: T[N, S...]` is `dim(x, 0)`; behind `S...` it is counted from the end. `S` is a part
  /// of `shape(x)`, and `T` is `dtype(x)`.
  void name_dimensions(const ast::Expr& e, const Ast& tree, const ast::Param& param, Names& names) {
    if (!param.type || param_kind(tree, tree[param.type]).base != ParamKind::Base::Tensor) return;
    const ast::Type& type = tree[param.type];
    ExprId x = names[param.name.text];
    if (made_[x].kind == ExprKind::Name && made_[x].text == "none") return; // left out
    llvm::ArrayRef<ExprId> dims = tree[type.dims];
    bool behind = false;
    for (size_t i = 0; i < dims.size() && !made_.failed(); ++i) {
      const ast::Expr& dim = tree[dims[i]];
      auto axis = static_cast<int64_t>(i), left = static_cast<int64_t>(dims.size() - i) - 1;
      bool named = dim.kind == ExprKind::Name || dim.kind == ExprKind::Spread;
      if (named && dim.text != "_" && !names.count(dim.text))
        names[dim.text] =
            dim.kind == ExprKind::Spread
                ? made_.shape_part(e, x, axis, left)
                : made_.table_call(e, "dim", {x, made_.integer(e, behind ? -left - 1 : axis)}, {});
      behind |= dim.kind == ExprKind::Spread;
    }
    if (!made_.failed() && is_dtype_variable(type.name.text) && !names.count(type.name.text))
      names[type.name.text] = made_.table_call(e, "dtype", {x}, {});
  }

  // --- functions
  // --------------------------------------------------------------------------------

  ExprId function(const Site& site, const ast::Expr e, const OpScope::Ref& fn) {
    const ast::Decl& decl = (*fn.tree)[fn.decl];
    if (++unfolding_ > kMaxUnfolded)
      return made_.fail(error(Code::rule_pattern, e.span,
                              "`{0}` calls itself, or more than {1} others within each other",
                              decl.name.text, kMaxUnfolded));
    Names names;
    ExprId made;
    if (bind(site, e, fn, names)) {
      Site inside{*fn.tree, *fn.home, &names, &e};
      for (ExprId condition : (*fn.tree)[decl.where])
        if (ExprId asked = rewrite(inside, condition)) asked_.push_back(asked);
      made = block(inside, decl.body);
      if (!made && !made_.failed())
        made = made_.fail(error(Code::rule_pattern, e.span, "`{0}` has no value", decl.name.text));
    }
    --unfolding_;
    return made;
  }

  /// What the last expression comes to; names that the block declares end with it.
  ExprId block(const Site& site, ast::BlockId id) {
    ExprId last;
    Shadowed shadowed;
    for (ast::StmtId at : site.tree[site.tree[id].stmts]) {
      const ast::Stmt& s = site.tree[at];
      if (made_.failed()) return {};
      last = {};
      switch (s.kind) {
      case ast::StmtKind::Let:
      case ast::StmtKind::Var:
        shadow(site, s, shadowed);
        assign(site, s, rewrite(site, s.value));
        break;
      case ast::StmtKind::Assign: assign(site, s, rewrite(site, s.value)); break;
      case ast::StmtKind::For: loop(site, s); break;
      case ast::StmtKind::Expr: last = statement(site, s.value); break;
      case ast::StmtKind::Param:
        return made_.fail(error(Code::rule_pattern, site.call->span,
                                "`{0}` declares the weight `{1}`, which a rule cannot",
                                site.call->callee.text, site.tree[s.targets][0].text)
                              .suggest("write what it computes, with the weight as a "
                                       "parameter of the "
                                       "rule"));
      case ast::StmtKind::Error: made_.give_up(); return {};
      }
    }
    restore(site, shadowed);
    return made_.failed() ? ExprId{} : last;
  }

  /// Names and what they stood for before; invalid where they did not.
  using Shadowed = std::vector<std::pair<llvm::StringRef, ExprId>>;

  void shadow(const Site& site, const ast::Stmt& s, Shadowed& shadowed) {
    for (const ast::Name& name : site.tree[s.targets])
      shadowed.push_back({name.text, site.names->lookup(name.text)});
  }

  void restore(const Site& site, const Shadowed& shadowed) {
    for (auto [name, before] : llvm::reverse(shadowed))
      before ? (void)((*site.names)[name] = before) : (void)site.names->erase(name);
  }

  void assign(const Site& site, const ast::Stmt& s, ExprId value) {
    if (made_.failed() || !value) return;
    llvm::ArrayRef<ast::Name> targets = site.tree[s.targets];
    if (!s.destructures) {
      (*site.names)[targets[0].text] = value;
      return;
    }
    if (made_[value].kind == ExprKind::Tuple && made_[value].items.size() == targets.size()) {
      const std::vector<ExprId> items = made_.items_of(value);
      for (size_t i = 0; i < items.size(); ++i) (*site.names)[targets[i].text] = items[i];
      return;
    }
    std::vector<ast::Name> parts(targets.begin(), targets.end());
    for (size_t i = 0; const ast::Name& part : made_.let_of(parts, value, true)) {
      ast::Expr e;
      e.kind = ExprKind::Name;
      e.span = part.span;
      e.text = part.text;
      ExprId name = made_.make(e);
      (*site.names)[targets[i++].text] = name;
    }
  }

  ExprId choice(const Site& site, const ast::Expr& e) {
    ExprId asked = rewrite(site, e.a);
    if (made_.failed()) return {};
    std::optional<Value> condition = made_.folded(asked);
    if (!condition || !condition->is(Value::Kind::Bool))
      return undecided(site, site.tree[e.a].span, "`if`");
    ast::BlockId taken = condition->number ? e.then_block : e.else_block;
    if (!taken) return {};
    if (site.names) return block(site, taken);
    Names none; // in the rule's own text
    return block({site.tree, site.scope, &none, &e}, taken);
  }

  ExprId undecided(const Site& site, Span where, llvm::StringRef what) {
    Span span = site.call ? site.call->span : where;
    Diagnostic d =
        error(Code::rule_pattern, span, "what {0} asks is not known when a rule is read", what);
    if (site.call && site.call->kind == ExprKind::Call)
      d.message = llvm::formatv("`{0}` cannot stand in this rule: what its {1} asks is not known "
                                "when a rule is read",
                                site.call->callee.text, what);
    if (site.call && site.call->kind == ExprKind::Call) d.labels.push_back({where, "this"});
    d.help = "a rule holds for all shapes: write one for each case, with "
             "conditions behind `where`";
    return made_.fail(std::move(d));
  }

  void loop(const Site& site, const ast::Stmt& s) {
    const ast::Expr over = site.tree[s.value];
    if (over.kind == ExprKind::Range) {
      std::optional<Value> from = made_.folded(rewrite(site, over.a)),
                           to = made_.folded(rewrite(site, over.b));
      bool known = from && to && from->is(Value::Kind::Int) && to->is(Value::Kind::Int);
      if (!made_.failed() && !known) undecided(site, over.span, "`for`");
      for (int64_t i = known ? from->number : 0; known && i < to->number && !made_.failed(); ++i)
        round(site, s, made_.integer(over, i));
      return;
    }
    ExprId list = rewrite(site, s.value);
    if (made_.failed()) return;
    bool known = made_[list].kind == ExprKind::List || made_[list].kind == ExprKind::Tuple;
    if (!known) return (void)undecided(site, over.span, "`for`");
    for (ExprId item : made_.items_of(list))
      if (!made_.failed()) round(site, s, item);
  }

  /// The body of a loop, with a name that ends with it.
  void round(const Site& site, const ast::Stmt& s, ExprId item) {
    if (++rounds_ > kMaxRounds)
      return (void)made_.fail(
          error(Code::rule_pattern, site.call->span,
                "the loops that this rule runs through go round more than {0} times", kMaxRounds));
    Shadowed shadowed;
    shadow(site, s, shadowed);
    assign(site, s, item);
    (void)block(site, s.body);
    restore(site, shadowed);
  }

  ExprId fused(const ast::Expr& e, const Composite& body, const Names& names) {
    std::vector<ExprId> operands;
    for (const Composite::Operand& operand : body.operands)
      operands.push_back(operand.param.empty() ? made_.real(e, operand.number)
                                               : names.lookup(operand.param));
    return made_.table_call(e, "fused_map", {made_.items(e, operands)},
                            {{"body", made_.text(e, body.body.text())}});
  }

  ExprId external(const ast::Expr& e, const OpScope::Ref& op, const Names& names) {
    const ast::Decl& decl = (*op.tree)[op.decl];
    Result<std::string> signature = extern_signature(*op.tree, decl);
    if (!signature) return made_.fail(std::move(signature.error()));
    std::vector<ExprId> operands;
    for (const ast::Param& param : (*op.tree)[decl.params])
      operands.push_back(names.lookup(param.name.text));
    return made_.table_call(e, "extern", {made_.items(e, operands)},
                            {{"name", made_.text(e, decl.name.text.str())},
                             {"signature", made_.text(e, std::move(*signature))}});
  }

  const Ast& from_;
  const OpScope& scope_;
  Made made_;
  std::vector<ExprId> asked_; // conditions of the rule and of functions that it calls
  uint32_t unfolding_ = 0;
  uint64_t rounds_ = 0; // in this rule
};

void OpScope::declare(const Ast& tree) {
  for (ast::DeclId id : tree.decls())
    if (tree[id].kind == ast::DeclKind::Op)
      ops[tree[id].name.text] = {&tree, id, this};
    else if (tree[id].kind == ast::DeclKind::Fn)
      fns[tree[id].name.text] = {&tree, id, this};
}

Ast unfold_ops(const Ast& tree, const OpScope& scope, DiagnosticSink& sink) {
  return OpUnfolder(tree, scope, sink).run();
}

} // namespace tg
