// AVX-512's 52-bit products: sums of the low and of the high halves stay in registers. A low half
// is below 2^52, so kTerms of them are below 2^60.
#include "compiler/verify/field/tile.h"

#if defined(__x86_64__)

#include <immintrin.h>

// Applies only to the code below: inline functions of headers must run on every processor.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512ifma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512ifma")
#endif

namespace tg {

namespace {

constexpr int64_t kRows = FieldTile::kRows, kColumns = FieldTile::kColumns;
constexpr int64_t kVectors = kColumns / 2; // two elements per vector

template <class From> __m512i load(const From* from) { return _mm512_loadu_si512(from); }

} // namespace

void add_terms_ifma(const Field* const* rows, const Field* b, int64_t terms, FieldTile& tile) {
  __m512i low[kRows][kVectors], high[kRows][kVectors];
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t v = 0; v < kVectors; ++v) {
      low[r][v] = load(tile.low[r] + v * 8);
      high[r][v] = load(tile.high[r] + v * 8);
    }
  for (int64_t l = 0; l < terms; ++l) {
    __m512i columns[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) columns[v] = load(b + l * kColumns + v * 2);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      __m512i row =
          _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[r] + l)));
#pragma GCC unroll 3
      for (int64_t v = 0; v < kVectors; ++v) {
        low[r][v] = _mm512_madd52lo_epu64(low[r][v], row, columns[v]);
        high[r][v] = _mm512_madd52hi_epu64(high[r][v], row, columns[v]);
      }
    }
  }
  const __m512i mask = _mm512_set1_epi64((int64_t{1} << 52) - 1);
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t v = 0; v < kVectors; ++v) {
      auto carry = reinterpret_cast<__m512i>(reinterpret_cast<__v8du>(low[r][v]) >> 52);
      _mm512_storeu_si512(tile.low[r] + v * 8, _mm512_and_si512(low[r][v], mask));
      _mm512_storeu_si512(tile.high[r] + v * 8, _mm512_add_epi64(high[r][v], carry));
    }
}

} // namespace tg

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
