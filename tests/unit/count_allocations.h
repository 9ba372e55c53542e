// Counts what a program asks of operator new, for tests of what allocates nothing. Include it in
// one file of a program. (SmallVector goes past it to malloc, when it grows.) AddressSanitizer has
// allocation functions of its own, of which these would replace only some.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
size_t allocations = 0;
}

#ifndef __SANITIZE_ADDRESS__
void* operator new(size_t size) {
  ++allocations;
  if (void* p = std::malloc(size ? size : 1)) return p;
  std::abort();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif
