// Counts the calls of operator new, for tests of code that must not allocate.
// Include it in one file of a program. (A growing SmallVector calls malloc instead.)
// AddressSanitizer has its own allocation functions, of which these would replace only some.
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
