#include "runtime/cpu/tile/caches.h"

#include <unistd.h>

namespace tg::tile {

namespace {

Caches read_caches() {
  Caches found;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0) found.first = bytes;
  if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) found.second = bytes;
#endif
  return found;
}

} // namespace

const Caches& caches() {
  static const Caches found = read_caches();
  return found;
}

} // namespace tg::tile
