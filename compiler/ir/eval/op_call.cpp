#include "compiler/ir/eval/op_call.h"

#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

#include <llvm/ADT/StringSwitch.h>

namespace tg::eval {

namespace {

bool is_operand(const Val& val) { return val.is(Val::Kind::Tensor) || val.absent(); }

/// Returns the dtype of operands that have a fixed one, independent of the others.
std::optional<DType> own_dtype(llvm::StringRef operand) {
  return llvm::StringSwitch<std::optional<DType>>(operand)
      .Cases("ids", "indices", DType::I64)
      .Cases("condition", "seen", DType::Bool)
      .Default(std::nullopt);
}

} // namespace

OpCall::OpCall(Nodes& nodes, Report& report, const Frame& frame, ast::ExprId id, OpKind op)
    : nodes_(nodes), report_(report), frame_(frame), id_(id), e_(frame.ast[id]),
      info_(op_info(op)) {
  attrs_.resize(info_.attrs().size());
  if (!info_.variadic()) operands_.resize(info_.operands().size());
  for (GivenValue& place : operands_) place.val = Val::unit();
}

Val OpCall::result(llvm::MutableArrayRef<Val> given) {
  Operands operands;
  if (!place_arguments(given) || !complete() || !convert_operands(operands) ||
      !finish_attributes(operands))
    return {};
  llvm::SmallVector<OpenValue, kMaxAttrs> attrs;
  for (const auto& attr : attrs_) attrs.push_back(*attr);
  return nodes_.apply(frame_, id_, info_.kind, attrs, operands);
}

/// Returns true if all required operands are present.
bool OpCall::complete() {
  for (size_t i = 0; i < operands_.size() && !info_.variadic(); ++i)
    if (!info_.operands()[i].optional && operands_[i].val.is(Val::Kind::Unit)) {
      report_.fail(frame_,
                   error(Code::missing_argument, e_.callee.span, "`{0}` requires the operand `{1}`",
                         e_.callee.text, info_.operands()[i].name));
      return false;
    }
  if (!info_.variadic() || !operands_.empty()) return true;
  report_.fail(frame_, error(Code::missing_argument, e_.callee.span,
                             "`{0}` requires at least one operand", e_.callee.text));
  return false;
}

/// Converts operands to nodes. Literals take the dtype of the first operand that has one, except
/// for operands with a fixed dtype.
bool OpCall::convert_operands(Operands& out) {
  auto own = [&](size_t i) {
    return info_.variadic() ? std::nullopt : own_dtype(info_.operands()[i].name);
  };
  llvm::SmallVector<const Val*, 6> meeting;
  for (size_t i = 0; i < operands_.size(); ++i)
    if (!own(i)) meeting.push_back(&operands_[i].val);
  DType met = nodes_.first_dtype(meeting);
  bool good = true;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const GivenValue& given = operands_[i];
    Operand operand{{}, given.expr};
    if (given.val.is(Val::Kind::Unit) || given.val.absent())
      operand.node = nodes_.graph().none();
    else
      good &= nodes_.tensor(frame_, given.val, given.span, operand.node, own(i).value_or(met));
    out.push_back(operand);
  }
  return good;
}

bool OpCall::place_arguments(llvm::MutableArrayRef<Val> given) {
  bool good = true;
  for (size_t i = 0; i < given.size(); ++i) {
    const ast::Arg& arg = frame_.ast[e_.args][i];
    if (arg.kind == ast::ArgKind::Named)
      good &= place_named(arg, given[i]);
    else
      good &= place_positional(arg, std::move(given[i]));
  }
  return good;
}

bool OpCall::place_named(const ast::Arg& arg, Val& val) {
  int operand = info_.operand_index(arg.name.text), slot = info_.attr_slot(arg.name.text);
  if (operand < 0) return slot < 0 || set_attribute(static_cast<size_t>(slot), arg, val);
  if (info_.variadic()) return place_list(arg, val), true;
  GivenValue& place = operands_[static_cast<size_t>(operand)];
  if (!place.val.is(Val::Kind::Unit)) {
    report_.fail(frame_,
                 error(Code::duplicate_name, arg.name.span, "`{0}` is given twice", arg.name.text));
    return false;
  }
  place = {std::move(val), arg.value, arg.span};
  return true;
}

