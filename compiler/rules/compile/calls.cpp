#include "compiler/rules/compile/calls.h"

#include "lang/core/shape_rules.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

std::vector<llvm::StringRef> operator_names() {
  std::vector<llvm::StringRef> names;
  for (const OpInfo& info : all_ops())
    if (!info.has(Trait::Leaf) && info.kind != OpKind::Extern) names.push_back(info.name);
  return names;
}

} // namespace

std::optional<RuleCall> RuleCalls::read(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  std::optional<OpKind> op = names_.operator_of(e);
  if (!op && e.kind == ast::ExprKind::Call) return unknown_operator(e);
  if (!op || (op_info(*op).has(Trait::Leaf) && *op != OpKind::None))
    return errors_.fail(error(Code::rule_pattern, e.span, "this cannot be part of a rule's term"));
  const OpInfo& info = op_info(*op);
  RuleCall call;
  call.op = *op;
  call.expr = id;
  call.optional.resize(info.operand_count);
  call.attrs.resize(info.attr_count);
  if (e.kind != ast::ExprKind::Call) {
    call.operands.push_back(e.a);
    if (e.kind == ast::ExprKind::Binary) call.operands.push_back(e.b);
    return call;
  }
  if (!read_arguments(call, e)) return std::nullopt;
  return call;
}

std::nullopt_t RuleCalls::unknown_operator(const ast::Expr& call) {
  Diagnostic d =
      error(Code::unknown_name, call.callee.span, "unknown operator `{0}`", call.callee.text);
  llvm::StringRef near = near_miss(call.callee.text, operator_names());
  d.help = idiom_of_function(call.callee.text);
  if (d.help.empty())
    d.help = near.empty() ? "rules consist of operators, which `tg ops` lists"
                          : llvm::formatv("did you mean `{0}`?", near).str();
  return errors_.fail(std::move(d));
}

bool RuleCalls::read_arguments(RuleCall& call, const ast::Expr& e) {
  const OpInfo& info = op_info(call.op);
  size_t position = 0;
  for (const ast::Arg& arg : tree_[e.args]) {
    bool ok = true;
    if (arg.kind == ast::ArgKind::Rest)
      call.rest = true;
    else if (arg.kind == ast::ArgKind::Named)
      ok = read_named(call, arg);
    else
      ok = read_positional(call, position++, arg);
    if (!ok) return false;
  }
  size_t needed = 0;
  for (const OperandInfo& operand : info.operands()) needed += !operand.optional;
  if (call.operands.size() >= needed) return true;
  errors_.fail(error(Code::missing_argument, e.span, "`{0}` requires the operand `{1}`", info.name,
                     info.operands()[call.operands.size()].name));
  return false;
}

/// `concat([a, b])`: a variadic operator takes its operands as one list.
bool RuleCalls::read_variadic(RuleCall& call, const ast::Arg& arg) {
  const ast::Expr& list = tree_[arg.value];
  if (list.kind != ast::ExprKind::List || list.items.empty()) {
    errors_.fail(
        error(Code::wrong_kind, arg.span, "`{0}` takes a list of operands", op_info(call.op).name)
            .suggest("write the operands as [a, b]"));
    return false;
  }
  for (ast::ExprId item : tree_[list.items]) call.operands.push_back(item);
  return true;
}

bool RuleCalls::read_positional(RuleCall& call, size_t position, const ast::Arg& arg) {
  const OpInfo& info = op_info(call.op);
  size_t required = 0;
  for (const OperandInfo& operand : info.operands()) required += !operand.optional;
  if (arg.kind == ast::ArgKind::Spread) {
    errors_.fail(
        error(Code::not_yet, arg.span, "`...` is only allowed in a rule on pointwise operators"));
    return false;
  }
  if (info.variadic() && position == 0) return read_variadic(call, arg);
  if (position < required) {
    call.operands.push_back(arg.value);
    return true;
  }
  if (position - required < info.attr_count) {
    call.attrs[position - required] = arg.value;
    return true;
  }
  errors_.fail(error(Code::too_many_arguments, arg.span,
                     "`{0}` takes {1} operand{2} and {3} attribute{4}", info.name, required,
                     required == 1 ? "" : "s", info.attr_count, info.attr_count == 1 ? "" : "s")
                   .suggest("it takes " + parameters_text(call.op)));
  return false;
}

bool RuleCalls::read_named(RuleCall& call, const ast::Arg& arg) {
  const OpInfo& info = op_info(call.op);
  llvm::StringRef name = arg.name.text;
  ast::ExprId* place = nullptr;
  if (int slot = info.attr_slot(name); slot >= 0) place = &call.attrs[slot];
  if (int operand = info.operand_index(name); operand >= 0 && info.operands()[operand].optional)
    place = &call.optional[operand];
  if (call.op == OpKind::Split && name == "parts") place = &call.parts;
  if (place && !place->valid()) {
    *place = arg.value;
    return true;
  }
  if (place) {
    errors_.fail(error(Code::duplicate_name, arg.span, "`{0}` is given twice", name));
    return false;
  }
  unknown_argument(call, arg);
  return false;
}

std::nullopt_t RuleCalls::unknown_argument(const RuleCall& call, const ast::Arg& arg) {
  const OpInfo& info = op_info(call.op);
  llvm::StringRef name = arg.name.text;
  Diagnostic d =
      error(Code::unknown_argument, arg.name.span, "`{0}` has no attribute `{1}`", info.name, name);
  std::vector<llvm::StringRef> known;
  for (const AttrInfo& attr : info.attrs()) known.push_back(attr.name);
  for (const OperandInfo& operand : info.operands())
    if (operand.optional) known.push_back(operand.name);
  llvm::StringRef near = near_miss(name, known);
  llvm::SmallVector<llvm::StringRef, 2> meant;
  idiom_of_argument(name).split(meant, ' ', -1, /*KeepEmpty=*/false);
  const auto* idiom = llvm::find_if(meant, [&](auto m) { return llvm::is_contained(known, m); });
  if (idiom != meant.end())
    d.help = llvm::formatv("Tangram calls it `{0}`", *idiom);
  else if (!near.empty())
    d.help = llvm::formatv("did you mean `{0}`?", near).str();
  else
    d.help = "it takes " + parameters_text(call.op);
  return errors_.fail(std::move(d));
}

std::nullopt_t RuleCalls::lacks_attribute(const RuleCall& call, const AttrInfo& attr) {
  return errors_.fail(error(Code::missing_argument, tree_[call.expr].span,
                            "`{0}` requires the attribute `{1}`", op_info(call.op).name, attr.name)
                          .suggest("in a rule it takes " + parameters_text(call.op)));
}

std::nullopt_t RuleCalls::bad_attribute(const RuleCall& call, const AttrInfo& attr, Span span,
                                        const Value& given) {
  Diagnostic d = error(Code::bad_attribute, span, "`{0}` of `{1}` cannot be {2}", attr.name,
                       op_info(call.op).name, given.text_form());
  if (given.is(Value::Kind::String)) d.help = idiom_of_quotes(attr.name, attr.kind, given.text);
  return errors_.fail(std::move(d));
}

} // namespace tg
