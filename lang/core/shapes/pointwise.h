// Rules of elementwise operators, with broadcasting; of leaves;
// and of operators with a rule of their own: the body of a fused_map and the type
// of an `extern op`.
#include "lang/core/const_math.h"
#include "lang/core/extern_signature.h"
#include "lang/core/fused_body.h"
#pragma once

#include "lang/core/shapes/attributes.h"
#include "lang/core/support/round_number.h"

#include <llvm/ADT/SmallBitVector.h>

#include <algorithm>

namespace tg::shapes {

template <class In> bool none(In&) { return true; }

template <class In> bool same(In& in) {
  in.result = in.type(0);
  return true;
}

template <class In> bool leaf(In& in) {
  in.result = in.attr(1).as_type();
  if constexpr (In::kOpen) return true; // its elements belong to the sample
  if (in.info.kind != OpKind::Constant) return true;
  if (in.attr(0).is(Value::Kind::Ints) || in.result.dtype == DType::I64)
    in.set(0, normal_numbers(closed(in.attr(0)), in.result.dtype));
  const Value& values = closed(in.attr(0));
  size_t count = values.ints.size() + values.reals.size();
  if (count != 1 && static_cast<int64_t>(count) != in.result.elements())
    return in.fail("got {0} values for {1}", count, in.result);
  for (double x : values.reals)
    if (Value number = Value::of_float(x); !literal_fits(number, in.result.dtype))
      return in.fail("{0} is not a value of {1}", number, dtype_name(in.result.dtype));
  return true;
}

template <class In> bool iota(In& in) {
  in.result = in.attr(0).as_type();
  int64_t axis = fixed(in.attr(1).number);
  if (!dtype_fits(in.info, in.result.dtype))
    return in.fail("iota requires numbers, got {0}", in.result);
  if (axis < -in.result.rank() || axis >= in.result.rank())
    return in.fail("`axis` = {0} is out of range for {1}", axis, in.result);
  if (axis < 0) in.set(1, In::Value::of_int(axis + in.result.rank()));
  return true;
}

template <class In> bool broadcast(In& in) {
  in.result.dtype = in.type(0).dtype;
  using Ints = llvm::ArrayRef<typename In::Int>;
  if (broadcast_together(Ints(in.type(0).shape), Ints(in.type(1).shape), in.result.shape))
    return true;
  return in.fail("shapes {0} and {1} do not broadcast", in.type(0).shape, in.type(1).shape);
}

template <class In> bool compare(In& in) {
  if (!broadcast(in)) return false;
  in.result.dtype = DType::Bool;
  return true;
}

template <class In> bool select(In& in) {
  using Ints = llvm::ArrayRef<typename In::Int>;
  const auto &condition = in.type(0), &x = in.type(1), &y = in.type(2);
  if (condition.dtype != DType::Bool)
    return in.fail("the condition of select must be bool, got {0}", condition);
  if (x.dtype != y.dtype)
    return in.fail("dtypes differ: {0} and {1}", dtype_name(x.dtype), dtype_name(y.dtype));
  typename In::Shape shape;
  in.result.dtype = x.dtype;
  if (!broadcast_together(Ints(x.shape), Ints(y.shape), shape))
    return in.fail("shapes {0} and {1} do not broadcast", x.shape, y.shape);
  if (broadcast_together(Ints(condition.shape), Ints(shape), in.result.shape)) return true;
  return in.fail("shapes {0} and {1} do not broadcast", condition.shape, shape);
}

template <class In> bool clip(In& in) {
  in.result = in.type(0);
  const Value &low = closed(in.attr(0)), &high = closed(in.attr(1));
  ConstNumber ordered;
  bool fits = fold(ConstOp::Le, *number_of(low), *number_of(high), ordered) == ConstFault::None;
  if (!fits || !ordered.number) // also for NaN
    return in.fail("`low` = {0} is above `high` = {1}", low, high);
  if (literal_fits(low, in.result.dtype) && literal_fits(high, in.result.dtype)) return true;
  return in.fail("the limits {0} and {1} are not values of {2}", in.attr(0), in.attr(1),
                 dtype_name(in.result.dtype));
}

template <class In> bool cast(In& in) {
  in.result = in.type(0);
  in.result.dtype = *parse_dtype(in.attr(0).text);
  return true;
}

/// Returns the dtype of the body's result, if all its operators accept their operands;
/// otherwise None, with the reason.
template <class In> DType body_dtype(const In& in, const FusedBody& body) {
  llvm::SmallVector<DType, 8> stack;
  for (const FusedInstr& instr : body.code) {
    if (instr.is_operand) {
      stack.push_back(in.type(instr.operand).dtype);
      continue;
    }
    const OpInfo& op = op_info(instr.op);
    llvm::ArrayRef<DType> args = llvm::makeArrayRef(stack).take_back(op.operand_count);
    if (op.shape == ShapeRule::select) {
      if (args[0] != DType::Bool) return in.fail("the condition of select must be bool"), DType{};
      args = args.drop_front();
    }
    DType dtype = args[0];
    for (DType arg : args)
      if (arg != dtype)
        return in.fail("dtypes differ: {0} and {1}", dtype_name(dtype), dtype_name(arg)), DType{};
    if (!dtype_fits(op, dtype))
      return in.fail("{0} does not take {1}", op.name, dtype_name(dtype)), DType{};
    if (instr.op == OpKind::Div && is_integer(dtype))
      return in.fail("a fused_map cannot divide integers"), DType{};
    stack.truncate(stack.size() - op.operand_count);
    stack.push_back(op.shape == ShapeRule::compare ? DType::Bool : dtype);
  }
  return stack.back();
}

template <class In> bool fused_map(In& in) {
  std::optional<FusedBody> body = parse_fused_body(in.attr(0).text);
  if (!body) return in.fail("{0} is not a body of a fused_map", in.attr(0));
  llvm::SmallBitVector used(static_cast<unsigned>(in.operands.size()));
  for (const FusedInstr& instr : body->code) {
    if (!instr.is_operand) continue;
    if (instr.operand >= in.operands.size())
      return in.fail("the body names operand ${0}, but there are {1}", instr.operand,
                     in.operands.size());
    used.set(instr.operand);
  }
  if (!used.all()) return in.fail("the body does not use operand ${0}", used.find_first_unset());
  in.set(0, Value::of_string(body->text()));
  in.result = in.type(0);
  if ((in.result.dtype = body_dtype(in, *body)) == DType::None) return false;
  for (size_t i = 1; i < in.operands.size(); ++i) {
    using Ints = llvm::ArrayRef<typename In::Int>;
    auto shape = in.result.shape;
    if (!broadcast_together(Ints(shape), Ints(in.type(i).shape), in.result.shape))
      return in.fail("shapes {0} and {1} do not broadcast", shape, in.type(i).shape);
  }
  return true;
}

template <class In> bool extern_op(In& in) {
  std::optional<ExternSignature> signature = ExternSignature::parse(in.attr(1).text);
  if (!signature) return in.fail("`{0}` is not the type of an operator", in.attr(1).text);
  llvm::SmallVector<TensorType, 4> operands;
  for (size_t i = 0; i < in.operands.size(); ++i) operands.push_back(closed(in.type(i)));
  std::string why;
  TensorType result;
  if (!signature->infer(operands, result, why)) return in.fail("{0}", why);
  in.result = result;
  return true;
}

} // namespace tg::shapes
