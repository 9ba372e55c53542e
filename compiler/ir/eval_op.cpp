// Calls of operators and builtins. Arguments of an operator: positional ones fill the operands (a
// tensor, or `none`, also an optional operand), then the attributes in slot order; names reach
// both. `apply` is the one place where a node is made.
#include "compiler/ir/eval.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::eval {

namespace {

llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }

/// A list of compile-time integers; nullopt if it holds anything else.
std::optional<llvm::SmallVector<int64_t, 6>> as_ints(const Val& val) {
  llvm::SmallVector<int64_t, 6> ints;
  if (!val.is(Val::Kind::List) && !val.is(Val::Kind::Tuple)) return std::nullopt;
  for (const Val& item : val.items) {
    if (!item.is(Val::Kind::Const) || !item.value.is(Value::Kind::Int)) return std::nullopt;
    ints.push_back(item.value.number);
  }
  return ints;
}

bool is_int(const Val& val) { return val.is(Val::Kind::Const) && val.value.is(Value::Kind::Int); }

bool is_operand(const Val& val) { return val.is(Val::Kind::Tensor) || val.absent(); }

} // namespace

/// Arguments of an operator, sorted into its operands and attributes.
struct Evaluator::OpArgs {
  llvm::SmallVector<Operand, 6> operands; // invalid nodes where not given
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

/// A tensor from a value: itself, or the constant that a number or nested list stands for.
bool Evaluator::tensor(Frame& frame, const Val& val, Span span, NodeId& out) {
  if (val.poison()) return false;
  if (val.is(Val::Kind::Tensor)) return out = val.node, true;
  if (val.is(Val::Kind::Const) && is_number(val.value)) {
    out = graph_.constant({as_real(val.value)}, f32({}));
    return true;
  }
  if (val.is(Val::Kind::List)) return literal(frame, val, span, out);
  std::string help = val.is(Val::Kind::Tuple) ? "take it apart: let (a, b) = …" : "";
  report(frame, error(Code::wrong_kind, span, "a tensor is needed, got {0}", describe(val))
                    .suggest(std::move(help)));
  return false;
}

bool Evaluator::literal(Frame& frame, const Val& val, Span span, NodeId& out) {
  Shape shape;
  for (const Val* v = &val; v->is(Val::Kind::List); v = &v->items[0]) {
    shape.push_back(static_cast<int64_t>(v->items.size()));
    if (v->items.empty()) break;
  }
  std::vector<double> values;
  // Row by row; a list must be as long as its level says, a number must lie at the last level.
  std::vector<std::pair<const Val*, size_t>> open{{&val, 0}};
  bool even = true;
  while (!open.empty() && even) {
    auto [v, level] = open.back();
    open.pop_back();
    if (v->is(Val::Kind::List)) {
      even = level < shape.size() && static_cast<int64_t>(v->items.size()) == shape[level];
      for (const Val& item : llvm::reverse(v->items)) open.push_back({&item, level + 1});
    } else {
      even = level == shape.size() && v->is(Val::Kind::Const) && is_number(v->value);
      if (even) values.push_back(as_real(v->value));
    }
  }
  if (even && !values.empty() && static_cast<int64_t>(shape.size()) <= kMaxRank) {
    out = graph_.constant(std::move(values), f32(shape));
    return true;
  }
  report(frame, error(Code::wrong_kind, span, "{0} is no literal of a tensor", describe(val))
                    .suggest("rows of equal length, of numbers only"));
  return false;
}

// --- builtins
// ---------------------------------------------------------------------------------------

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
    for (const ast::Arg& arg : frame.ast[e.args]) good &= evaluate(&arg);
    return good ? fold_constants(frame, e, args) : Val{};
  }
  for (const ast::Arg* arg : match_arguments(signature(program_, callee), frame.ast, e.args))
    good &= evaluate(arg);
  if (!good) return {};
  switch (builtin.kind) {
  case Builtin::Split: return split(frame, id, e, args, first);
  case Builtin::Dim:
  case Builtin::Rank:
  case Builtin::ShapeOf: return question(frame, e, builtin.kind, args, first);
  default: return literal_builtin(frame, e, builtin.kind, args);
  }
}

