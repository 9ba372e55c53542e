#include "compiler/equiv/field/decimal.h"

#include <charconv>
#include <cmath>

namespace tg {

/// The text is d.ddd...e±xx.
Decimal decimal_of(double finite) {
  char text[64];
  auto end =
      std::to_chars(text, text + sizeof text, std::abs(finite), std::chars_format::scientific);
  Decimal decimal;
  decimal.negative = std::signbit(finite);
  int behind_point = 0;
  bool point = false;
  for (const char* c = text; c != end.ptr; ++c) {
    if (*c == 'e') {
      std::from_chars(c + (c[1] == '+' ? 2 : 1), end.ptr, decimal.exponent);
      break;
    }
    if (*c == '.') {
      point = true;
      continue;
    }
    decimal.digits = decimal.digits * 10 + static_cast<uint64_t>(*c - '0');
    behind_point += point;
  }
  decimal.exponent -= behind_point;
  while (decimal.digits != 0 && decimal.digits % 10 == 0) {
    decimal.digits /= 10;
    ++decimal.exponent;
  }
  if (decimal.digits == 0) decimal.exponent = 0;
  return decimal;
}

} // namespace tg
