#include "compiler/import/onnx/write/export_pointwise.h"

#include "lang/core/formula.h"

#include <cmath>
#include <limits>

namespace tg::onnx {

namespace {

using Operands = llvm::ArrayRef<Operand>;

/// An ONNX operator of the same meaning.
struct Direct {
  OpKind op;
  const char* name;
  bool floats_only = false; // integers are written in another way
  int since = 1;            // opset
};

constexpr Direct kDirect[] = {
    {OpKind::Add, "Add"},
    {OpKind::Sub, "Sub"},
    {OpKind::Mul, "Mul"},
    {OpKind::Div, "Div", true},
    {OpKind::Maximum, "Max"},
    {OpKind::Minimum, "Min"},
    {OpKind::Pow, "Pow"},
    {OpKind::Less, "Less"},
    {OpKind::LessEqual, "LessOrEqual"},
    {OpKind::Greater, "Greater"},
    {OpKind::GreaterEqual, "GreaterOrEqual"},
    {OpKind::Equal, "Equal"},
    {OpKind::LogicalAnd, "And"},
    {OpKind::LogicalOr, "Or"},
    {OpKind::LogicalNot, "Not"},
    {OpKind::Select, "Where"},
    {OpKind::Neg, "Neg"},
    {OpKind::Relu, "Relu", true},
    {OpKind::Sigmoid, "Sigmoid"},
    {OpKind::Tanh, "Tanh"},
    {OpKind::Gelu, "Gelu", true, 20},
    {OpKind::Exp, "Exp"},
    {OpKind::Sqrt, "Sqrt"},
    {OpKind::Erf, "Erf"},
    {OpKind::Abs, "Abs"},
    {OpKind::Sign, "Sign"},
    {OpKind::Floor, "Floor", true},
    {OpKind::Log, "Log"},
    {OpKind::Sin, "Sin"},
    {OpKind::Cos, "Cos"},
    {OpKind::Round, "Round", true},
    {OpKind::Ceil, "Ceil", true},
    {OpKind::Tan, "Tan"},
    {OpKind::Asin, "Asin"},
    {OpKind::Acos, "Acos"},
    {OpKind::Atan, "Atan"},
    {OpKind::Sinh, "Sinh"},
    {OpKind::Cosh, "Cosh"},
    {OpKind::Asinh, "Asinh"},
    {OpKind::Acosh, "Acosh"},
    {OpKind::Atanh, "Atanh"},
    {OpKind::Softplus, "Softplus"},
    {OpKind::Hardswish, "HardSwish", true, 14},
    {OpKind::Mish, "Mish", true, 18},
};

bool is_compare(OpKind op) { return op_info(op).shape == ShapeRule::compare; }

/// Writes one operator. All operands except a condition have the same dtype.
class Writer {
public:
  Writer(NodeWriter& nodes, DType dtype) : nodes_(nodes), dtype_(dtype) {}

  Result<Operand> write(OpKind op, Operands x, llvm::ArrayRef<Value> attrs);
  const Direct* direct(OpKind op) const;
  /// Returns true if it is written as one node.
  bool is_single(OpKind op) const;

private:
  Result<Operand> formula(const Formula& formula, Operands x, llvm::ArrayRef<Value> attrs);
  Operand clip(const Operand& x, const Value& low, const Value& high);
  Operand gelu(const Operand& x);
  Operand log1p(const Operand& x);
  Operand expm1(const Operand& x);
  Operand near_zero(const Operand& x, const Operand& there, const Operand& elsewhere);
  Operand floor_mod(const Operand& x, const Operand& y);
  Operand select_bool(const Operand& condition, const Operand& x, const Operand& y);
  Operand differ_in_sign(const Operand& x, const Operand& y);
  Operand whole_mod(const Operand& x, const Operand& y);
  Operand floor_quotient(const Operand& x, const Operand& y);
  Operand whole_quotient(const Operand& x, const Operand& y);

  Operand node(const char* type, Operands x, llvm::ArrayRef<Attr> attrs = {}) {
    return nodes_.node(type, x, dtype_, attrs);
  }
  Operand test(const char* type, Operands x) { return nodes_.node(type, x, DType::Bool); }
  Operand number(double value) { return nodes_.scalar(value, dtype_); }
  Operand number(const Value& attr) { return nodes_.scalar(attr, dtype_); }
  /// Returns true if a float attribute represents the number exactly enough; doubles may need
  /// more digits.
  bool holds_as_attribute(double x) const { return dtype_ != DType::F64 || as_float(x) == x; }

