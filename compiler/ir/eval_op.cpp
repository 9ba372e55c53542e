// Calls of operators and builtins. Arguments of an operator: positional ones fill the operands (a
// tensor, or `none`, also an optional operand), then the attributes in slot order; names reach
// both. `apply` is the one place where a node is made.
#include "compiler/ir/eval.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>

namespace tg::eval {

namespace {

bool is_int(const Val& val) { return val.is(Val::Kind::Const) && val.value.is(Value::Kind::Int); }

bool is_operand(const Val& val) { return val.is(Val::Kind::Tensor) || val.absent(); }

/// The dtype of operands that have one of their own, whatever the others are.
std::optional<DType> own_dtype(llvm::StringRef operand) {
  return llvm::StringSwitch<std::optional<DType>>(operand)
      .Cases("ids", "indices", DType::I64)
      .Cases("cond", "condition", "mask", DType::Bool)
      .Default(std::nullopt);
}

} // namespace

std::optional<llvm::SmallVector<int64_t, 6>> as_ints(const Val& val) {
  llvm::SmallVector<int64_t, 6> ints;
  if (!val.is(Val::Kind::List) && !val.is(Val::Kind::Tuple)) return std::nullopt;
  for (const Val& item : val.items) {
    if (!item.is(Val::Kind::Const) || !item.value.is(Value::Kind::Int)) return std::nullopt;
    ints.push_back(item.value.number);
  }
  return ints;
}

/// A compile-time value, or a list of numbers; nullopt for all else.
static std::optional<Value> as_value(const Val& val) {
  if (val.is(Val::Kind::Const)) return val.value;
  if (auto ints = as_ints(val)) return Value::of_ints(*ints);
  std::vector<double> reals;
  for (const Val& item : val.items)
    if (item.is(Val::Kind::Const) && is_number(item.value)) reals.push_back(as_real(item.value));
  bool numbers = val.is(Val::Kind::List) && reals.size() == val.items.size();
  return numbers ? std::optional(Value::of_floats(std::move(reals))) : std::nullopt;
}

/// Arguments of an operator, sorted into its operands and attributes.
struct Evaluator::OpArgs {
  struct Given {
    Val val; // Unit where not given
    ast::ExprId expr;
    Span span;
  };
  llvm::SmallVector<Given, 6> operands;
  llvm::SmallVector<std::optional<Value>, kMaxAttrs> attrs;
  size_t next_operand = 0, next_attr = 0;
};

// --- nodes
// ------------------------------------------------------------------------------------------

Val Evaluator::apply(Frame& frame, ast::ExprId site, OpKind op, llvm::ArrayRef<Value> attrs,
                     llvm::ArrayRef<Operand> operands) {
  if (graph_.size() >= kMaxGraphNodes)
    return limit(frame, frame.ast[site].span,
                 llvm::formatv("the model has more than {0} nodes", kMaxGraphNodes));
  const OpInfo& info = op_info(op);
  llvm::SmallVector<ValueId, kMaxAttrs> values;
  for (const Value& v : attrs) values.push_back(graph_.symbols().value(v));
  for (const AttrInfo& attr : info.attrs().drop_front(attrs.size())) // sugar leaves them out
    values.push_back(graph_.symbols().value(default_value(attr)));
  llvm::SmallVector<NodeId, 6> nodes;
  for (const Operand& operand : operands) nodes.push_back(operand.node);
  while (!info.variadic() && nodes.size() < info.operands().size()) nodes.push_back(graph_.none());
  std::string why;
  NodeId node = graph_.add(op, values, nodes, &why);
  return node.valid() ? Val::of(node) : report_op(frame, site, op, operands, std::move(why));
}

/// By the operator's name.
Val Evaluator::apply(Frame& frame, ast::ExprId site, llvm::StringRef op,
                     llvm::ArrayRef<Value> attrs, llvm::ArrayRef<Operand> operands) {
  if (std::optional<OpKind> kind = find_op(op)) return apply(frame, site, *kind, attrs, operands);
  return report(frame, error(Code::not_yet, frame.ast[site].span,
                             "the operator `{0}` is not available yet", op));
}

// --- builtins
// ---------------------------------------------------------------------------------------

/// A word of the language that is written alone (`relu` in `act = relu`) and a tensor of that name:
/// where a word is wanted, and no tensor can stand, the word is meant.
static Val word_meant(const Frame& frame, ast::ExprId written, Val val) {
  const ast::Expr& e = frame.ast[written];
  if (!val.is(Val::Kind::Tensor) || e.kind != ast::ExprKind::Name) return val;
  std::optional<Value> word = constant_of_name(e.text);
  return word && word->is(Value::Kind::Enum) ? Val::of(std::move(*word)) : val;
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
    return good ? fold_constants(frame, e, args) : Val{};
  }
  Signature slots = signature(program_, callee);
  for (const ast::Arg* arg : match_arguments(slots, frame.ast, e.args)) {
    good &= evaluate(arg);
    if (arg && slots.slots[args.size() - 1].name == "dtype")
      args.back() = word_meant(frame, arg->value, std::move(args.back()));
  }
  if (!good) return {};
  switch (builtin.kind) {
  case Builtin::Split: return split(frame, id, e, args, first);
  case Builtin::Dim:
  case Builtin::Rank:
  case Builtin::ShapeOf:
  case Builtin::DTypeOf: return question(frame, e, builtin.kind, args, first);
  default: return literal_builtin(frame, id, builtin.kind, args);
  }
}

