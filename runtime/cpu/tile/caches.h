// Sizes of a core's caches, of which blocks are cut.
#pragma once

#include <cstdint>

namespace tg::tile {

/// Bytes: the first level for data, and the second.
struct Caches {
  int64_t first = 32 << 10, second = 512 << 10;
};

/// What the system says of this machine; the sizes above where it says nothing.
const Caches& caches();

} // namespace tg::tile
