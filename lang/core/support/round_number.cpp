#include "lang/core/support/round_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace tg {

double round_number(double x, DType dtype) {
  if (dtype == DType::F32) return static_cast<double>(static_cast<float>(x));
  bool half = dtype == DType::F16;
  if (!std::isfinite(x) || x == 0 || (!half && dtype != DType::BF16)) return x;
  int digits = half ? 11 : 8, least = half ? -14 : -126; // of the significand; of a normal number
  int exponent = std::max(std::ilogb(x), least);
  double quantum = std::ldexp(1.0, exponent - digits + 1);
  double rounded = std::nearbyint(x / quantum) * quantum; // exact but for the rounding itself
  double beyond = half ? 0x1p16 : 0x1p128;
  return std::abs(rounded) >= beyond ? std::copysign(INFINITY, x) : rounded;
}

double shortest_number(double x, llvm::function_ref<bool(double)> alike) {
  for (int digits = 1; digits <= 9; ++digits) {
    char text[32];
    char* end =
        std::to_chars(text, std::end(text), x, std::chars_format::scientific, digits - 1).ptr;
    double number = x;
    std::from_chars(text, end, number);
    if (alike(number)) return number;
  }
  return x;
}

double shortest_number(double x, DType dtype) {
  bool narrow = dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
  if (!narrow || !std::isfinite(x) || x == 0) return x;
  double held = round_number(x, dtype);
  return shortest_number(held, [&](double number) { return round_number(number, dtype) == held; });
}

} // namespace tg