Val Evaluator::fold_constants(Frame& frame, const ast::Expr& e, llvm::ArrayRef<Val> args) {
  std::vector<Value> values;
  for (size_t i = 0; i < args.size(); ++i) {
    if (e.callee.text == "len" && args[i].is(Val::Kind::List))
      return Val::of(Value::of_int(static_cast<int64_t>(args[i].items.size())));
    if (std::optional<Value> value = as_value(args[i])) {
      values.push_back(std::move(*value));
      continue;
    }
    bool runtime = args[i].is(Val::Kind::Tensor);
    Diagnostic d =
        error(runtime ? Code::not_constant : Code::wrong_kind, e.span,
              "`{0}` is for compile-time values, got {1}", e.callee.text, describe(args[i]));
    if (runtime) d.help = idiom_of_function(e.callee.text);
    return report(frame, std::move(d));
  }
  Value out;
  ConstError why;
  if (fold_call(e.callee.text, values, out, why)) return Val::of(std::move(out));
  return report(frame, error(why.code, e.span, "{0}", why.message));
}

Val Evaluator::question(Frame& frame, const ast::Expr& e, Builtin kind, llvm::ArrayRef<Val> args,
                        ast::ExprId expr) {
  NodeId node;
  if (!tensor(frame, args[0], frame.ast[expr].span, node)) return {};
  const TensorType& t = type(node);
  if (kind == Builtin::Rank) return Val::of(Value::of_int(t.rank()));
  if (kind == Builtin::ShapeOf) return Val::of(Value::of_ints(t.shape));
  if (kind == Builtin::DTypeOf) return Val::of(Value::of_enum(dtype_name(t.dtype)));
  if (!is_int(args[1]) || args[1].value.number < -t.rank() || args[1].value.number >= t.rank())
    return report(frame, error(Code::bad_attribute, e.span, "{0} has no axis {1}", t.text(),
                               describe(args[1])));
  int64_t axis = args[1].value.number;
  return Val::of(Value::of_int(t[static_cast<size_t>(axis < 0 ? axis + t.rank() : axis)]));
}

// --- split
// ------------------------------------------------------------------------------------------

bool Evaluator::split_sizes(Frame& frame, const ast::Expr& e, llvm::ArrayRef<Val> args,
                            int64_t size, llvm::SmallVectorImpl<int64_t>& sizes) {
  auto fail = [&](std::string why) {
    report(frame, error(Code::bad_attribute, e.span, "{0}", why));
    return false;
  };
  const Val &parts = args[2], &explicit_sizes = args[3];
  if (parts.is(Val::Kind::Unit) == explicit_sizes.is(Val::Kind::Unit))
    return fail("`split` takes either `parts` or `sizes`");
  if (!parts.is(Val::Kind::Unit)) {
    if (!is_int(parts) || parts.value.number < 1)
      return fail("`parts` must be a positive integer, got " + describe(parts));
    int64_t n = parts.value.number;
    if (size % n != 0)
      return fail(llvm::formatv("an axis of {0} does not split into {1} equal parts", size, n));
    sizes.assign(static_cast<size_t>(n), size / n);
    return true;
  }
  auto ints = as_ints(explicit_sizes);
  if (!ints) return fail("`sizes` must be a list of integers, got " + describe(explicit_sizes));
  int64_t left = size;
  for (int64_t n : *ints) left = n < 1 || left < 0 ? -1 : left - n;
  if (left != 0)
    return fail(llvm::formatv("sizes {0} do not add up to the axis of {1}",
                              describe(explicit_sizes), size));
  sizes.assign(ints->begin(), ints->end());
  return true;
}

