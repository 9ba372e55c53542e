
#include "runtime/cpu/parallel.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace tg::cpu {

bool take_denormal_flag() {
#if defined(__SSE__)
  constexpr unsigned kDenormalOperand = 1 << 1;
  unsigned flags = _mm_getcsr();
  _mm_setcsr(flags & ~kDenormalOperand);
  return (flags & kDenormalOperand) != 0;
#else
  return false;
#endif
}

} // namespace tg::cpu
