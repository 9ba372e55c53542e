// How loops of operators are rounded up for the tuner, whose factors multiply to them exactly.
#pragma once

#include <cstdint>

namespace tg::cpu {

/// The least number that is no less and has no prime factor above 7.
int64_t smooth_from(int64_t number);
/// The largest divisor that is at most so much; 1 for less.
int64_t largest_divisor(int64_t number, int64_t most);

} // namespace tg::cpu
