// See unfold_ops.h. A rewriting copy of the expressions of rules, bottom up.
// Arguments are rewritten once and shared by all uses of a parameter.
// The body of a function is evaluated statement by statement: names are replaced
// by their current values, and other names are the language's,
// whatever the rule's parameters are called.
#include "lang/check/unfold_ops.h"

#include "lang/check/composite.h"
#include "lang/check/consteval.h"
#include "lang/check/resolve.h"
#include "lang/check/unfolded_tree.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

using ast::ExprId;
using ast::ExprKind;

class OpUnfolder {
public:
  OpUnfolder(const Ast& tree, const OpScope& scope, DiagnosticSink& sink)
      : from_(tree), scope_(scope), made_(tree, sink) {}

  Ast run() {
    for (ast::DeclId id : from_.decls())
      if (from_[id].kind != ast::DeclKind::Rule || rule(id)) made_.declare(id);
    return made_.take();
  }

private:
  static constexpr uint32_t kMaxUnfolded = 32;  // nested definitions
  static constexpr uint64_t kMaxRounds = 1'000; // of all loops, of one rule

  using Names = llvm::StringMap<ExprId>;

  /// The context of an expression: its tree, the scope of its callees,
  /// and the values of its names (null in a rule, where names are kept).
  /// In the body of a function or operator, also its call, and the call in the rule's text
  /// that caused it.
  struct Site {
    const Ast& tree;
    const OpScope& scope;
    Names* names = nullptr;
    const ast::Expr* call = nullptr;
    ExprId origin{};
  };

  /// `call` is marked with its origin.
  static Site body_of(const OpScope::Ref& fn, Names& names, const ast::Expr& call) {
    return {*fn.tree, *fn.home, &names, &call, call.unfolded_from};
  }

  bool rule(ast::DeclId id) {
    const ast::Decl& decl = from_[id];
    made_.begin_rule(from_, decl);
    rounds_ = 0;
    asked_.clear();
    Site site{from_, scope_};
    for (ast::StmtId let : from_[decl.lets]) { // after the lets that its calls create
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

  /// Returns the rewritten expression. An expression without a value is an error.
  ExprId rewrite(const Site& site, ExprId id) {
    ExprId made = statement(site, id);
    if (made || made_.failed()) return made;
    return made_.fail(error(Code::rule_pattern, site.tree[id].span, "this has no value"));
  }

  /// The same for an expression statement: there an `if` need not have a value.
  ExprId statement(const Site& site, ExprId id) {
    if (!id) made_.give_up(); // it could not be read, which has been reported
    if (made_.failed() || made_.too_long(site.tree[id].span)) return {};
    ast::Expr e = site.tree[id]; // a copy: the arrays of the new tree grow
    e.unfolded_from = site.origin;
    if ((e.kind == ExprKind::Name || e.kind == ExprKind::Spread) && site.names)
      if (auto at = site.names->find(e.text); at != site.names->end()) return at->second;
    bool variable = !site.origin && made_.is_own_name(e.callee.text);
    if (e.kind == ExprKind::Call && !variable) {
      ast::Expr marked = e;
      if (!site.origin) marked.unfolded_from = id;
      auto op = site.scope.ops.find(e.callee.text);
      if (op != site.scope.ops.end()) return call(site, marked, op->second, false);
      if (e.callee.text == "unfold") return definition(site, marked);
      auto fn = site.scope.fns.find(e.callee.text);
      if (fn != site.scope.fns.end()) return function(site, marked, fn->second);
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

  /// In `[2, S...]`, the spread name stands for a list, literal or not.
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

  /// Handles `S...` of a list that an expression computes, by a let of the rule.
  ExprId spread(const ast::Expr& written, ExprId list) {
    ast::Expr e = written;
    e.text = made_.let_of({{written.text, written.span}}, list, false)[0].text;
    return made_.make(e, made_[list].depth);
  }

  /// Small powers are products, as in models.
  ExprId power(const Site& site, ast::Expr e) {
    ExprId x = e.a = rewrite(site, e.a);
    e.b = rewrite(site, e.b);
    if (made_.failed()) return {};
    std::optional<Value> n = made_.folded(e.b);
    if (!n || !n->is(Value::Kind::Int) || !is_product(n->number)) return made_.make(e);
    e.op = ast::Op::Mul;
    e.b = x;
    ExprId square = made_.make(e);
    if (n->number == 2 || made_.failed()) return square;
    e.a = square;
    e.b = n->number == 3 ? x : square;
    return made_.make(e);
  }

  // --- calls ------------------------------------------------------------------------------------

  ExprId definition(const Site& site, const ast::Expr& e) {
    llvm::ArrayRef<ast::Arg> args = site.tree[e.args];
    bool one = args.size() == 1 && args[0].kind == ast::ArgKind::Positional &&
               site.tree[args[0].value].kind == ExprKind::Call;
    ast::Expr inner = one ? site.tree[args[0].value] : ast::Expr();
    inner.unfolded_from = e.unfolded_from;
    auto op = one ? site.scope.ops.find(inner.callee.text) : site.scope.ops.end();
    if (op == site.scope.ops.end() || (*op->second.tree)[op->second.decl].external)
      return made_.fail(error(Code::rule_pattern, e.span,
                              "`unfold` requires a call of an operator that a file defines"));
    return call(site, inner, op->second, true);
  }

  ExprId call(const Site& site, const ast::Expr& e, const OpScope::Ref& op, bool unfold) {
    const ast::Decl& decl = (*op.tree)[op.decl];
    UnfoldedTree::Following following(made_, e.unfolded_from);
    if (++unfolding_ > kMaxUnfolded)
      return made_.fail(error(Code::rule_pattern, e.span,
                              "`{0}` unfolds into itself or into more than {1} operators",
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
        made = rewrite(body_of(op, names, e), decl.value);
    }
    --unfolding_;
    return made;
  }

  /// Binds the parameters, and the dimensions that their types name.
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
        return made_.fail(error(Code::missing_argument, e.span, "`{0}` requires the argument `{1}`",
                                e.callee.text, param.name.text)),
               false;
      name_all_dimensions(e, op, names); // a default may use them
      ExprId value = rewrite(body_of(op, names, e), param.default_value);
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
      made_.fail(error(Code::rule_pattern, arg.span, "`{0}` has no attributes to carry over",
                       e.callee.text));
    return false;
  }

  void name_all_dimensions(const ast::Expr& e, const OpScope::Ref& op, Names& names) {
    for (const ast::Param& param : (*op.tree)[(*op.tree)[op.decl].params])
      if (names.count(param.name.text)) name_dimensions(e, *op.tree, param, names);
  }

  /// `N` of `x: T[N, S...]` is `dim(x, 0)`; after `S...` it is counted from the end.
  /// `S` is a part of `shape(x)`, and `T` is `dtype(x)`.
  void name_dimensions(const ast::Expr& e, const Ast& tree, const ast::Param& param, Names& names) {
    if (!param.type || param_kind(tree, tree[param.type]).base != ParamKind::Base::Tensor) return;
    const ast::Type& type = tree[param.type];
    ExprId x = names[param.name.text];
    if (made_[x].kind == ExprKind::Name && made_[x].text == "none") return; // omitted
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

  // --- functions --------------------------------------------------------------------------------

  ExprId function(const Site& site, const ast::Expr& e, const OpScope::Ref& fn) {
    const ast::Decl& decl = (*fn.tree)[fn.decl];
    UnfoldedTree::Following following(made_, e.unfolded_from);
    if (++unfolding_ > kMaxUnfolded)
      return made_.fail(error(Code::rule_pattern, e.span,
                              "`{0}` calls itself, or its calls nest more than {1} deep",
                              decl.name.text, kMaxUnfolded));
    Names names;
    ExprId made;
    if (bind(site, e, fn, names)) {
      Site inside = body_of(fn, names, e);
      for (ExprId condition : (*fn.tree)[decl.where])
        if (ExprId asked = rewrite(inside, condition)) asked_.push_back(asked);
      made = block(inside, decl.body);
      if (!made && !made_.failed())
        made = made_.fail(error(Code::rule_pattern, e.span, "`{0}` has no value", decl.name.text));
    }
    --unfolding_;
    return made;
  }

  /// Returns the value of the last expression. Names that the block declares go out of scope.
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
      case ast::StmtKind::Param: return weight(site, s);
      case ast::StmtKind::Error: made_.give_up(); return {};
      }
    }
    restore(site, shadowed);
    return made_.failed() ? ExprId{} : last;
  }

  ExprId weight(const Site& site, const ast::Stmt& s) {
    llvm::StringRef name = site.tree[s.targets][0].text;
    Diagnostic d =
        site.call
            ? error(Code::rule_pattern, site.call->span,
                    "`{0}` declares the weight `{1}`, but rules cannot declare weights",
                    site.call->callee.text, name)
            : error(Code::rule_pattern, s.span, "a rule cannot declare the weight `{0}`", name);
    d.help = "write the expression itself, with the weight as a parameter of the rule";
    return made_.fail(std::move(d));
  }

  /// Names and their previous values; invalid if the name had no value.
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
      ExprId named = made_.fold_value(value);
      (*site.names)[targets[0].text] = named;
      return;
    }
    std::vector<ExprId> parts = parts_of(value, targets);
    if (!made_.failed() && parts.size() != targets.size())
      made_.fail(error(Code::wrong_kind, made_[value].span, "{0} names for {1} values",
                       targets.size(), parts.size()));
    for (size_t i = 0; i < targets.size() && !made_.failed(); ++i)
      (*site.names)[targets[i].text] = parts[i];
  }

