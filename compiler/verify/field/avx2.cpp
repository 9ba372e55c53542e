// AVX2 has 32-bit products. Factors below 2^51 are split into 26 low and 25 high bits, so a term
// takes four products, whose three sums stay in registers. Each product is below 2^52, and so is
// the sum of the two middle ones, so kTerms of them are below 2^59.
#include "compiler/verify/field/tile.h"

#if defined(__x86_64__)

#include <immintrin.h>

// Applies only to the code below: inline functions of headers must run on every processor.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

namespace tg {

namespace {

constexpr int64_t kRows = FieldTile::kRows, kColumns = FieldTile::kColumns;
constexpr int64_t kSums = 4; // of a column, three registers each
constexpr int kLimb = 26;
static_assert(kFieldLanes == 4 && kRows % kSums == 0);

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
void store(void* to, __m256i x) { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }

struct Limbs {
  __m256i low, high;
};

Limbs limbs(const Field* from) {
  const __m256i mask = _mm256_set1_epi64x((int64_t{1} << kLimb) - 1);
  __m256i x = load(from);
  return {_mm256_and_si256(x, mask), _mm256_srli_epi64(x, kLimb)};
}

struct Sums {
  __m256i low, middle, high;

  void add(const Limbs& a, const Limbs& b) {
    auto plus = [](__m256i& sum, __m256i x, __m256i y) {
      sum = _mm256_add_epi64(sum, _mm256_mul_epu32(x, y));
    };
    plus(low, a.low, b.low);
    plus(middle, a.low, b.high);
    plus(middle, a.high, b.low);
    plus(high, a.high, b.high);
  }

  /// Adds the sums in halves of 52 bits.
  void add_to(uint64_t* to_low, uint64_t* to_high) const {
    const __m256i mask = _mm256_set1_epi64x((int64_t{1} << kLimb) - 1);
    const __m256i mask_low = _mm256_set1_epi64x((int64_t{1} << 2 * kLimb) - 1);
    __m256i shifted = _mm256_slli_epi64(_mm256_and_si256(middle, mask), kLimb);
    __m256i all = _mm256_add_epi64(_mm256_add_epi64(low, shifted), load(to_low));
    __m256i carry =
        _mm256_add_epi64(_mm256_srli_epi64(middle, kLimb), _mm256_srli_epi64(all, 2 * kLimb));
    store(to_low, _mm256_and_si256(all, mask_low));
    store(to_high, _mm256_add_epi64(_mm256_add_epi64(high, carry), load(to_high)));
  }
};

} // namespace

void add_terms_avx2(const Field* const* rows, const Field* b, int64_t terms, FieldTile& tile) {
  for (int64_t c = 0; c < kColumns; ++c)
    for (int64_t r = 0; r < kRows; r += kSums) {
      Sums sums[kSums];
#pragma GCC unroll 4
      for (Sums& sum : sums) sum.low = sum.middle = sum.high = _mm256_setzero_si256();
      for (int64_t l = 0; l < terms; ++l) {
        Limbs column = limbs(b + l * kColumns + c);
#pragma GCC unroll 4
        for (int64_t i = 0; i < kSums; ++i) sums[i].add(limbs(rows[r + i] + l), column);
      }
      for (int64_t i = 0; i < kSums; ++i)
        sums[i].add_to(tile.low[r + i] + c * kFieldLanes, tile.high[r + i] + c * kFieldLanes);
    }
}

} // namespace tg

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
