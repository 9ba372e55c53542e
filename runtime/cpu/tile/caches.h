// The sizes of a core's caches, from which block sizes follow.
#pragma once

#include <cstdint>

namespace tg::tile {

/// Bytes of the first-level data cache and the second-level cache.
struct Caches {
  int64_t first = 32 << 10, second = 512 << 10;
};

/// Returns the sizes that the system reports for this machine;
/// if it reports none, the defaults above.
const Caches& caches();

} // namespace tg::tile
