// The semantics of pointwise operators at one element, over broadcast operands,
// and in a fused body. Included through impl.h.
#pragma once

#include "lang/core/formulas.h"
#include "lang/core/semantics/walk.h"

namespace tg {

/// The primitives of formulas. Inlined, so that nothing is looked up at run time
/// for a known operator.
template <class W> [[gnu::always_inline]] inline W primitive(OpKind op, const W* args) {
  switch (op) {
  case OpKind::Add: return args[0] + args[1];
  case OpKind::Sub: return args[0] - args[1];
  case OpKind::Mul: return args[0] * args[1];
  case OpKind::Div: return args[0] / args[1];
  case OpKind::Maximum: return Math<W>::maximum(args[0], args[1]);
  case OpKind::Identity: return args[0];
  case OpKind::Neg: return -args[0];
  case OpKind::Minimum:
  case OpKind::Pow:
  case OpKind::Mod:
  case OpKind::Less:
  case OpKind::LessEqual:
  case OpKind::Equal: return Math<W>::binary(op, args[0], args[1]);
  case OpKind::NotEqual:
    return Math<W>::integer(1) - Math<W>::binary(OpKind::Equal, args[0], args[1]);
  case OpKind::LogicalAnd: return args[0] * args[1];
  case OpKind::LogicalOr: return args[0] + args[1] - args[0] * args[1];
  case OpKind::LogicalNot: return Math<W>::integer(1) - args[0];
  case OpKind::Select: return Math<W>::select(args[0], args[1], args[2]);
  default: return Math<W>::unary(op, args[0]); // which asserts that there is no other
  }
}

/// The scalar of formulas for evaluation.
template <class W> struct Meaning {
  using Value = W;
  [[gnu::always_inline]] static W apply(OpKind op, const W* args) {
    return formulas::has(op) ? pointwise<W>(op, args) : primitive<W>(op, args);
  }
  static W literal(double x) { return Math<W>::literal(x); }
};

/// Evaluates the operator's formula, unless Math has a more precise form.
template <class W> W by_formula(OpKind op, const W* args) {
  if constexpr (requires { Math<W>::has_precise_form(op); })
    if (Math<W>::has_precise_form(op)) return Math<W>::unary(op, args[0]);
  return *formulas::value<Meaning<W>>(op, args);
}

template <class W> W pointwise(OpKind op, const W* args) {
  return formulas::has(op) ? by_formula<W>(op, args) : primitive<W>(op, args);
}

namespace semantics {

/// Returns a numeric attribute.
template <class W> W number(const Value& attr) {
  return attr.is(Value::Kind::Int) ? Math<W>::integer(attr.number) : Math<W>::literal(attr.real);
}

inline constexpr size_t kMaxArity = 3; // of operands

/// Attributes are numbers, after the operands.
template <class T>
void elementwise(OpKind op, AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands,
                 View<T> result) {
  using W = WideOf<T>;
  Rows rows(result.shape, shapes_of(operands));
  size_t second = operands.size() > 1 ? 1 : 0, third = operands.size() - 1;
  llvm::SmallVector<W, 2> numbers;
  for (const Value* attr : attrs) numbers.push_back(number<W>(*attr));
  rows.for_each([&](int64_t start) {
    const T* x = operands[0].data + rows.offset(0);
    const T* y = operands[second].data + rows.offset(second);
    const T* z = operands[third].data + rows.offset(third);
    int64_t step_x = rows.step(0), step_y = rows.step(second), step_z = rows.step(third);
    for (int64_t i = 0; i < rows.length(); ++i) {
      W args[kMaxArity] = {static_cast<W>(x[i * step_x]), static_cast<W>(y[i * step_y]),
                           static_cast<W>(z[i * step_z])};
      std::copy(numbers.begin(), numbers.end(), args + operands.size());
      result.data[start + i] = static_cast<T>(pointwise<W>(op, args));
    }
  });
}

/// Applies a function of the scalar to one operand.
template <class T, class F> void map(const ConstView<T>& x, View<T> result, F f) {
  for (int64_t i = 0, count = result.elements(); i < count; ++i)
    result.data[i] = static_cast<T>(f(static_cast<WideOf<T>>(x.data[i])));
}

/// Evaluates one block of a fused body: the stack holds blocks of kFusedBlock elements.
template <class T>
void fused_block(const FusedBody& body, llvm::ArrayRef<ConstView<T>> operands, const Rows& rows,
                 int64_t first, int64_t count, WideOf<T>* stack, T* out) {
  using W = WideOf<T>;
  W* top = stack; // after the last block on the stack
  for (const FusedInstr& instr : body.code) {
    if (instr.is_operand) {
      int64_t step = rows.step(instr.operand);
      const T* x = operands[instr.operand].data + rows.offset(instr.operand) + first * step;
      for (int64_t i = 0; i < count; ++i) top[i] = static_cast<W>(x[i * step]);
      top += kFusedBlock;
      continue;
    }
    int64_t arity = static_cast<int64_t>(op_info(instr.op).operand_count);
    top -= arity * kFusedBlock;
    const W* second = arity > 1 ? top + kFusedBlock : top;
    const W* third = top + (arity - 1) * kFusedBlock;
    for (int64_t i = 0; i < count; ++i) {
      W args[kMaxArity] = {top[i], second[i], third[i]};
      top[i] = pointwise<W>(instr.op, args);
    }
    top += kFusedBlock;
  }
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(stack[i]);
}

} // namespace semantics

} // namespace tg