Val Evaluator::fold_constants(Frame& frame, const ast::Expr& e, llvm::ArrayRef<Val> args) {
  std::vector<Value> values;
  for (size_t i = 0; i < args.size(); ++i) {
    if (e.callee.text == "len" && args[i].is(Val::Kind::List))
      return Val::of(Value::of_int(static_cast<int64_t>(args[i].items.size())));
    std::optional<llvm::SmallVector<int64_t, 6>> ints = as_ints(args[i]);
    if (args[i].is(Val::Kind::Const) || ints) {
      values.push_back(ints ? Value::of_ints(*ints) : args[i].value);
      continue;
    }
    bool runtime = args[i].is(Val::Kind::Tensor);
    Diagnostic d =
        error(runtime ? Code::not_constant : Code::wrong_kind, e.span,
              "`{0}` is for compile-time values, got {1}", e.callee.text, describe(args[i]));
    if (runtime && e.callee.text == "max") d.help = "the operators are `maximum` and `reduce_max`";
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
  if (!is_int(args[1]) || args[1].value.number < -t.rank() || args[1].value.number >= t.rank())
    return report(frame, error(Code::bad_attribute, e.span, "{0} has no axis {1}", t.text(),
                               describe(args[1])));
  int64_t axis = args[1].value.number;
  return Val::of(Value::of_int(t[static_cast<size_t>(axis < 0 ? axis + t.rank() : axis)]));
}

Val Evaluator::literal_builtin(Frame& frame, const ast::Expr& e, Builtin kind,
                               llvm::ArrayRef<Val> args) {
  auto bad = [&](llvm::StringRef needs, const Val& got) {
    return report(frame, error(Code::wrong_kind, e.span, "`{0}` needs {1}, got {2}", e.callee.text,
                               needs, describe(got)));
  };
  if (kind == Builtin::Iota || kind == Builtin::Eye) {
    int64_t limit = kind == Builtin::Iota ? kMaxListExtent : 1024;
    if (!is_int(args[0]) || args[0].value.number < 1 || args[0].value.number > limit)
      return bad(llvm::formatv("an integer from 1 to {0}", limit).str(), args[0]);
    int64_t n = args[0].value.number;
    steps_ += static_cast<uint64_t>(n);
    std::vector<double> values(static_cast<size_t>(kind == Builtin::Iota ? n : n * n), 0.0);
    for (int64_t i = 0; i < n; ++i)
      values[static_cast<size_t>(kind == Builtin::Iota ? i : i * n + i)] =
          kind == Builtin::Iota ? static_cast<double>(i) : 1.0;
    return Val::of(
        graph_.constant(std::move(values), kind == Builtin::Iota ? f32({n}) : f32({n, n})));
  }
  auto shape = as_ints(args[0]);
  if (!shape && is_int(args[0])) shape = llvm::SmallVector<int64_t, 6>{args[0].value.number};
  int64_t left = kMaxElements;
  for (int64_t size : shape ? *shape : llvm::SmallVector<int64_t, 6>{})
    left = size < 1 ? 0 : left / size;
  if (!shape || left < 1 || shape->size() > static_cast<size_t>(kMaxRank))
    return bad("a shape", args[0]);
  double value = kind == Builtin::Ones ? 1.0 : 0.0;
  if (kind == Builtin::Full) {
    if (!args[1].is(Val::Kind::Const) || !is_number(args[1].value)) return bad("a number", args[1]);
    value = as_real(args[1].value);
  }
  return Val::of(graph_.constant({value}, f32(*shape)));
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
  if (op == OpKind::Sqrt && e.args.size() == 1) { // of a number it is a number
    ast::ExprId written = frame.ast[e.args][0].value;
    Val arg = expression(frame, written);
    NodeId node;
    if (arg.is(Val::Kind::Const)) return fold_constants(frame, e, arg);
    bool good = tensor(frame, arg, frame.ast[written].span, node);
    return good ? apply(frame, id, op, {}, Operand{node, written}) : Val{};
  }
  OpArgs args;
  args.attrs.resize(info.attrs().size());
  if (!info.variadic()) args.operands.resize(info.operands().size());
  if (!place_arguments(frame, e, info, args)) return {};
  for (size_t i = 0; i < args.operands.size(); ++i) {
    if (args.operands[i].node.valid()) continue;
    if (info.variadic() || info.operands()[i].optional) {
      args.operands[i].node = graph_.none();
      continue;
    }
    return report(frame,
                  error(Code::missing_argument, e.callee.span, "`{0}` needs the operand `{1}`",
                        e.callee.text, ref(info.operands()[i].name)));
  }
  if (info.variadic() && args.operands.empty())
    return report(frame, error(Code::missing_argument, e.callee.span,
                               "`{0}` needs one operand or more", e.callee.text));
  if (!finish_attributes(frame, e, info, args)) return {};
  llvm::SmallVector<Value, kMaxAttrs> attrs;
  for (const auto& attr : args.attrs) attrs.push_back(*attr);
  return apply(frame, id, op, attrs, args.operands);
}

bool Evaluator::place_arguments(Frame& frame, const ast::Expr& e, const OpInfo& info, OpArgs& out) {
  bool good = true;
  for (const ast::Arg& arg : frame.ast[e.args]) {
    Val val = expression(frame, arg.value);
    if (val.poison()) {
      good = false;
      continue;
    }
    if (arg.kind != ast::ArgKind::Named) {
      good = place_positional(frame, e, info, arg, std::move(val), out) && good;
      continue;
    }
    int operand = info.operand_index(arg.name.text), slot = info.attr_slot(arg.name.text);
    if (operand >= 0 && info.variadic())
      good = place_list(frame, arg, val, out) && good;
    else if (operand >= 0 && !val.absent()) {
      Operand& place = out.operands[static_cast<size_t>(operand)];
      if (place.node.valid()) {
        report(frame,
               error(Code::duplicate_name, arg.name.span, "`{0}` is given twice", arg.name.text));
        return false;
      }
      place.expr = arg.value;
      good = tensor(frame, val, arg.span, place.node) && good;
    } else if (slot >= 0)
      good = set_attribute(frame, info, static_cast<size_t>(slot), arg, val, out) && good;
  }
  return good;
}

bool Evaluator::place_list(Frame& frame, const ast::Arg& arg, const Val& list, OpArgs& out) {
  const ast::Expr& written = frame.ast[arg.value];
  llvm::ArrayRef<ast::ExprId> exprs;
  if (written.kind == ast::ExprKind::List || written.kind == ast::ExprKind::Tuple)
    exprs = frame.ast[written.items];
  for (size_t i = 0; i < list.items.size(); ++i) {
    Operand operand;
    operand.expr = i < exprs.size() ? exprs[i] : arg.value;
    if (!tensor(frame, list.items[i], frame.ast[operand.expr].span, operand.node)) return false;
    out.operands.push_back(operand);
  }
  return true;
}

bool Evaluator::place_positional(Frame& frame, const ast::Expr& e, const OpInfo& info,
                                 const ast::Arg& arg, Val val, OpArgs& out) {
  bool list = val.is(Val::Kind::List) || val.is(Val::Kind::Tuple);
  if (info.variadic()) {
    if (list && out.operands.empty()) return place_list(frame, arg, val, out);
    if (val.is(Val::Kind::Tensor) && out.next_attr == 0) {
      out.operands.push_back({val.node, arg.value});
      return true;
    }
  } else if (out.next_attr == 0 && out.next_operand < info.operands().size()) {
    bool optional = info.operands()[out.next_operand].optional;
    if (!optional || is_operand(val)) {
      Operand& place = out.operands[out.next_operand++];
      if (optional && val.absent()) return true;
      place.expr = arg.value;
      return tensor(frame, val, arg.span, place.node);
    }
  }
  if (out.next_attr < info.attrs().size())
    return set_attribute(frame, info, out.next_attr++, arg, val, out);
  report(frame, error(Code::too_many_arguments, arg.span, "`{0}` takes no further argument",
                      e.callee.text));
  return false;
}

bool Evaluator::set_attribute(Frame& frame, const OpInfo& info, size_t slot, const ast::Arg& arg,
                              const Val& val, OpArgs& out) {
  const AttrInfo& attr = info.attrs()[slot];
  if (out.attrs[slot]) {
    report(frame, error(Code::duplicate_name, arg.span, "`{0}` is given twice", ref(attr.name)));
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
  report(frame, error(code, arg.span, "`{0}` of `{1}` is a compile-time value, got {2}",
                      ref(attr.name), ref(info.name), describe(val)));
  return false;
}

bool Evaluator::finish_attributes(Frame& frame, const ast::Expr& e, const OpInfo& info,
                                  OpArgs& out) {
  for (size_t slot = 0; slot < out.attrs.size(); ++slot) {
    const AttrInfo& attr = info.attrs()[slot];
    if (out.attrs[slot]) continue;
    if (!attr.required) {
      out.attrs[slot] = default_value(attr);
      continue;
    }
    int64_t rank = type(out.operands[0].node).rank();
    if (info.kind == OpKind::Transpose && rank >= 2) { // the last two axes change places
      llvm::SmallVector<int64_t, 6> perm;
      for (int64_t axis = 0; axis < rank; ++axis) perm.push_back(axis);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      out.attrs[slot] = Value::of_ints(perm);
      continue;
    }
    report(frame, error(Code::missing_argument, e.callee.span, "`{0}` needs the argument `{1}`",
                        e.callee.text, ref(attr.name)));
    return false;
  }
  return true;
}

} // namespace tg::eval