  NodeWriter& nodes_;
  DType dtype_;
};

const Direct* Writer::direct(OpKind op) const {
  for (const Direct& row : kDirect)
    if (row.op == op && nodes_.opset() >= row.since && (!row.floats_only || is_float(dtype_)) &&
        !(op == OpKind::Select && dtype_ == DType::Bool)) // ONNX Runtime lacks this Where
      return &row;
  return nullptr;
}

bool Writer::is_single(OpKind op) const {
  return direct(op) || op == OpKind::Identity || op == OpKind::Clip || op == OpKind::Relu6 ||
         op == OpKind::Elu || op == OpKind::LeakyRelu || op == OpKind::NotEqual;
}

/// Integers need no infinite limits. Floats do: without one a runtime clips to the largest
/// finite number.
Operand Writer::clip(const Operand& x, const Value& low, const Value& high) {
  auto limit = [&](const Value& value) {
    return std::isinf(value.real) && !is_float(dtype_) ? Operand{} : number(value);
  };
  return node("Clip", {x, limit(low), limit(high)});
}

/// Writes gelu before opset 20, in the form that runtimes recognise.
Operand Writer::gelu(const Operand& x) {
  Operand erf = node("Erf", {node("Div", {x, number(std::sqrt(2.0))})});
  Operand doubled = node("Mul", {x, node("Add", {erf, number(1)})});
  return node("Mul", {doubled, number(0.5)});
}

Operand Writer::near_zero(const Operand& x, const Operand& there, const Operand& elsewhere) {
  Operand near = test("Less", {node("Abs", {x}), number(0.5)});
  return node("Where", {near, there, elsewhere});
}

/// log(1 + x) loses the digits of a small x; 2 atanh(x / (x + 2)) is equal and keeps them.
Operand Writer::log1p(const Operand& x) {
  Operand ratio = node("Div", {x, node("Add", {x, number(2)})});
  Operand near = node("Mul", {node("Atanh", {ratio}), number(2)});
  return near_zero(x, near, node("Log", {node("Add", {x, number(1)})}));
}

/// exp(x) - 1 also loses digits; 2t / (1 - t) with t = tanh(x / 2) is equal and keeps them.
Operand Writer::expm1(const Operand& x) {
  Operand t = node("Tanh", {node("Mul", {x, number(0.5)})});
  Operand near = node("Div", {node("Mul", {t, number(2)}), node("Sub", {number(1), t})});
  return near_zero(x, near, node("Sub", {node("Exp", {x}), number(1)}));
}

/// For floats. ONNX's remainder has the sign of x and is exact; Tangram's has the sign of y.
Operand Writer::floor_mod(const Operand& x, const Operand& y) {
  Operand remainder = node("Mod", {x, y}, {Attr::whole("fmod", 1)});
  Operand signs = test("Xor", {test("Less", {remainder, number(0)}), test("Less", {y, number(0)})});
  Operand some = test("Not", {test("Equal", {remainder, number(0)})});
  return node("Where", {test("And", {signs, some}), node("Add", {remainder, y}), remainder});
}

Operand Writer::select_bool(const Operand& condition, const Operand& x, const Operand& y) {
  Operand first = node("And", {condition, x});
  return node("Or", {first, node("And", {node("Not", {condition}), y})});
}

bool may_be(const Operand& x, int64_t n) { return x.range.low <= n && n <= x.range.high; }

/// Writes a mask of the elements for which exactly one of x and y is below zero.
Operand Writer::differ_in_sign(const Operand& x, const Operand& y) {
  auto below = [&](const Operand& one) { return test("Less", {one, number(0)}); };
  if (y.range.low >= 0) return below(x);
  if (x.range.low >= 0) return below(y);
  return test("Xor", {below(x), below(y)});
}

/// Writes the remainder of integers. ONNX's has the sign of y, as ours, but y = 0 is undefined, and
/// processors trap for the smallest x and y = -1; ours is 0 in both cases.
Operand Writer::whole_mod(const Operand& x, const Operand& y) {
  if (!may_be(y, 0) && !may_be(y, -1)) return node("Mod", {x, y});
  Operand special = test("Or", {test("Equal", {y, number(0)}), test("Equal", {y, number(-1)})});
  return node("Mod", {x, node("Where", {special, number(1), y})});
}

/// Writes the quotient of integers for y other than 0 and -1. ONNX truncates it, we round it down.
Operand Writer::floor_quotient(const Operand& x, const Operand& y) {
  Operand cut = node("Div", {x, y});
  if (x.range.low >= 0 && y.range.low >= 0) return cut;
  Operand some = test("Not", {test("Equal", {node("Mod", {x, y}), number(0)})});
  Operand below = nodes_.cast(test("And", {some, differ_in_sign(x, y)}), dtype_);
  return node("Sub", {cut, below});
}

/// Writes the quotient of integers. Ours is 0 for y = 0. Processors cannot divide the smallest x by
/// -1.
Operand Writer::whole_quotient(const Operand& x, const Operand& y) {
  if (!may_be(y, 0) && !may_be(y, -1)) return floor_quotient(x, y);
  Operand zero = test("Equal", {y, number(0)}), minus = test("Equal", {y, number(-1)});
  Operand by = node("Where", {test("Or", {zero, minus}), number(1), y});
  by.range = {std::min<int64_t>(y.range.low, 1), std::max<int64_t>(y.range.high, 1)};
  Operand by_minus = node("Where", {minus, node("Neg", {x}), floor_quotient(x, by)});
  return node("Where", {zero, number(0), by_minus});
}

/// Writes the steps of a formula one after the other.
Result<Operand> Writer::formula(const Formula& formula, Operands x, llvm::ArrayRef<Value> attrs) {
  llvm::SmallVector<Operand, Formula::kMaxSteps> values;
  size_t argument = 0;
  for (const FormulaStep& step : formula.steps()) {
    if (step.kind == FormulaStep::Kind::Argument) {
      values.push_back(argument < x.size() ? x[argument] : number(attrs[argument - x.size()]));
      ++argument;
      continue;
    }
    if (step.kind == FormulaStep::Kind::Literal) {
      values.push_back(number(step.literal));
      continue;
    }
    llvm::SmallVector<Operand, 3> args;
    for (uint8_t i = 0; i < step.arity; ++i) args.push_back(values[step.args[i]]);
    TG_TRY(Operand value, write(step.op, args, {}));
    values.push_back(std::move(value));
  }
  return values.back();
}

Result<Operand> Writer::write(OpKind op, Operands x, llvm::ArrayRef<Value> attrs) {
  if (const Direct* row = direct(op))
    return nodes_.node(row->name, x, is_compare(op) ? DType::Bool : dtype_);
  switch (op) {
  case OpKind::Identity:
  case OpKind::Floor:
  case OpKind::Ceil:
  case OpKind::Round: return x[0]; // for integers
  case OpKind::NotEqual: return test("Not", {test("Equal", x)});
  case OpKind::Select: return select_bool(x[0], x[1], x[2]);
  case OpKind::Relu: return node("Max", {x[0], number(0)});
  case OpKind::Relu6: return clip(x[0], Value::of_float(0), Value::of_float(6));
  case OpKind::Clip: return clip(x[0], attrs[0], attrs[1]);
  case OpKind::Elu:
  case OpKind::LeakyRelu:
    if (!holds_as_attribute(attrs[0].real)) break;
    return node(op == OpKind::Elu ? "Elu" : "LeakyRelu", x, {Attr::real("alpha", attrs[0].real)});
  case OpKind::Gelu: return gelu(x[0]);
  case OpKind::Log1p: return log1p(x[0]);
  case OpKind::Expm1: return expm1(x[0]);
  case OpKind::Div: return whole_quotient(x[0], x[1]);
  case OpKind::Mod: return is_float(dtype_) ? floor_mod(x[0], x[1]) : whole_mod(x[0], x[1]);
  default: break;
  }
  if (const Formula* known = formula_of(op)) return formula(*known, x, attrs);
  return error(Code::unsupported, "`{0}` cannot be expressed in ONNX operators", op_info(op).name);
}

/// Returns x, or the nearest limit of `to` if x is out of its range; 0 for NaN.
Operand saturated_cast(NodeWriter& nodes, const Operand& x, DType to) {
  double limit = to == DType::I32 ? 0x1p31 : 0x1p63;
  int64_t most =
      to == DType::I32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  auto pick = [&](const Operand& condition, int64_t value, const Operand& otherwise) {
    return nodes.node("Where", {condition, nodes.whole_scalar(value, to), otherwise}, to);
  };
  Operand cut = nodes.node("Cast", {x}, to, {Attr::whole("to", data_type(to))});
  Operand above = nodes.node("GreaterOrEqual", {x, nodes.scalar(limit, x.dtype)}, DType::Bool);
  Operand below = nodes.node("Less", {x, nodes.scalar(-limit, x.dtype)}, DType::Bool);
  Operand nan = nodes.node("IsNaN", {x}, DType::Bool);
  return pick(nan, 0, pick(above, most, pick(below, -most - 1, cut)));
}

} // namespace

Result<Operand> write_pointwise(NodeWriter& nodes, OpKind op, Operands operands,
                                llvm::ArrayRef<Value> attrs) {
  DType dtype = operands.back().dtype; // the first operand of select is a condition
  bool half = is_half(dtype);
  if (!half || Writer(nodes, dtype).is_single(op))
    return Writer(nodes, dtype).write(op, operands, attrs);
  llvm::SmallVector<Operand, 3> wide;
  for (const Operand& x : operands)
    wide.push_back(is_float(x.dtype) ? nodes.cast(x, DType::F32) : x);
  TG_TRY(Operand result, Writer(nodes, DType::F32).write(op, wide, attrs));
  if (result.dtype != DType::F32) return result;
  return nodes.node("Cast", {result}, dtype, {Attr::whole("to", data_type(dtype))});
}

Operand write_cast(NodeWriter& nodes, const Operand& x, DType to) {
  if (x.dtype == to) return x;
  if (!is_float(x.dtype) || !is_integer(to))
    return nodes.node("Cast", {x}, to, {Attr::whole("to", data_type(to))});
  return saturated_cast(nodes, is_half(x.dtype) ? nodes.cast(x, DType::F32) : x, to);
}

} // namespace tg::onnx
