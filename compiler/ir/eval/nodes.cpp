#include "compiler/ir/eval/nodes.h"

#include "compiler/ir/from_ast.h"
#include "lang/check/consteval.h"
#include "lang/core/sizes/open_infer.h"

#include <llvm/ADT/STLExtras.h>

#include <cmath>

namespace tg::eval {

using ast::Op;

namespace {

/// Returns the table operator that a sign means between tensors.
llvm::StringRef tensor_op(Op op) {
  switch (op) {
  case Op::Add: return "add";
  case Op::Sub: return "sub";
  case Op::Mul: return "mul";
  case Op::Div: return "div";
  case Op::MatMul: return "matmul";
  case Op::Eq: return "equal";
  case Op::Ne: return "not_equal";
  case Op::Lt: return "less";
  case Op::Le: return "less_equal";
  case Op::Gt: return "greater";
  case Op::Ge: return "greater_equal";
  case Op::And: return "logical_and";
  case Op::Or: return "logical_or";
  default: return "";
  }
}

bool is_bool(const Val& val) { return val.constant(Value::Kind::Bool); }

} // namespace

bool is_scalar(const Val& val) {
  if (val.is(Val::Kind::Open)) return true;
  return val.is(Val::Kind::Const) && (is_number(val.value) || val.value.is(Value::Kind::Bool));
}

double number_of(const Val& val) {
  return is_bool(val) ? static_cast<double>(val.value.number) : as_real(val.value);
}

// --- operators -----------------------------------------------------------------------------------

OpenType Nodes::type(NodeId node) const {
  auto open = open_types_.find(node.index);
  return open != open_types_.end() ? open->second : OpenType(graph_.type(node));
}

/// Sets the type of a node. Nodes are shared where they are equal at the sample; the types then
/// have to agree, which holds for the sample and is noted.
void Nodes::set_type(NodeId node, bool fresh, const OpenType& type) {
  if (!run_) return;
  if (!fresh) (void)(this->type(node) == type);
  if (type.open()) open_types_[node.index] = type;
}

NodeId Nodes::leaf(const OpenType& type, llvm::function_ref<NodeId(const TensorType&)> make) {
  size_t before = graph_.size();
  NodeId node = make(type.sample());
  set_type(node, graph_.size() > before, type);
  return node;
}

Val Nodes::apply(const Frame& frame, ast::ExprId site, OpKind op, llvm::ArrayRef<OpenValue> attrs,
                 llvm::ArrayRef<Operand> operands) {
  if (graph_.size() >= kMaxGraphNodes)
    return report_.limit(frame, frame.ast[site].span,
                         llvm::formatv("the model has more than {0} nodes", kMaxGraphNodes));
  const OpInfo& info = op_info(op);
  llvm::SmallVector<ValueId, kMaxAttrs> values;
  llvm::SmallVector<OpenValue, kMaxAttrs> open_values(attrs.begin(), attrs.end());
  for (const AttrInfo& attr : info.attrs().drop_front(attrs.size())) // the syntax omits them
    open_values.push_back(default_value(attr));
  for (const OpenValue& v : open_values) values.push_back(graph_.symbols().value(v.sample()));
  llvm::SmallVector<NodeId, 6> nodes;
  for (const Operand& operand : operands) nodes.push_back(operand.node);
  while (!info.variadic() && nodes.size() < info.operands().size()) nodes.push_back(graph_.none());
  std::string why;
  size_t before = graph_.size();
  NodeId node = graph_.add(op, values, nodes, &why);
  if (!node.valid()) return report_.refused(frame, site, op, operands, std::move(why));
  if (!run_) return Val::of(node);
  SizeSite place(run_, frame.ast[site].span, "`" + std::string(info.name) + "`");
  llvm::SmallVector<OpenType, 6> types;
  for (NodeId operand : nodes) types.push_back(type(operand));
  OpenType made = graph_.type(node);
  bool open = llvm::any_of(types, [](const OpenType& t) { return t.open(); }) ||
              llvm::any_of(open_values, [](const OpenValue& v) { return v.open(); });
  if (open && !infer_open(op, open_values, types, made, why)) // differs from `infer`: a fault
    return report_.refused(frame, site, op, operands, std::move(why));
  set_type(node, graph_.size() > before, made);
  return Val::of(node);
}

/// The same by the operator's name.
Val Nodes::apply(const Frame& frame, ast::ExprId site, llvm::StringRef op,
                 llvm::ArrayRef<OpenValue> attrs, llvm::ArrayRef<Operand> operands) {
  if (std::optional<OpKind> kind = find_op(op)) return apply(frame, site, *kind, attrs, operands);
  return report_.fail(frame, error(Code::not_yet, frame.ast[site].span,
                                   "the operator `{0}` is not available yet", op));
}

Val Nodes::sign(const Frame& frame, ast::ExprId id, const Val& a, const Val& b) {
  const ast::Expr& e = frame.ast[id];
  Operand x{{}, e.a}, y{{}, e.b};
  DType dtype = first_dtype({&a, &b});
  bool good = tensor(frame, a, frame.ast[e.a].span, x.node, dtype);
  good &= tensor(frame, b, frame.ast[e.b].span, y.node, dtype);
  if (!good) return {};
  if (e.op == Op::Pow) return power(frame, id, x, y, b);
  if (e.op == Op::FloorDiv || e.op == Op::Mod) return rounded(frame, id, e.op, x, y);
  return apply(frame, id, tensor_op(e.op), {}, {x, y});
}

/// `x ** 2`, `x ** 3` and `x ** 4` are products: exact, and cheaper than a power.
Val Nodes::power(const Frame& frame, ast::ExprId id, Operand x, Operand y, const Val& exponent) {
  bool whole = exponent.is(Val::Kind::Const) && exponent.value.is(Value::Kind::Int);
  int64_t n = whole ? exponent.value.number : 0;
  if (!is_product(n)) return apply(frame, id, "pow", {}, {x, y});
  Val square = apply(frame, id, "mul", {}, {x, x});
  if (n == 2 || square.poison()) return square;
  Operand s{square.node, {}};
  return apply(frame, id, "mul", {}, {s, n == 3 ? x : s});
}

/// `x // y` rounds down; `x % y` is the remainder, with the sign of y.
Val Nodes::rounded(const Frame& frame, ast::ExprId id, Op op, Operand x, Operand y) {
  DType dtype = this->dtype(x.node);
  bool integers = dtype == DType::I32 || dtype == DType::I64;
  if (op == Op::FloorDiv && !integers) {
    Val quotient = apply(frame, id, "div", {}, {x, y});
    if (quotient.poison()) return {};
    return apply(frame, id, "floor", {}, Operand{quotient.node, {}});
  }
  Val rest = apply(frame, id, "mod", {}, {x, y});
  if (op == Op::Mod || rest.poison()) return rest;
  Val whole = apply(frame, id, "sub", {}, {x, Operand{rest.node, {}}}); // a multiple of y
  if (whole.poison()) return {};
  return apply(frame, id, "div", {}, {Operand{whole.node, {}}, y});
}

// --- literals ------------------------------------------------------------------------------------

namespace {

/// Collects the elements of nested lists in row-major order, with their shape. Returns false if
/// rows differ in length or contain anything but numbers and bools.
bool elements_of(const Val& val, Shape& shape, std::vector<const Val*>& out) {
  for (const Val* v = &val; v->is(Val::Kind::List); v = &v->items[0]) {
    shape.push_back(static_cast<int64_t>(v->items.size()));
    if (v->items.empty()) return false;
  }
  std::vector<std::pair<const Val*, size_t>> open{{&val, 0}};
  while (!open.empty()) {
    auto [v, level] = open.back();
    open.pop_back();
    if (v->is(Val::Kind::List)) {
      bool even = level < shape.size() && static_cast<int64_t>(v->items.size()) == shape[level];
      if (!even) return false;
      for (const Val& item : llvm::reverse(v->items)) open.push_back({&item, level + 1});
    } else if (level == shape.size() && is_scalar(*v)) {
      out.push_back(v);
    } else {
      return false;
    }
  }
  return static_cast<int64_t>(shape.size()) <= kMaxRank;
}

} // namespace

/// Returns the dtype of the first value that has one.
DType Nodes::first_dtype(llvm::ArrayRef<const Val*> values) const {
  for (const Val* val : values)
    if (val->is(Val::Kind::Tensor) && !val->weak) return dtype(val->node);
  return DType::None;
}

/// Returns true if a number can be an element of this dtype, and reports an error otherwise.
bool Nodes::fits(const Frame& frame, double value, DType dtype, Span span) {
  std::string why;
  bool whole = std::isfinite(value) && value == std::floor(value);
  if (dtype == DType::Bool && value != 0 && value != 1)
    why = "a bool must be true or false";
  else if ((dtype == DType::I32 || dtype == DType::I64) && !whole)
    why = "expected an integer";
  else if (dtype == DType::I32 && (value < -2147483648.0 || value > 2147483647.0))
    why = "it does not fit 32 bits";
  else if (dtype == DType::I64 && std::fabs(value) > 9007199254740992.0)
    why = "floats are exact only up to 2 ** 53: write an integer";
  if (why.empty()) return true;
  report_.fail(frame, error(Code::dtype_mismatch, span, "{0} is not a value of {1}",
                            whole && std::fabs(value) < 0x1p62
                                ? std::to_string(static_cast<long long>(value))
                                : Value::of_float(value).text_form(),
                            dtype_name(dtype))
                          .mark(why));
  return false;
}

bool Nodes::weak_tensor(const Frame& frame, NodeId node, Span span, NodeId& out, DType want) {
  OpenType made = type(node);
  out = node;
  if (want == DType::None || want == made.dtype) return true;
  std::vector<double> values = graph_.attr(node, 0).reals;
  for (double value : values)
    if (!fits(frame, value, want, span)) return false;
  made.dtype = want;
  out = leaf(made, [&](const TensorType& t) { return graph_.constant(std::move(values), t); });
  return true;
}

/// Converts a value to a tensor: a tensor to itself, a literal to a constant.
bool Nodes::tensor(const Frame& frame, const Val& val, Span span, NodeId& out, DType want) {
  if (val.poison()) return false;
  if (val.is(Val::Kind::Tensor) && val.weak) return weak_tensor(frame, val.node, span, out, want);
  if (val.is(Val::Kind::Tensor)) return out = val.node, true;
  if (is_scalar(val) || val.is(Val::Kind::List)) return literal(frame, val, span, out, want);
  std::string help = val.is(Val::Kind::Tuple) ? "unpack the tuple: let (a, b) = …" : "";
  report_.fail(frame,
               error(Code::wrong_kind, span, "expected a tensor, got {0}", report_.describe(val))
                   .suggest(std::move(help)));
  return false;
}

bool Nodes::literal(const Frame& frame, const Val& val, Span span, NodeId& out, DType want) {
  Shape shape;
  std::vector<const Val*> elements;
  if (!elements_of(val, shape, elements)) {
    report_.fail(
        frame,
        error(Code::wrong_kind, span, "{0} is not a tensor literal", report_.describe(val))
            .suggest(
                "a tensor literal has rows of equal length, of numbers only; join tensors with "
                "`concat([a, b], axis = 0)`"));
    return false;
  }
  bool bools = llvm::all_of(elements, [](const Val* v) { return is_bool(*v); });
  DType dtype = want != DType::None ? want : bools ? DType::Bool : DType::F32;
  bool exact =
      dtype == DType::I64 && llvm::all_of(elements, [](const Val* v) { return v->integer(); });
  if (exact) {
    std::vector<int64_t> whole;
    whole.reserve(elements.size());
    for (const Val* v : elements) whole.push_back(v->value.number);
    return out = graph_.whole_constant(whole, {dtype, shape}), true;
  }
  std::vector<double> values;
  values.reserve(elements.size());
  for (const Val* v : elements) {
    if (is_bool(*v) != (dtype == DType::Bool)) {
      report_.fail(frame, error(Code::dtype_mismatch, span, "{0} is not a value of {1}",
                                report_.describe(*v), dtype_name(dtype)));
      return false;
    }
    if (v->is(Val::Kind::Open) && !is_float(dtype)) (void)settled(*v); // it has to be an integer
    values.push_back(number_of(*v));
    if (!fits(frame, values.back(), dtype, span)) return false;
  }
  out = graph_.constant(std::move(values), {dtype, shape});
  return true;
}

} // namespace tg::eval