  /// For a literal tuple or list, returns its items. Any other value is a split,
  /// and its parts are names of a let of the rule.
  std::vector<ExprId> parts_of(ExprId value, llvm::ArrayRef<ast::Name> targets) {
    std::vector<ExprId> items = made_.items_of(value);
    bool known = made_[value].kind == ExprKind::Tuple || made_[value].kind == ExprKind::List;
    auto spread = [&](ExprId item) { return made_[item].kind == ExprKind::Spread; };
    if (known && llvm::none_of(items, spread)) return items;
    std::vector<ExprId> parts;
    for (const ast::Name& part : made_.let_of(targets.vec(), value, true))
      parts.push_back(made_.name(part, made_[value].depth));
    return parts;
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
    return block({site.tree, site.scope, &none}, taken);
  }

  ExprId undecided(const Site& site, Span where, llvm::StringRef what) {
    Span span = site.call ? site.call->span : where;
    Diagnostic d = error(Code::rule_pattern, span,
                         "the condition or range of {0} is unknown when the rule is read", what);
    if (site.call) {
      d.message = llvm::formatv(
          "`{0}` cannot be used in this rule: the condition or range of its {1} is unknown "
          "when the rule is read",
          site.call->callee.text, what);
      d.labels.push_back({where, "this"});
    }
    d.help = "rules apply to all shapes: write one rule for each case, with "
             "conditions after `where`";
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

  /// Evaluates the body of a loop, with a name whose scope is the body.
  void round(const Site& site, const ast::Stmt& s, ExprId item) {
    if (++rounds_ > kMaxRounds)
      return (void)made_.fail(error(Code::rule_pattern, site.call ? site.call->span : s.span,
                                    "the loops of this rule have more than {0} iterations",
                                    kMaxRounds));
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
  UnfoldedTree made_;
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