void OpCall::place_list(const ast::Arg& arg, const Val& list) {
  const ast::Expr& written = frame_.ast[arg.value];
  llvm::ArrayRef<ast::ExprId> exprs;
  if (written.kind == ast::ExprKind::List || written.kind == ast::ExprKind::Tuple)
    exprs = frame_.ast[written.items];
  for (size_t i = 0; i < list.items.size(); ++i) {
    ast::ExprId expr = exprs.size() == list.items.size() ? exprs[i] : arg.value;
    operands_.push_back({list.items[i], expr, frame_.ast[expr].span});
  }
}

bool OpCall::place_positional(const ast::Arg& arg, Val val) {
  bool list = val.is(Val::Kind::List) || val.is(Val::Kind::Tuple);
  if (info_.variadic()) {
    if (list && operands_.empty()) return place_list(arg, val), true;
    if (val.is(Val::Kind::Tensor) && next_attr_ == 0) {
      operands_.push_back({std::move(val), arg.value, arg.span});
      return true;
    }
  } else if (next_attr_ == 0 && next_operand_ < info_.operands().size()) {
    bool optional = info_.operands()[next_operand_].optional;
    if (!optional || is_operand(val)) {
      operands_[next_operand_++] = {std::move(val), arg.value, arg.span};
      return true;
    }
  }
  if (next_attr_ < info_.attrs().size()) return set_attribute(next_attr_++, arg, val);
  report_.fail(frame_, error(Code::too_many_arguments, arg.span, "`{0}` has too many arguments",
                             e_.callee.text));
  return false;
}

bool OpCall::set_attribute(size_t slot, const ast::Arg& arg, const Val& given) {
  const AttrInfo& attr = info_.attrs()[slot];
  bool word =
      attr.kind == AttrKind::act || attr.kind == AttrKind::pad || attr.kind == AttrKind::dtype;
  const Val val = word ? resolve_word(frame_, arg.value, given) : given;
  if (attrs_[slot]) {
    report_.fail(frame_, error(Code::duplicate_name, arg.span, "`{0}` is given twice", attr.name));
    return false;
  }
  auto ints = as_sizes(val);
  bool many = attr.kind == AttrKind::ints || attr.kind == AttrKind::axes;
  if (ints)
    attrs_[slot] = OpenValue::of_ints(*ints);
  else if (attr.kind == AttrKind::floats && as_value(val))
    attrs_[slot] = *as_value(val);
  else if (val.integer() && many)
    attrs_[slot] = OpenValue::of_ints(val.as_size());
  else if (val.integer())
    attrs_[slot] = OpenValue::of_int(val.as_size());
  else if (val.is(Val::Kind::Const) || val.is(Val::Kind::Open))
    attrs_[slot] = *as_value(val);
  if (attrs_[slot]) return true;
  Code code = val.is(Val::Kind::Tensor) ? Code::not_constant : Code::bad_attribute;
  report_.fail(frame_, error(code, arg.span, "`{0}` of `{1}` must be a compile-time value, got {2}",
                             attr.name, info_.name, report_.describe(val)));
  return false;
}

bool OpCall::finish_attributes(const Operands& operands) {
  for (size_t slot = 0; slot < attrs_.size(); ++slot) {
    const AttrInfo& attr = info_.attrs()[slot];
    if (attrs_[slot]) continue;
    if (!attr.required) {
      attrs_[slot] = default_value(attr);
      continue;
    }
    int64_t rank = nodes_.rank(operands[0].node);
    if (info_.kind == OpKind::Transpose && rank >= 2) {
      attrs_[slot] = OpenValue(Value::of_ints(last_axes_swapped(rank)));
      continue;
    }
    report_.fail(frame_, error(Code::missing_argument, e_.callee.span,
                               "`{0}` requires the argument `{1}`", e_.callee.text, attr.name));
    return false;
  }
  return true;
}

} // namespace tg::eval
