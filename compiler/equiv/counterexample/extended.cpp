#include "compiler/equiv/counterexample/extended.h"

#include "lang/core/semantics/impl.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tg {

Extended Math<Extended>::literal(double value) {
  if (!std::isfinite(value)) return value;
  char text[64];
  auto end = std::to_chars(text, text + sizeof text - 1, value, std::chars_format::scientific);
  *end.ptr = 0;
  return std::strtold(text, nullptr);
}

Extended Math<Extended>::unary(OpKind op, Extended x) {
  switch (op) {
  case OpKind::Relu: return x < 0 ? 0 : x;
  case OpKind::Sigmoid: return 1 / (1 + std::exp(-x));
  case OpKind::Tanh: return std::tanh(x);
  case OpKind::Gelu: return x * (1 + std::erf(x / std::sqrt(2.0L))) / 2;
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
  case OpKind::Round: return std::nearbyint(x);
  case OpKind::Floor: return std::floor(x);
  case OpKind::Sign: return x > 0 ? 1 : x < 0 ? -1 : x;
  default: assert(false && "no unary pointwise operator"); return x;
  }
}

Extended Math<Extended>::maximum(Extended x, Extended y) {
  if (std::isnan(x)) return x;
  return x < y || std::isnan(y) ? y : x;
}

Extended Math<Extended>::binary(OpKind op, Extended x, Extended y) {
  switch (op) {
  case OpKind::Minimum: return -maximum(-x, -y);
  case OpKind::Pow: return std::pow(x, y);
  case OpKind::Mod: {
    Extended rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
  case OpKind::Less: return x < y;
  case OpKind::LessEqual: return x <= y;
  case OpKind::Equal: return x == y;
  default: assert(false && "no binary pointwise operator"); return x;
  }
}

Extended Math<Extended>::select(Extended condition, Extended x, Extended y) {
  return condition != 0 ? x : y;
}

Extended Math<Extended>::cast(DType to, Extended x) {
  if (to == DType::Bool) return x != 0;
  return is_integer(to) ? Math<double>::cast(to, static_cast<double>(std::trunc(x))) : x;
}

int64_t Math<Extended>::index(Extended x, int64_t size) {
  return x >= 0 && x < static_cast<Extended>(size) ? static_cast<int64_t>(x) : -1;
}

int64_t Math<Extended>::argmax(llvm::ArrayRef<Extended> values) {
  size_t best = 0;
  for (size_t i = 0; i < values.size() && !std::isnan(values[best]); ++i)
    if (values[i] > values[best] || std::isnan(values[i])) best = i;
  return static_cast<int64_t>(best);
}

Extended Math<Extended>::max_of(llvm::ArrayRef<Extended> values) {
  return values[static_cast<size_t>(argmax(values))];
}

Extended Math<Extended>::min_of(llvm::ArrayRef<Extended> values) {
  Extended best = values[0];
  for (Extended value : values.drop_front()) best = binary(OpKind::Minimum, best, value);
  return best;
}

bool Math<Extended>::above(Extended x, Extended y) {
  return std::isnan(x) ? !std::isnan(y) : x > y;
}

void Math<Extended>::softmax(llvm::MutableArrayRef<Extended> row) {
  Extended largest = max_of(row), total = 0;
  for (Extended& x : row) total += x = std::exp(x - largest);
  for (Extended& x : row) x /= total;
}

Extended Math<Extended>::whole_quotient(Extended quotient) {
  return std::isfinite(quotient) ? std::floor(quotient) : 0;
}

template void evaluate_op<Extended>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Extended>>,
                                    View<Extended>, llvm::MutableArrayRef<Extended>);

} // namespace tg
