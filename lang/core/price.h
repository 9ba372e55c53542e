// The largest price that any file may state, in microseconds: 31 years. Sums of prices stay exact
// enough to compare, and linear programs over them within what their solver takes (CLP ends the
// process at 1e25).
#pragma once

namespace tg {

inline constexpr double kMaxPrice = 1e15;

} // namespace tg
