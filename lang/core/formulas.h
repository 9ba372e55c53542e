// The formulas of pointwise operators, each written once (CONTRIBUTING.md: "Add an operator").
//
// Operators are called by their kinds in ops.def, with attributes after operands;
// literals are numbers. A formula serves the reference kernels, constant folding,
// the exact checks and proofs, the CPU backend's vector programs and the CUDA source.
// If one of these has a better form, it uses that form instead.
//
// Invariant: over tensors, a formula is well typed like a model:
// conditions are comparisons, and no condition is added to a number.
#pragma once

#include "lang/core/formula.h"

#include <optional>

namespace tg::formulas {

#define TG_OP(...)
#define TG_POINTWISE(kind, ...) inline constexpr Call<OpKind::kind> kind;
#include "lang/core/ops.def"

struct None {};
/// The operator's formula, over its operands and then its attributes.
template <OpKind op> inline constexpr None of{};

template <> inline constexpr auto of<OpKind::Greater> = [](auto x, auto y) { return y < x; };
template <>
inline constexpr auto of<OpKind::GreaterEqual> = [](auto x, auto y) { return LessEqual(y, x); };
template <> inline constexpr auto of<OpKind::Abs> = [](auto x) { return Maximum(x, -x); };
template <> inline constexpr auto of<OpKind::Relu6> = [](auto x) { return Minimum(Relu(x), 6); };
template <> inline constexpr auto of<OpKind::Rsqrt> = [](auto x) { return 1 / Sqrt(x); };
template <>
inline constexpr auto of<OpKind::Clip> =
    [](auto x, auto low, auto high) { return Minimum(Maximum(x, low), high); };
template <> inline constexpr auto of<OpKind::Log1p> = [](auto x) { return Log(1 + x); };
template <> inline constexpr auto of<OpKind::Expm1> = [](auto x) { return Exp(x) - 1; };
// The division comes first, because x * 6 may overflow.
template <>
inline constexpr auto of<OpKind::Hardswish> = [](auto x) { return x * (Relu6(x + 3) / 6); };
template <>
inline constexpr auto of<OpKind::Softplus> = [](auto x) { return Relu(x) + Log1p(Exp(-Abs(x))); };
template <> inline constexpr auto of<OpKind::Mish> = [](auto x) { return x * Tanh(Softplus(x)); };
template <>
inline constexpr auto of<OpKind::Elu> =
    [](auto x, auto alpha) { return Select(x > 0, x, alpha * Expm1(x)); };

template <>
inline constexpr auto of<OpKind::LeakyRelu> =
    [](auto x, auto alpha) { return Select(x > 0, x, alpha * x); };
template <> inline constexpr auto of<OpKind::Ceil> = [](auto x) { return -Floor(-x); };
template <> inline constexpr auto of<OpKind::Tan> = [](auto x) { return Sin(x) / Cos(x); };
// Half angles: (1 - x) and (1 + x) are exact where the root is small.
template <>
inline constexpr auto of<OpKind::Asin> =
    [](auto x) { return 2 * Atan(x / (1 + Sqrt((1 - x) * (1 + x)))); };
template <>
inline constexpr auto of<OpKind::Acos> = [](auto x) { return 2 * Atan(Sqrt((1 - x) / (1 + x))); };
// Uses half of x, whose exponential does not overflow before the result does.
// e = u - 1 keeps the digits of a small x, and is taken only for numbers above 0.
template <>
inline constexpr auto of<OpKind::Sinh> = [](auto x) {
  auto e = Expm1(Abs(x) / 2);
  auto v = 1 / (e + 1);
  return Sign(x) * ((e + 1 + v) / 2 * (e * (1 + v)));
};
template <>
inline constexpr auto of<OpKind::Cosh> = [](auto x) {
  auto u = Exp(x / 2);
  auto v = 1 / u;
  return u * (u / 2) + v * (v / 2);
};
// Uses i = 1 / |x|, whose square vanishes where that of x overflows. Two forms:
// the first is exact for large x, the second keeps the digits of a small x.
template <>
inline constexpr auto of<OpKind::Asinh> = [](auto x) {
  auto a = Abs(x);
  auto i = 1 / a;
  auto root = Sqrt(1 + i * i);
  return Sign(x) * Select(a > 1, Log(a) + Log(1 + root), Log1p(a + a / (i + root)));
};
template <>
inline constexpr auto of<OpKind::Acosh> = [](auto x) { return 2 * Asinh(Sqrt((x - 1) / 2)); };
template <>
inline constexpr auto of<OpKind::Atanh> = [](auto x) {
  auto a = Abs(x);
  return Sign(x) * (Log1p(2 * a / (1 - a)) / 2);
};

// --- the values of formulas ----------------------------------------------------------------------

template <OpKind op>
inline constexpr bool kGiven = !std::is_same_v<std::remove_cv_t<decltype(of<op>)>, None>;

inline constexpr bool kHas[] = {
#define TG_OP(...) false,
#define TG_POINTWISE(kind, ...) kGiven<OpKind::kind>,
#include "lang/core/ops.def"
};
constexpr bool has(OpKind op) { return kHas[static_cast<size_t>(op)]; }

/// Returns the value over a scalar.
template <OpKind op, class Scalar>
constexpr typename Scalar::Value value(const typename Scalar::Value* args) {
  using N = Number<Scalar>;
  constexpr auto formula = of<op>;
  using F = decltype(formula);
  auto arg = [&](size_t i) { return N::of(args[i]); };
  if constexpr (std::is_invocable_v<F, N>)
    return formula(arg(0)).value();
  else if constexpr (std::is_invocable_v<F, N, N>)
    return formula(arg(0), arg(1)).value();
  else if constexpr (std::is_invocable_v<F, N, N, N>)
    return formula(arg(0), arg(1), arg(2)).value();
  else
    return formula(arg(0), arg(1), arg(2), arg(3)).value();
}

/// Returns nullopt for an operator without a formula.
template <class Scalar>
constexpr std::optional<typename Scalar::Value> value(OpKind op,
                                                      const typename Scalar::Value* args) {
  switch (op) {
#define TG_OP(...)
#define TG_POINTWISE(kind, ...)                                                                    \
  case OpKind::kind:                                                                               \
    if constexpr (kGiven<OpKind::kind>)                                                            \
      return value<OpKind::kind, Scalar>(args);                                                    \
    else                                                                                           \
      return std::nullopt;
#include "lang/core/ops.def"
  default: return std::nullopt;
  }
}

} // namespace tg::formulas
