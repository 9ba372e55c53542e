// resize_impl.inc for AVX2. Only resize.cpp refers to this table, after asking the processor.
#include "runtime/cpu/resize/resize.h"

#include <immintrin.h>

#pragma GCC target("avx2,fma")
#define TG_LANES 8
#include "runtime/cpu/simd/simd_vector.inc"

namespace tg::cpu {
namespace {
TG_INLINE Vec gather(const float* x, IntVec at) {
  return reinterpret_cast<Vec>(_mm256_i32gather_ps(x, reinterpret_cast<__m256i>(at), 4));
}
TG_INLINE Vec pick(Vec low, IntVec at) {
  return reinterpret_cast<Vec>(
      _mm256_permutevar8x32_ps(reinterpret_cast<__m256>(low), reinterpret_cast<__m256i>(at)));
}
/// The bit above the lane number, moved to the sign, selects the vector.
TG_INLINE Vec pick(Vec low, Vec high, IntVec at) {
  return reinterpret_cast<Vec>(_mm256_blendv_ps(reinterpret_cast<__m256>(pick(low, at)),
                                                reinterpret_cast<__m256>(pick(high, at)),
                                                reinterpret_cast<__m256>(at << 28)));
}
TG_INLINE float total(Vec v) {
  __m256 all = reinterpret_cast<__m256>(v);
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
} // namespace
} // namespace tg::cpu

#include "runtime/cpu/resize/resize_impl.inc"

namespace tg::cpu {
const ResizeTable kResizeAvx2 = {"avx2", kLanes, true, sum_rows, columns, select_rows, pixels};
}
