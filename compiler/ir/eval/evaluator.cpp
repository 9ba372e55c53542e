#include "compiler/ir/eval/evaluator.h"

#include "compiler/ir/eval/builtin_call.h"
#include "compiler/ir/eval/op_call.h"
#include "compiler/ir/from_ast.h"
#include "lang/check/consteval.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::eval {

using ast::ExprKind;
using ast::Op;

namespace {

bool equal(const Val& a, const Val& b) {
  if (a.integer() && b.integer()) return a.as_size() == b.as_size();
  if (a.is(Val::Kind::Open) || b.is(Val::Kind::Open)) return equal(settled(a), settled(b));
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

Val Evaluator::expression(Frame& frame, ast::ExprId id) {
  if (!id || report_.stopped()) return {};
  const ast::Expr& e = frame.ast[id];
  if (depth_ == kMaxEvalDepth)
    return report_.limit(
        frame, e.span, llvm::formatv("calls and expressions nest deeper than {0}", kMaxEvalDepth));
  if (!report_.step(frame, e.span)) return {};
  ++depth_;
  Val val = expression_kind(frame, id, e);
  --depth_;
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
  case ExprKind::Index: return brackets_.index(frame, id);
  case ExprKind::Range: return range(frame, e);
  case ExprKind::Spread:
    return report_.fail(frame, error(Code::wrong_kind, e.span,
                                     "`{0}...` is only allowed in a list or a type", e.text));
  case ExprKind::If: return conditional(frame, e);
  }
  return {};
}

Val Evaluator::name(Frame& frame, const ast::Expr& e) {
  if (const Binding* binding = frame.find(e.text)) {
    report_.spend(binding->val.extent); // the cost of copying the value
    return binding->val;
  }
  if (auto constant = constant_of_name(e.text)) return Val::of(std::move(*constant));
  return report_.fail(frame, error(Code::unknown_name, e.span, "`{0}` has no value here", e.text)
                                 .suggest("a default can only use dimensions of arguments and "
                                          "earlier parameters"));
}

Val Evaluator::items(Frame& frame, const ast::Expr& e) {
  std::vector<Val> items;
  bool poison = false;
  for (ast::ExprId item : frame.ast[e.items]) {
    if (frame.ast[item].kind == ExprKind::Spread) { // spliced into the list
      Val list = name(frame, frame.ast[item]);
      poison |= list.poison();
      if (!list.poison() && !list.is(Val::Kind::List)) {
        poison = true;
        report_.fail(frame, error(Code::wrong_kind, frame.ast[item].span, "{0} is not a list",
                                  report_.describe(list)));
      }
      for (Val& inner : list.items) items.push_back(std::move(inner));
      continue;
    }
    items.push_back(expression(frame, item));
    poison |= items.back().poison();
    if (items.back().is(Val::Kind::Unit)) {
      poison = true;
      report_.fail(frame, error(Code::wrong_kind, frame.ast[item].span, "this has no value"));
    }
  }
  if (poison) return {};
  Val list =
      Val::list(std::move(items), e.kind == ExprKind::List ? Val::Kind::List : Val::Kind::Tuple);
  if (list.depth <= kMaxListDepth && list.extent <= kMaxListExtent) return list;
  return report_.limit(frame, e.span, "a list has too many items");
}

Val Evaluator::unary(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  Val a = expression(frame, e.a);
  if (a.poison()) return {};
  if (a.is(Val::Kind::Const) || a.is(Val::Kind::Open)) {
    Value out;
    ConstError why;
    if (!fold_unary(e.op, a.value, out, why))
      return report_.fail(frame, error(why.code, e.span, "{0}", why.message));
    return a.is(Val::Kind::Open) ? open_unary(a, out) : Val::of(std::move(out));
  }
  if (e.op == Op::Not && !bool_operand(frame, e.op, e.a, a)) return {};
  NodeId node;
  if (!nodes_.tensor(frame, a, frame.ast[e.a].span, node)) return {};
  return nodes_.apply(frame, id, e.op == Op::Not ? "logical_not" : "neg", {}, Operand{node, e.a});
}

Val Evaluator::binary(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  if (e.op == Op::And || e.op == Op::Or) return logical(frame, id, e);
  Val a = expression(frame, e.a);
  Val b = expression(frame, e.b);
  if (a.poison() || b.poison()) return {};
  auto number = [](const Val& v) { return v.is(Val::Kind::Const) || v.is(Val::Kind::Open); };
  if (number(a) && number(b)) {
    Value out;
    ConstError why;
    bool open = a.is(Val::Kind::Open) || b.is(Val::Kind::Open);
    SizeSite site(nodes_.run(), e.span);
    if (fold_binary(e.op, a.value, b.value, out, why))
      return open ? open_binary(e.op, a, b, out) : Val::of(std::move(out));
    Diagnostic d = error(why.code, e.span, "{0}", why.message);
    report_.note_values(frame, id, d);
    return report_.fail(frame, std::move(d));
  }
  bool tensors = a.is(Val::Kind::Tensor) || b.is(Val::Kind::Tensor) || e.op == Op::MatMul;
  bool optional = a.absent() || b.absent(); // `bias == none` tests whether bias was given
  if (ast::is_comparison(e.op) && (!tensors || optional)) return compare_lists(frame, e, a, b);
  if (tensors) return nodes_.sign(frame, id, a, b);
  if (e.op == Op::Add && a.is(Val::Kind::List) && b.is(Val::Kind::List)) { // concatenation
    a.items.insert(a.items.end(), b.items.begin(), b.items.end());
    Val joined = Val::list(std::move(a.items));
    report_.spend(joined.extent);
    if (joined.extent <= kMaxListExtent) return joined;
    return report_.limit(frame, e.span, "a list has too many items");
  }
  return report_.fail(frame, error(Code::wrong_kind, e.span, "`{0}` does not take {1} and {2}",
                                   ast::spelling(e.op), report_.describe(a), report_.describe(b)));
}

Val Evaluator::compare_lists(Frame& frame, const ast::Expr& e, const Val& a, const Val& b) {
  if (e.op == Op::Eq || e.op == Op::Ne)
    return Val::of(Value::of_bool(equal(a, b) == (e.op == Op::Eq)));
  return report_.fail(frame, error(Code::wrong_kind, e.span, "`{0}` does not take {1} and {2}",
                                   ast::spelling(e.op), report_.describe(a), report_.describe(b)));
}

/// Returns true if a side of `and`, `or`, `not` is a bool or a tensor of bools.
bool Evaluator::bool_operand(Frame& frame, Op op, ast::ExprId side, const Val& v) {
  if (v.is(Val::Kind::Const) && v.value.is(Value::Kind::Bool)) return true;
  if (v.is(Val::Kind::Tensor) && nodes_.type(v.node).dtype == DType::Bool) return true;
  Code code = v.is(Val::Kind::Tensor) ? Code::dtype_mismatch : Code::wrong_kind;
  report_.fail(frame, error(code, frame.ast[side].span, "`{0}` requires bools, got {1}",
                            ast::spelling(op), report_.describe(v)));
  return false;
}

/// `and`, `or`: skips the right side if the left one decides.
Val Evaluator::logical(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  Val a = expression(frame, e.a);
  if (a.poison() || !bool_operand(frame, e.op, e.a, a)) return {};
  bool known = a.is(Val::Kind::Const);
  if (known && (a.value.number != 0) == (e.op == Op::Or)) return a;
  Val b = expression(frame, e.b);
  if (b.poison() || !bool_operand(frame, e.op, e.b, b)) return {};
  return known ? b : nodes_.sign(frame, id, a, b);
}

bool Evaluator::integer(Frame& frame, ast::ExprId id, llvm::StringRef what, int64_t& out) {
  Size open;
  if (!size(frame, id, what, open)) return false;
  SizeSite site(nodes_.run(), frame.ast[id].span, what.str());
  out = open.fixed();
  return true;
}

bool Evaluator::size(Frame& frame, ast::ExprId id, llvm::StringRef what, Size& out) {
  Val v = expression(frame, id);
  if (v.poison()) return false;
  if (v.integer()) return out = v.as_size(), true;
  Code code = v.is(Val::Kind::Tensor) ? Code::not_constant : Code::wrong_kind;
  report_.fail(frame, error(code, frame.ast[id].span, "{0} must be a compile-time integer, got {1}",
                            what, report_.describe(v)));
  return false;
}

Val Evaluator::range(Frame& frame, const ast::Expr& e) {
  int64_t first = 0, last = 0;
  bool good = integer(frame, e.a, "the start of a range", first);
  good &= integer(frame, e.b, "the end of a range", last);
  if (!good) return {};
  std::vector<Val> items;
  for (int64_t i = first; i < last; ++i) {
    if (!report_.step(frame, e.span)) return {};
    items.push_back(Val::of(Value::of_int(i)));
  }
  return Val::list(std::move(items));
}

Val Evaluator::conditional(Frame& frame, const ast::Expr& e) {
  Val condition = expression(frame, e.a);
  if (condition.poison()) return {};
  if (!condition.is(Val::Kind::Const) || !condition.value.is(Value::Kind::Bool)) {
    bool at_run_time = holds_tensor(condition);
    return report_.fail(
        frame, error(at_run_time ? Code::not_constant : Code::wrong_kind, frame.ast[e.a].span,
                     "the condition of `if` must be a compile-time bool")
                   .mark("this is " + report_.describe(condition))
                   .suggest(at_run_time ? "`select(condition, a, b)` chooses element by element at "
                                          "run time"
                                        : ""));
  }
  if (condition.value.number) return calls_.statements().block(frame, e.then_block);
  return e.else_block ? calls_.statements().block(frame, e.else_block) : Val::unit();
}

Val Evaluator::call(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  Callee callee = resolve_callee(frame.module, e.callee.text);
  switch (callee.kind) {
  case Callee::Kind::Unknown: return {}; // check_names has reported it
  case Callee::Kind::Fn: return calls_.function(frame, id, callee.fn);
  case Callee::Kind::Builtin: return call_builtin(frame, id, e, *callee.builtin);
  case Callee::Kind::Op: return call_op(frame, id, e, callee.op);
  }
  return {};
}

Val Evaluator::call_builtin(Frame& frame, ast::ExprId id, const ast::Expr& e,
                            const BuiltinInfo& builtin) {
  Callee callee{Callee::Kind::Builtin, {}, &builtin, {}};
  std::vector<Val> args;
  ast::ExprId first;
  auto evaluate = [&](const ast::Arg* arg) {
    args.push_back(arg ? expression(frame, arg->value) : Val::unit());
    if (arg && !first) first = arg->value;
    return !args.back().poison();
  };
  bool good = true;
  if (builtin.kind == Builtin::Constant) {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a range of nothing is not walked
    for (const ast::Arg& arg : frame.ast[e.args]) good &= evaluate(&arg);
  } else {
    Signature slots = signature(program_, callee);
    for (const ast::Arg* arg : match_arguments(slots, frame.ast, e.args)) {
      good &= evaluate(arg);
      if (arg && slots.slots[args.size() - 1].name == "dtype")
        args.back() = resolve_word(frame, arg->value, std::move(args.back()));
    }
  }
  if (!good) return {};
  return BuiltinCall(nodes_, report_, frame, id, first).result(builtin.kind, args);
}

Val Evaluator::call_op(Frame& frame, ast::ExprId id, const ast::Expr& e, OpKind op) {
  std::vector<Val> given;
  bool poison = false, numbers = is_const_function(op_info(op).name) && !e.args.empty();
  for (const ast::Arg& arg : frame.ast[e.args]) {
    given.push_back(expression(frame, arg.value));
    poison |= given.back().poison();
    numbers &= (given.back().is(Val::Kind::Const) || given.back().is(Val::Kind::Open)) &&
               is_number(given.back().value);
  }
  if (poison) return {};
  if (numbers) return fold_constants(report_, frame, e, given); // numbers give a number
  return OpCall(nodes_, report_, frame, id, op).result(given);
}

} // namespace tg::eval
