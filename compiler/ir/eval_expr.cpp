// Expressions and statements of a body, evaluated at compile time. Compile-time values fold by
// lang/consteval; where a tensor takes part, the operator sugar becomes a node of the graph.
#include "compiler/ir/eval.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::eval {

using ast::ExprKind;
using ast::Op;
using ast::StmtKind;

Val Val::of(NodeId node) {
  Val v;
  v.kind = Kind::Tensor;
  v.node = node;
  return v;
}

Val Val::of(Value value) {
  std::vector<Val> items;
  for (int64_t n : value.ints) items.push_back(of(Value::of_int(n)));
  for (double x : value.reals) items.push_back(of(Value::of_float(x)));
  if (value.is(Value::Kind::Ints) || value.is(Value::Kind::Floats)) return list(std::move(items));
  Val v;
  v.kind = Kind::Const;
  v.value = std::move(value);
  return v;
}

Val Val::list(std::vector<Val> items, Kind kind) {
  Val v;
  v.kind = kind;
  v.items = std::move(items);
  for (const Val& item : v.items) {
    v.depth = std::max(v.depth, item.depth + 1);
    v.extent += item.extent;
  }
  return v;
}

Val Val::unit() {
  Val v;
  v.kind = Kind::Unit;
  return v;
}

Binding* Frame::find(llvm::StringRef name) {
  auto it = by_name.find(name);
  return it == by_name.end() || it->second.empty() ? nullptr : &bindings[it->second.back()];
}

void Frame::bind(llvm::StringRef name, Val val, Bound how, Span span) {
  if (name.empty() || name == "_") return;
  by_name[name].push_back(static_cast<uint32_t>(bindings.size()));
  bindings.push_back({name, std::move(val), how, span});
}

void Frame::unwind(size_t mark) {
  while (bindings.size() > mark) {
    by_name[bindings.back().name].pop_back();
    bindings.pop_back();
  }
}

Val Evaluator::expression(Frame& frame, ast::ExprId id) {
  if (!id || stopped_) return {};
  const ast::Expr& e = frame.ast[id];
  if (eval_depth_ == kMaxEvalDepth)
    return limit(frame, e.span,
                 llvm::formatv("calls and expressions nest deeper than {0}", kMaxEvalDepth));
  if (!step(frame, e.span)) return {};
  ++eval_depth_;
  Val val = expression_kind(frame, id, e);
  --eval_depth_;
  return val;
}

Val Evaluator::expression_kind(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  switch (e.kind) {
  case ExprKind::Error: return {};
  case ExprKind::Name: return name(frame, e);
  case ExprKind::Int: return Val::of(Value::of_int(e.int_value));
  case ExprKind::Float: return Val::of(Value::of_float(e.float_value));
  case ExprKind::String: return Val::of(Value::of_string(e.text));
  case ExprKind::Bool: return Val::of(Value::of_bool(e.int_value != 0));
  case ExprKind::List:
  case ExprKind::Tuple: return items(frame, e);
  case ExprKind::Call: return call(frame, id, e);
  case ExprKind::Unary: return unary(frame, id, e);
  case ExprKind::Binary: return binary(frame, id, e);
  case ExprKind::Index: return index(frame, id, e);
  case ExprKind::Range: return range(frame, e);
  case ExprKind::Spread:
    return report(frame,
                  error(Code::wrong_kind, e.span, "`{0}...` stands in a list or a type", e.text));
  case ExprKind::If: return conditional(frame, e);
  }
  return {};
}

Val Evaluator::name(Frame& frame, const ast::Expr& e) {
  if (const Binding* binding = frame.find(e.text)) {
    steps_ += binding->val.extent; // what copying it costs
    return binding->val;
  }
  if (auto constant = constant_of_name(e.text)) return Val::of(std::move(*constant));
  return report(frame, error(Code::unknown_name, e.span, "`{0}` has no value here", e.text)
                           .suggest("a default may name the dimensions that arguments bind and "
                                    "the parameters before it"));
}

Val Evaluator::items(Frame& frame, const ast::Expr& e) {
  std::vector<Val> items;
  bool poison = false;
  for (ast::ExprId item : frame.ast[e.items]) {
    if (frame.ast[item].kind == ExprKind::Spread) { // its items in place of itself
      Val list = name(frame, frame.ast[item]);
      poison |= list.poison();
      if (!list.poison() && !list.is(Val::Kind::List)) {
        poison = true;
        report(frame,
               error(Code::wrong_kind, frame.ast[item].span, "{0} is no list", describe(list)));
      }
      for (Val& inner : list.items) items.push_back(std::move(inner));
      continue;
    }
    items.push_back(expression(frame, item));
    poison |= items.back().poison();
    if (items.back().is(Val::Kind::Unit)) {
      poison = true;
      report(frame, error(Code::wrong_kind, frame.ast[item].span, "this gives no value"));
    }
  }
  if (poison) return {};
  Val list =
      Val::list(std::move(items), e.kind == ExprKind::List ? Val::Kind::List : Val::Kind::Tuple);
  if (list.depth <= kMaxListDepth && list.extent <= kMaxListExtent) return list;
  return limit(frame, e.span, "a list grows beyond all bounds");
}

