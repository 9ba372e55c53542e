// The shortest decimal text that reads as a double, as a rational number: what literals stand for
// in exact checks.
#pragma once

#include <cstdint>

namespace tg {

/// digits * 10^exponent, below 10^17 and without trailing zeros; 0 is 0 * 10^0.
struct Decimal {
  uint64_t digits = 0;
  int exponent = 0;
  bool negative = false;
};

Decimal decimal_of(double finite);

} // namespace tg
