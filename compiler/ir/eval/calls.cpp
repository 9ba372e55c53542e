#include "compiler/ir/eval/calls.h"

#include "compiler/ir/from_ast.h"
#include "lang/check/composite.h"

namespace tg::eval {

Val Calls::function(Frame& caller, ast::ExprId id, FnRef fn) {
  const ast::Expr& e = caller.ast[id];
  if (depth_ == kMaxCallDepth)
    return report_.limit(caller, e.span,
                         llvm::formatv("calls nest deeper than {0}", kMaxCallDepth));
  if (passes_over(fn)) return {};
  auto frame = std::make_unique<Frame>(program_, fn); // large: not on the stack
  Callee callee{Callee::Kind::Fn, fn, nullptr, {}};
  auto args = match_arguments(signature(program_, callee), caller.ast, e.args);
  Arguments::GivenArguments given(args.size());
  bool poison = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i]) continue;
    given[i] = {args[i], expressions_.expression(caller, args[i]->value)};
    poison |= given[i].second.poison();
  }
  if (poison) return {};
  frame->caller = &caller;
  frame->call_site = e.span;
  frame->prefix = caller.prefix + paths_.of_call(caller, id) + ".";
  if (!arguments_.bind(caller, *frame, e.span, given)) return {};
  ++depth_;
  bool composite_op = frame->decl.kind == ast::DeclKind::Op;
  Val val = types_.result(*frame, composite_op ? composite(caller, *frame, id)
                                               : statements_.block(*frame, frame->decl.body));
  --depth_;
  return val;
}

bool Calls::passes_over(FnRef fn) {
  if (!damaged_) return false;
  auto [at, fresh] = passed_over_.try_emplace({fn.module, fn.decl.index}, false);
  if (fresh) at->second = damaged_(fn);
  return at->second;
}

/// Returns the value of an `op`. If its definition is elementwise, this is a single node, so that
/// the op stays whole until a rule unfolds it; otherwise it is the value of the definition.
Val Calls::composite(Frame& caller, Frame& frame, ast::ExprId call) {
  if (frame.decl.external) return external(caller, frame, call);
  auto declared = [&](llvm::StringRef name) { return frame.module.names.count(name) != 0; };
  std::optional<Composite> body = pointwise_composite(frame.ast, frame.decl, declared);
  if (!body) return expressions_.expression(frame, frame.decl.value);
  llvm::SmallVector<Operand, 6> operands;
  DType dtype = DType::None;
  for (const Composite::Operand& operand : body->operands) {
    const Binding* bound = operand.param.empty() ? nullptr : frame.find(operand.param);
    if (!operand.param.empty() && (!bound || !bound->val.is(Val::Kind::Tensor)))
      return expressions_.expression(frame, frame.decl.value); // omitted, or not a tensor
    operands.push_back({bound ? bound->val.node : NodeId{}, {}});
    if (bound && dtype == DType::None) dtype = nodes_.dtype(bound->val.node);
  }
  Span span = frame.ast[frame.decl.value].span;
  for (size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].node.valid() &&
        !nodes_.tensor(frame, Val::of(Value::of_float(body->operands[i].number)), span,
                       operands[i].node, dtype))
      return {};
  return nodes_.apply(frame, frame.decl.value, OpKind::FusedMap,
                      OpenValue::of_string(body->body.text()), operands);
}

/// Builds the node of an `extern op` call, which carries the name and the declared type. Two types
/// for one name are an error, because one operator would have two meanings.
Val Calls::external(Frame& caller, Frame& frame, ast::ExprId call) {
  Result<std::string> signature = extern_signature(frame.ast, frame.decl);
  if (!signature) return {}; // check_names has reported it
  llvm::StringRef name = frame.decl.name.text;
  auto [known, fresh] = externs_.try_emplace(name, Extern{*signature, frame.decl.name.span});
  if (!fresh && known->second.signature != *signature)
    return report_.fail(frame, error(Code::duplicate_name, frame.decl.name.span,
                                     "two `extern op`s of different types are named `{0}`", name)
                                   .at(known->second.span, "the other declaration"));
  llvm::SmallVector<Operand, 6> operands;
  for (const ast::Param& param : frame.ast[frame.decl.params])
    operands.push_back({frame.find(param.name.text)->val.node, {}});
  return nodes_.apply(caller, call, OpKind::Extern,
                      {OpenValue::of_string(name), OpenValue::of_string(*signature)}, operands);
}

} // namespace tg::eval