Val Evaluator::split(Frame& frame, ast::ExprId id, const ast::Expr& e, llvm::ArrayRef<Val> args,
                     ast::ExprId expr) {
  NodeId node;
  if (!tensor(frame, args[0], frame.ast[expr].span, node)) return {};
  Val size = question(frame, e, Builtin::Dim, {args[0], args[1]}, expr);
  llvm::SmallVector<int64_t, 6> sizes;
  if (size.poison() || !split_sizes(frame, e, args, size.value.number, sizes)) return {};
  std::vector<Val> pieces;
  int64_t start = 0;
  for (int64_t n : sizes) {
    Value axis = Value::of_int(args[1].value.number);
    // One piece is the whole: no node.
    pieces.push_back(sizes.size() == 1
                         ? Val::of(node)
                         : apply(frame, id, OpKind::Slice,
                                 {axis, Value::of_int(start), Value::of_int(start + n)},
                                 Operand{node, expr}));
    if (pieces.back().poison() || !step(frame, e.span)) return {};
    start += n;
  }
  return Val::list(std::move(pieces), Val::Kind::Tuple);
}

// --- operators
// ----------------------------------------------------------------------------------------

Val Evaluator::call_op(Frame& frame, ast::ExprId id, const ast::Expr& e, OpKind op) {
  const OpInfo& info = op_info(op);
  std::vector<Val> given;
  bool poison = false, numbers = is_const_function(info.name) && !e.args.empty();
  for (const ast::Arg& arg : frame.ast[e.args]) {
    given.push_back(expression(frame, arg.value));
    poison |= given.back().poison();
    numbers &= given.back().is(Val::Kind::Const) && is_number(given.back().value);
  }
  if (poison) return {};
  if (numbers) return fold_constants(frame, e, given); // of numbers it is a number
  OpArgs args;
  args.attrs.resize(info.attrs().size());
  if (!info.variadic()) args.operands.resize(info.operands().size());
  for (OpArgs::Given& place : args.operands) place.val = Val::unit();
  if (!place_arguments(frame, e, info, given, args)) return {};
  for (size_t i = 0; i < args.operands.size() && !info.variadic(); ++i)
    if (!info.operands()[i].optional && args.operands[i].val.is(Val::Kind::Unit))
      return report(frame,
                    error(Code::missing_argument, e.callee.span, "`{0}` needs the operand `{1}`",
                          e.callee.text, info.operands()[i].name));
  if (info.variadic() && args.operands.empty())
    return report(frame, error(Code::missing_argument, e.callee.span,
                               "`{0}` needs one operand or more", e.callee.text));
  llvm::SmallVector<Operand, 6> operands;
  if (!settle(frame, info, args, operands)) return {};
  if (!finish_attributes(frame, e, info, operands, args)) return {};
  llvm::SmallVector<Value, kMaxAttrs> attrs;
  for (const auto& attr : args.attrs) attrs.push_back(*attr);
  return apply(frame, id, op, attrs, operands);
}

/// Operands to nodes: literals take the dtype of the first operand that has one, but for operands
/// that have their own.
bool Evaluator::settle(Frame& frame, const OpInfo& info, OpArgs& args,
                       llvm::SmallVectorImpl<Operand>& out) {
  auto own = [&](size_t i) {
    return info.variadic() ? std::nullopt : own_dtype(info.operands()[i].name);
  };
  llvm::SmallVector<const Val*, 6> meeting;
  for (size_t i = 0; i < args.operands.size(); ++i)
    if (!own(i)) meeting.push_back(&args.operands[i].val);
  DType met = dtype_met(meeting);
  bool good = true;
  for (size_t i = 0; i < args.operands.size(); ++i) {
    const OpArgs::Given& given = args.operands[i];
    Operand operand{{}, given.expr};
    if (given.val.is(Val::Kind::Unit) || given.val.absent())
      operand.node = graph_.none();
    else
      good &= tensor(frame, given.val, given.span, operand.node, own(i).value_or(met));
    out.push_back(operand);
  }
  return good;
}

bool Evaluator::place_arguments(Frame& frame, const ast::Expr& e, const OpInfo& info,
                                llvm::MutableArrayRef<Val> given, OpArgs& out) {
  bool good = true;
  for (size_t i = 0; i < given.size(); ++i) {
    const ast::Arg& arg = frame.ast[e.args][i];
    Val& val = given[i];
    if (arg.kind != ast::ArgKind::Named) {
      good = place_positional(frame, e, info, arg, std::move(val), out) && good;
      continue;
    }
    int operand = info.operand_index(arg.name.text), slot = info.attr_slot(arg.name.text);
    if (operand >= 0 && info.variadic())
      place_list(frame, arg, val, out);
    else if (operand >= 0) {
      OpArgs::Given& place = out.operands[static_cast<size_t>(operand)];
      if (!place.val.is(Val::Kind::Unit)) {
        report(frame,
               error(Code::duplicate_name, arg.name.span, "`{0}` is given twice", arg.name.text));
        return false;
      }
      place = {std::move(val), arg.value, arg.span};
    } else if (slot >= 0)
      good = set_attribute(frame, info, static_cast<size_t>(slot), arg, val, out) && good;
  }
  return good;
}

