// Rounds up loops of operators for the tuner, whose factors multiply to them exactly.
#pragma once

#include <cstdint>

namespace tg::cpu {

/// Returns the least number that is at least `number` and has no prime factor above 7.
int64_t smooth_from(int64_t number);
/// Returns the largest divisor that is at most `most`; at least 1.
int64_t largest_divisor(int64_t number, int64_t most);

} // namespace tg::cpu
