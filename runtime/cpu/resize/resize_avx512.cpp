// resize_impl.inc for AVX-512. Only resize.cpp refers to this table, after asking the processor.
#include "runtime/cpu/resize/resize.h"

#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define TG_LANES 16
#include "runtime/cpu/simd/simd_vector.inc"

namespace tg::cpu {
namespace {
TG_INLINE Vec gather(const float* x, IntVec at) {
  return reinterpret_cast<Vec>(_mm512_i32gather_ps(reinterpret_cast<__m512i>(at), x, 4));
}
TG_INLINE Vec pick(Vec low, IntVec at) {
  return reinterpret_cast<Vec>(
      _mm512_permutexvar_ps(reinterpret_cast<__m512i>(at), reinterpret_cast<__m512>(low)));
}
TG_INLINE Vec pick(Vec low, Vec high, IntVec at) {
  return reinterpret_cast<Vec>(_mm512_permutex2var_ps(reinterpret_cast<__m512>(low),
                                                      reinterpret_cast<__m512i>(at),
                                                      reinterpret_cast<__m512>(high)));
}
TG_INLINE float total(Vec v) { return _mm512_reduce_add_ps(reinterpret_cast<__m512>(v)); }
} // namespace
} // namespace tg::cpu

#include "runtime/cpu/resize/resize_impl.inc"

namespace tg::cpu {
const ResizeTable kResizeAvx512 = {"avx512", kLanes, true, sum_rows, columns, select_rows, pixels};
}
