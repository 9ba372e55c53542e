// The functions of Math (semantics.h) over a C++ floating-point type:
// those of float64, and of scalars with more digits. Included by the files that define such a Math,
// not by its users.
#pragma once

#include "lang/core/op.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tg {

template <class Real> struct RealFunctions {
  // NOLINTNEXTLINE(readability-function-size): a flat switch, one row for each function.
  static Real unary(OpKind op, Real x) {
    switch (op) {
    case OpKind::Relu: return x < 0 ? 0 : x; // a NaN is not below 0
    case OpKind::Abs: return std::abs(x);
    case OpKind::Sigmoid: return 1 / (1 + std::exp(-x));
    case OpKind::Tanh: return std::tanh(x);
    case OpKind::Gelu: return x * (1 + std::erf(x / std::sqrt(Real(2)))) / 2;
    case OpKind::Exp: return std::exp(x);
    case OpKind::Sqrt: return std::sqrt(x);
    case OpKind::Erf: return std::erf(x);
    case OpKind::Log: return std::log(x);
    case OpKind::Log1p: return std::log1p(x);
    case OpKind::Expm1: return std::expm1(x);
    case OpKind::Sin: return std::sin(x);
    case OpKind::Cos: return std::cos(x);
    case OpKind::Tan: return std::tan(x);
    case OpKind::Asin: return std::asin(x);
    case OpKind::Acos: return std::acos(x);
    case OpKind::Atan: return std::atan(x);
    case OpKind::Sinh: return std::sinh(x);
    case OpKind::Cosh: return std::cosh(x);
    case OpKind::Asinh: return std::asinh(x);
    case OpKind::Acosh: return std::acosh(x);
    case OpKind::Atanh: return std::atanh(x);
    case OpKind::Round: return std::nearbyint(x); // in the default rounding mode
    case OpKind::Floor: return std::floor(x);
    case OpKind::Sign: return x > 0 ? 1 : x < 0 ? -1 : x; // a NaN stays NaN
    default: assert(false && "not a unary pointwise operator"); return x;
    }
  }

  static Real maximum(Real x, Real y) {
    if (std::isnan(x)) return x;
    return x < y || std::isnan(y) ? y : x;
  }
  static Real minimum(Real x, Real y) {
    if (std::isnan(x)) return x;
    return y < x || std::isnan(y) ? y : x;
  }

  static Real binary(OpKind op, Real x, Real y) {
    switch (op) {
    case OpKind::Minimum: return minimum(x, y);
    case OpKind::Pow: return std::pow(x, y);
    case OpKind::Mod: {
      Real rest = std::fmod(x, y);
      return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
    }
    case OpKind::Less: return x < y;
    case OpKind::LessEqual: return x <= y;
    case OpKind::Equal: return x == y;
    default: assert(false && "not a binary pointwise operator"); return x;
    }
  }

  static int64_t index(Real x, int64_t size) { // NaN: -1
    return x >= 0 && x < static_cast<Real>(size) ? static_cast<int64_t>(x) : -1;
  }

  static int64_t argmax(llvm::ArrayRef<Real> values) {
    size_t best = 0;
    for (size_t i = 0; i < values.size() && !std::isnan(values[best]); ++i)
      if (values[i] > values[best] || std::isnan(values[i])) best = i;
    return static_cast<int64_t>(best);
  }
  static Real max_of(llvm::ArrayRef<Real> values) {
    Real best = values[0];
    for (Real value : values.drop_front()) best = maximum(best, value);
    return best;
  }
  static Real min_of(llvm::ArrayRef<Real> values) {
    Real best = values[0];
    for (Real value : values.drop_front()) best = minimum(best, value);
    return best;
  }
  static bool above(Real x, Real y) { return std::isnan(x) ? !std::isnan(y) : x > y; }

  static void softmax(llvm::MutableArrayRef<Real> row) {
    Real largest = max_of(row), total = 0;
    for (Real& x : row) total += x = std::exp(x - largest);
    for (Real& x : row) x /= total;
  }

  static Real whole_quotient(Real quotient) {
    return std::isfinite(quotient) ? std::floor(quotient) : 0;
  }
};

} // namespace tg