Val Evaluator::unary(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  Val a = expression(frame, e.a);
  if (a.poison()) return {};
  if (a.is(Val::Kind::Const)) {
    Value out;
    ConstError why;
    if (fold_unary(e.op, a.value, out, why)) return Val::of(std::move(out));
    return report(frame, error(why.code, e.span, "{0}", why.message));
  }
  if (e.op == Op::Not && !bool_operand(frame, e.op, e.a, a)) return {};
  NodeId node;
  if (!tensor(frame, a, frame.ast[e.a].span, node)) return {};
  return apply(frame, id, e.op == Op::Not ? "logical_not" : "neg", {}, Operand{node, e.a});
}

namespace {

bool equal(const Val& a, const Val& b) {
  if (a.kind != b.kind) return false;
  if (a.is(Val::Kind::Const)) return equal_values(a.value, b.value);
  if (a.is(Val::Kind::Tensor)) return a.node == b.node;
  return a.items.size() == b.items.size() &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), equal);
}

bool holds_tensor(const Val& v) {
  return v.is(Val::Kind::Tensor) || llvm::any_of(v.items, holds_tensor);
}

} // namespace

Val Evaluator::binary(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  if (e.op == Op::And || e.op == Op::Or) return logical(frame, id, e);
  Val a = expression(frame, e.a);
  Val b = expression(frame, e.b);
  if (a.poison() || b.poison()) return {};
  if (a.is(Val::Kind::Const) && b.is(Val::Kind::Const)) {
    Value out;
    ConstError why;
    if (fold_binary(e.op, a.value, b.value, out, why)) return Val::of(std::move(out));
    Diagnostic d = error(why.code, e.span, "{0}", why.message);
    note_values(frame, id, d);
    return report(frame, std::move(d));
  }
  bool tensors = a.is(Val::Kind::Tensor) || b.is(Val::Kind::Tensor) || e.op == Op::MatMul;
  bool optional = a.absent() || b.absent(); // `bias == none` asks whether it was given
  if (ast::is_comparison(e.op) && (!tensors || optional)) return compare_lists(frame, e, a, b);
  if (tensors) return tensor_binary(frame, id, e, a, b);
  if (e.op == Op::Add && a.is(Val::Kind::List) && b.is(Val::Kind::List)) { // one behind the other
    a.items.insert(a.items.end(), b.items.begin(), b.items.end());
    Val joined = Val::list(std::move(a.items));
    steps_ += joined.extent;
    if (joined.extent <= kMaxListExtent) return joined;
    return limit(frame, e.span, "a list grows beyond all bounds");
  }
  return report(frame, error(Code::wrong_kind, e.span, "`{0}` does not take {1} and {2}",
                             ast::spelling(e.op), describe(a), describe(b)));
}

Val Evaluator::compare_lists(Frame& frame, const ast::Expr& e, const Val& a, const Val& b) {
  if (e.op == Op::Eq || e.op == Op::Ne)
    return Val::of(Value::of_bool(equal(a, b) == (e.op == Op::Eq)));
  return report(frame, error(Code::wrong_kind, e.span, "`{0}` does not take {1} and {2}",
                             ast::spelling(e.op), describe(a), describe(b)));
}

/// Whether a side of `and`, `or`, `not` is a bool, or a tensor of bools.
bool Evaluator::bool_operand(Frame& frame, Op op, ast::ExprId side, const Val& v) {
  if (v.is(Val::Kind::Const) && v.value.is(Value::Kind::Bool)) return true;
  if (v.is(Val::Kind::Tensor) && type(v.node).dtype == DType::Bool) return true;
  Code code = v.is(Val::Kind::Tensor) ? Code::dtype_mismatch : Code::wrong_kind;
  report(frame, error(code, frame.ast[side].span, "`{0}` needs bools, got {1}", ast::spelling(op),
                      describe(v)));
  return false;
}

