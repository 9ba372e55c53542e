// Blocks: kTerms rows of b, of one range of columns, are packed into panels of kColumns; a tile of
// kRows x kColumns pairs of sums (of the low and of the high halves of the products) stays in
// registers. Bounds, for factors below 2^51: a low half is below 2^52, of which kTerms are below
// 2^60; a high half is below 2^50, so that kTermsBeforeFold of them and what was folded before are
// below 2^62: then low + 2^52 * high is below 2^114, 2^64 times the smallest prime, as
// FieldPoint::reduced wants it.
#include "compiler/equiv/field_product.h"

#if defined(__x86_64__)

#include <algorithm>
#include <vector>

#include <immintrin.h>

// Of what follows alone: inline functions of headers stay what every processor can run.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512ifma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512ifma")
#endif

namespace tg {

namespace {

constexpr int64_t kRows = 4, kVectors = 3, kColumns = kVectors * 2; // two elements a vector
constexpr int64_t kTerms = 128;
constexpr int64_t kTermsBeforeFold = 2048;
static_assert(kFieldColumns % kColumns == 0 && kFieldRows % kRows == 0 && sizeof(Field) == 32);
static_assert(kTerms <= 256 && kTermsBeforeFold + 2 < 4096);

/// Sums of a tile, as they lie in memory between blocks of terms.
struct Tile {
  uint64_t low[kRows][kColumns * kFieldLanes], high[kRows][kColumns * kFieldLanes];
};

template <class From> __m512i load(const From* from) { return _mm512_loadu_si512(from); }

/// `rows` holds the four rows' first terms; b is a packed panel.
void add_terms(const Field* const* rows, const Field* b, int64_t terms, Tile& tile) {
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
      __m512i carry = _mm512_srli_epi64(low[r][v], 52);
      _mm512_storeu_si512(tile.low[r] + v * 8, _mm512_and_si512(low[r][v], mask));
      _mm512_storeu_si512(tile.high[r] + v * 8, _mm512_add_epi64(high[r][v], carry));
    }
}

class Ifma {
public:
  Ifma(const FieldProduct& product, FieldRange range)
      : product_(product), range_(range), blocks_((range.rows + kRows - 1) / kRows),
        panels_((range.columns + kColumns - 1) / kColumns),
        b_(static_cast<size_t>(panels_ * kTerms * kColumns)), zeros_(static_cast<size_t>(kTerms)),
        tiles_(static_cast<size_t>(blocks_ * panels_), Tile{}) {}

  void run() {
    for (int64_t l = 0, since_fold = 0; l < product_.k; l += kTerms, since_fold += kTerms) {
      if (since_fold == kTermsBeforeFold) fold(since_fold);
      block(l, std::min(kTerms, product_.k - l));
    }
    for (int64_t i = 0; i < range_.rows; ++i) finish(i);
  }

private:
  Tile& tile(int64_t block, int64_t panel) {
    return tiles_[static_cast<size_t>(block * panels_ + panel)];
  }

  void block(int64_t l, int64_t terms) {
    Field row[kFieldColumns] = {};
    for (int64_t i = 0; i < terms; ++i) {
      product_.b(l + i, range_.column, range_.columns, row);
      for (int64_t panel = 0; panel < panels_; ++panel)
        std::copy_n(row + panel * kColumns, kColumns, b_.data() + (panel * kTerms + i) * kColumns);
    }
    for (int64_t panel = 0; panel < panels_; ++panel)
      for (int64_t block = 0; block < blocks_; ++block) {
        const Field* rows[kRows]; // those that are not there are zeros
        for (int64_t r = 0; r < kRows; ++r) {
          int64_t i = block * kRows + r;
          rows[r] = i < range_.rows ? product_.a + (range_.row + i) * product_.a_pitch + l
                                    : zeros_.data();
        }
        add_terms(rows, b_.data() + panel * kTerms * kColumns, terms, tile(block, panel));
      }
  }

  /// Brings the high halves below the primes.
  void fold(int64_t& since) {
    for (Tile& tile : tiles_)
      for (auto& row : tile.high)
        for (size_t i = 0; i < std::size(row); ++i) row[i] %= field_point.prime[i % kFieldLanes];
    since = 0;
  }

  void finish(int64_t i) {
    Field results[kFieldColumns];
    for (int64_t j = 0; j < range_.columns; ++j) {
      const Tile& sums = tile(i / kRows, j / kColumns);
      const uint64_t *low = sums.low[i % kRows], *high = sums.high[i % kRows];
      for (int64_t lane = 0; lane < kFieldLanes; ++lane) {
        int64_t at = j % kColumns * kFieldLanes + lane;
        results[j].lane[lane] = field_point.reduced(
            (static_cast<WideProduct>(high[at]) << 52) + low[at], static_cast<int>(lane));
      }
    }
    product_.store(range_.row + i, range_.column, {results, static_cast<size_t>(range_.columns)});
  }

  const FieldProduct& product_;
  FieldRange range_;
  int64_t blocks_, panels_;
  std::vector<Field> b_, zeros_;
  std::vector<Tile> tiles_;
};

} // namespace

void multiply_ifma(const FieldProduct& product, FieldRange range) { Ifma(product, range).run(); }

} // namespace tg

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