void Evaluator::place_list(Frame& frame, const ast::Arg& arg, const Val& list, OpArgs& out) {
  const ast::Expr& written = frame.ast[arg.value];
  llvm::ArrayRef<ast::ExprId> exprs;
  if (written.kind == ast::ExprKind::List || written.kind == ast::ExprKind::Tuple)
    exprs = frame.ast[written.items];
  for (size_t i = 0; i < list.items.size(); ++i) {
    ast::ExprId expr = exprs.size() == list.items.size() ? exprs[i] : arg.value;
    out.operands.push_back({list.items[i], expr, frame.ast[expr].span});
  }
}

bool Evaluator::place_positional(Frame& frame, const ast::Expr& e, const OpInfo& info,
                                 const ast::Arg& arg, Val val, OpArgs& out) {
  bool list = val.is(Val::Kind::List) || val.is(Val::Kind::Tuple);
  if (info.variadic()) {
    if (list && out.operands.empty()) return place_list(frame, arg, val, out), true;
    if (val.is(Val::Kind::Tensor) && out.next_attr == 0) {
      out.operands.push_back({std::move(val), arg.value, arg.span});
      return true;
    }
  } else if (out.next_attr == 0 && out.next_operand < info.operands().size()) {
    bool optional = info.operands()[out.next_operand].optional;
    if (!optional || is_operand(val)) {
      out.operands[out.next_operand++] = {std::move(val), arg.value, arg.span};
      return true;
    }
  }
  if (out.next_attr < info.attrs().size())
    return set_attribute(frame, info, out.next_attr++, arg, val, out);
  report(frame, error(Code::too_many_arguments, arg.span, "`{0}` takes no further argument",
                      e.callee.text));
  return false;
}

bool Evaluator::set_attribute(Frame& frame, const OpInfo& info, size_t slot, const ast::Arg& arg,
                              const Val& given, OpArgs& out) {
  const AttrInfo& attr = info.attrs()[slot];
  bool word =
      attr.kind == AttrKind::act || attr.kind == AttrKind::pad || attr.kind == AttrKind::dtype;
  const Val val = word ? word_meant(frame, arg.value, given) : given;
  if (out.attrs[slot]) {
    report(frame, error(Code::duplicate_name, arg.span, "`{0}` is given twice", attr.name));
    return false;
  }
  auto ints = as_ints(val);
  bool many = attr.kind == AttrKind::ints || attr.kind == AttrKind::axes;
  if (ints)
    out.attrs[slot] = Value::of_ints(*ints);
  else if (is_int(val) && attr.kind == AttrKind::real)
    out.attrs[slot] = Value::of_float(as_real(val.value));
  else if (is_int(val) && many)
    out.attrs[slot] = Value::of_ints(val.value.number);
  else if (val.is(Val::Kind::Const))
    out.attrs[slot] = val.value;
  if (out.attrs[slot]) return true;
  Code code = val.is(Val::Kind::Tensor) ? Code::not_constant : Code::bad_attribute;
  report(frame, error(code, arg.span, "`{0}` of `{1}` is a compile-time value, got {2}", attr.name,
                      info.name, describe(val)));
  return false;
}

bool Evaluator::finish_attributes(Frame& frame, const ast::Expr& e, const OpInfo& info,
                                  llvm::ArrayRef<Operand> operands, OpArgs& out) {
  for (size_t slot = 0; slot < out.attrs.size(); ++slot) {
    const AttrInfo& attr = info.attrs()[slot];
    if (out.attrs[slot]) continue;
    if (!attr.required) {
      out.attrs[slot] = default_value(attr);
      continue;
    }
    int64_t rank = type(operands[0].node).rank();
    if (info.kind == OpKind::Transpose && rank >= 2) { // the last two axes change places
      llvm::SmallVector<int64_t, 6> perm;
      for (int64_t axis = 0; axis < rank; ++axis) perm.push_back(axis);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      out.attrs[slot] = Value::of_ints(perm);
      continue;
    }
    report(frame, error(Code::missing_argument, e.callee.span, "`{0}` needs the argument `{1}`",
                        e.callee.text, attr.name));
    return false;
  }
  return true;
}

} // namespace tg::eval