/// `and`, `or`: the right side is not looked at where the left decides.
Val Evaluator::logical(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  Val a = expression(frame, e.a);
  if (a.poison() || !bool_operand(frame, e.op, e.a, a)) return {};
  bool known = a.is(Val::Kind::Const);
  if (known && (a.value.number != 0) == (e.op == Op::Or)) return a;
  Val b = expression(frame, e.b);
  if (b.poison() || !bool_operand(frame, e.op, e.b, b)) return {};
  return known ? b : tensor_binary(frame, id, e, a, b);
}

bool Evaluator::integer(Frame& frame, ast::ExprId id, llvm::StringRef what, int64_t& out) {
  Val v = expression(frame, id);
  if (v.poison()) return false;
  if (v.is(Val::Kind::Const) && v.value.is(Value::Kind::Int)) return out = v.value.number, true;
  Code code = v.is(Val::Kind::Tensor) ? Code::not_constant : Code::wrong_kind;
  report(frame, error(code, frame.ast[id].span, "{0} must be a compile-time integer, got {1}", what,
                      describe(v)));
  return false;
}

Val Evaluator::range(Frame& frame, const ast::Expr& e) {
  int64_t first = 0, last = 0;
  bool good = integer(frame, e.a, "the start of a range", first);
  good &= integer(frame, e.b, "the end of a range", last);
  if (!good) return {};
  std::vector<Val> items;
  for (int64_t i = first; i < last; ++i) {
    if (!step(frame, e.span)) return {};
    items.push_back(Val::of(Value::of_int(i)));
  }
  return Val::list(std::move(items));
}

Val Evaluator::conditional(Frame& frame, const ast::Expr& e) {
  Val condition = expression(frame, e.a);
  if (condition.poison()) return {};
  if (!condition.is(Val::Kind::Const) || !condition.value.is(Value::Kind::Bool)) {
    bool at_run_time = holds_tensor(condition);
    return report(
        frame, error(at_run_time ? Code::not_constant : Code::wrong_kind, frame.ast[e.a].span,
                     "the condition of `if` must be a compile-time bool")
                   .mark("this is " + describe(condition))
                   .suggest(at_run_time ? "`select(condition, a, b)` chooses element by element at "
                                          "run time"
                                        : ""));
  }
  if (condition.value.number) return scoped_block(frame, e.then_block);
  return e.else_block ? scoped_block(frame, e.else_block) : Val::unit();
}

// --- statements
// -----------------------------------------------------------------------------------

Val Evaluator::block(Frame& frame, ast::BlockId id) {
  Val last = Val::unit();
  if (!id) return last;
  for (ast::StmtId stmt : frame.ast[frame.ast[id].stmts]) {
    if (stopped_) return {};
    last = statement(frame, frame.ast[stmt]);
  }
  return last;
}

Val Evaluator::scoped_block(Frame& frame, ast::BlockId id) {
  size_t mark = frame.bindings.size();
  Val val = block(frame, id);
  frame.unwind(mark);
  return val;
}

Val Evaluator::statement(Frame& frame, const ast::Stmt& s) {
  switch (s.kind) {
  case StmtKind::Error: break;
  case StmtKind::Expr: return expression(frame, s.value);
  case StmtKind::Let:
  case StmtKind::Var:
  case StmtKind::Assign: {
    Val value = expression(frame, s.value);
    if (value.is(Val::Kind::Unit))
      value =
          report(frame, error(Code::wrong_kind, frame.ast[s.value].span, "this gives no value"));
    destructure(frame, s, std::move(value));
    break;
  }
  case StmtKind::Param: weight(frame, s); break;
  case StmtKind::For: loop(frame, s); break;
  }
  return Val::unit();
}

void Evaluator::destructure(Frame& frame, const ast::Stmt& s, Val value) {
  llvm::ArrayRef<ast::Name> targets = frame.ast[s.targets];
  bool takes_apart = s.destructures || targets.size() != 1;
  if (takes_apart && !value.poison()) {
    bool fits = (value.is(Val::Kind::Tuple) || value.is(Val::Kind::List)) &&
                value.items.size() == targets.size();
    if (!fits) {
      Span span = s.value ? frame.ast[s.value].span : s.span;
      value = report(frame, error(Code::wrong_kind, span, "{0} names for {1}", targets.size(),
                                  describe(value)));
    }
  }
  bool poison = value.poison();
  std::vector<Val> parts;
  if (takes_apart)
    parts = std::move(value.items);
  else
    parts.push_back(std::move(value));
  for (size_t i = 0; i < targets.size(); ++i) {
    Val part = poison ? Val{} : std::move(parts[i]);
    if (s.kind == StmtKind::Assign)
      assign(frame, targets[i], std::move(part));
    else
      frame.bind(targets[i].text, std::move(part),
                 s.kind == StmtKind::Var   ? Bound::Var
                 : s.kind == StmtKind::For ? Bound::Loop
                                           : Bound::Let,
                 targets[i].span);
  }
}

