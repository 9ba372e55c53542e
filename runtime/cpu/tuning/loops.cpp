#include "runtime/cpu/tuning/loops.h"

#include "runtime/tune/factors.h"

namespace tg::cpu {

int64_t smooth_from(int64_t number) {
  for (;; ++number) {
    int64_t left = number;
    for (int64_t prime : {2, 3, 5, 7})
      while (left % prime == 0) left /= prime;
    if (left == 1) return number;
  }
}

int64_t largest_divisor(int64_t number, int64_t most) {
  int64_t found = 1;
  for (int64_t d : tune::divisors(number))
    if (d <= most) found = d;
  return found;
}

} // namespace tg::cpu
