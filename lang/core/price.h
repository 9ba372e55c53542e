// The largest price that a file may contain, in microseconds: 31 years.
// Sums of prices stay precise enough to compare, and linear programs over them stay within the
// range of their solver (CLP terminates the process at 1e25).
#pragma once

namespace tg {

inline constexpr double kMaxPrice = 1e15;

} // namespace tg