void Evaluator::assign(Frame& frame, const ast::Name& target, Val value) {
  if (Binding* binding = frame.find(target.text)) {
    binding->val = std::move(value);
    binding->span = target.span;
  }
}

void Evaluator::loop(Frame& frame, const ast::Stmt& s) {
  const ast::Expr& over = frame.ast[s.value];
  if (over.kind == ExprKind::Range) { // not made into a list: it may be long, and a limit ends it
    int64_t first = 0, last = 0;
    bool good = integer(frame, over.a, "the start of a range", first);
    good &= integer(frame, over.b, "the end of a range", last);
    if (!good) return;
    for (int64_t i = first; i < last && step(frame, s.span); ++i)
      loop_round(frame, s, Val::of(Value::of_int(i)), i - first);
    return;
  }
  Val list = expression(frame, s.value);
  if (list.poison()) return;
  if (!list.is(Val::Kind::List) && !list.is(Val::Kind::Tuple)) {
    report(frame, error(Code::wrong_kind, over.span,
                        "`for` runs through a range or a list, not {0}", describe(list)));
    return;
  }
  for (size_t i = 0; i < list.items.size() && step(frame, s.span); ++i)
    loop_round(frame, s, std::move(list.items[i]), static_cast<int64_t>(i));
}

void Evaluator::loop_round(Frame& frame, const ast::Stmt& s, Val item, int64_t round) {
  size_t mark = frame.bindings.size();
  frame.rounds.push_back(round);
  destructure(frame, s, std::move(item));
  (void)block(frame, s.body);
  frame.rounds.pop_back();
  frame.unwind(mark);
}

// --- weights
// --------------------------------------------------------------------------------------

std::string Evaluator::round_suffix(const Frame& frame) const {
  std::string text;
  for (int64_t round : frame.rounds) text += "[" + std::to_string(round) + "]";
  return text;
}

std::string Evaluator::weight_path(Frame& frame, const ast::Stmt& s) {
  if (s.value && frame.ast[s.value].kind == ExprKind::Call) {
    llvm::ArrayRef<ast::Arg> args = frame.ast[frame.ast[s.value].args];
    if (!args.empty() && frame.ast[args[0].value].kind == ExprKind::String)
      return frame.ast[args[0].value].text.str();
  }
  return frame.prefix + frame.ast[s.targets][0].text.str() + round_suffix(frame);
}

std::string Evaluator::weight_init(Frame& frame, const ast::Stmt& s) {
  const ast::Arg* arg = frame.ast.find_arg(s.args, "init");
  if (!arg && s.value) arg = frame.ast.find_arg(frame.ast[s.value].args, "init");
  if (!arg) return {};
  const ast::Expr& init = frame.ast[arg->value];
  if (init.kind == ExprKind::Name) return init.text.str();
  std::string text = init.callee.text.str() + "(";
  for (const ast::Arg& number : frame.ast[init.args]) {
    Val v = expression(frame, number.value);
    if (v.poison()) return {};
    if (!v.is(Val::Kind::Const) || !is_number(v.value)) {
      report(frame, error(Code::wrong_kind, number.span, "`{0}` takes numbers, got {1}",
                          init.callee.text, describe(v)));
      return {};
    }
    if (text.back() != '(') text += ", ";
    text += v.value.text_form();
  }
  return text + ")";
}

void Evaluator::weight(Frame& frame, const ast::Stmt& s) {
  const ast::Name& name = frame.ast[s.targets][0];
  std::string path = weight_path(frame, s);
  std::string init = weight_init(frame, s);
  TensorType type;
  Val val;
  auto [it, fresh] = weights_.try_emplace(path, Declared{name.span, ""});
  if (fresh && frame.caller) it->second.chain = call_text(frame, name.span.file);
  if (!fresh) {
    Diagnostic d =
        error(Code::duplicate_weight, name.span, "two weights have the path `{0}`", path);
    bool same_place = it->second.span == name.span;
    d.label = same_place ? "both are made here" : "this one";
    if (!same_place) d.labels.push_back({it->second.span, "and this one"});
    if (!it->second.chain.empty()) d.notes.push_back("the first " + it->second.chain);
    d.help = "calls are told apart by name: f(…) as name";
    report(frame, std::move(d));
  } else if (tensor_type(frame, s.type, type)) {
    val = Val::of(graph_.weight(path, type, init));
  }
  frame.bind(name.text, std::move(val), Bound::Weight, name.span);
}

} // namespace tg::eval
