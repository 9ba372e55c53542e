#include "runtime/cpu/tile/pack.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tg::tile {

namespace {

/// Sets to[column][row] = from[row][column], for eight of each.
#if defined(__x86_64__)
[[gnu::target("avx2")]] void transpose_8x8(float* to, int64_t to_step, const float* from,
                                           int64_t from_step) {
  __m256 a[8], b[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(from + i * from_step);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) { // pairs of rows
    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += i % 4 == 0 ? 1 : 3) { // groups of four
    a[2 * (i % 4) + i / 4 * 4] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
    a[2 * (i % 4) + i / 4 * 4 + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_step, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_step, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
  }
}
#else
void transpose_8x8(float* to, int64_t to_step, const float* from, int64_t from_step) {
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t k = 0; k < 8; ++k) to[k * to_step + i] = from[i * from_step + k];
}
#endif

/// Sets to[column * to_step + row] = m(row, column); columns of m are adjacent.
void transpose(float* to, int64_t to_step, const Matrix& m) {
  int64_t rows = m.rows / 8 * 8, columns = m.columns / 8 * 8;
  for (int64_t k = 0; k < columns; k += 8)
    for (int64_t i = 0; i < rows; i += 8)
      transpose_8x8(to + k * to_step + i, to_step, m.at + i * m.row_step + k, m.row_step);
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t k = i < rows ? columns : 0; k < m.columns; ++k)
      to[k * to_step + i] = m.at[i * m.row_step + k];
}

/// Copies columns [first, first + count) of w, `depth` rows of it, to rows of `width`.
void pack_columns(float* to, const Matrix& w, int64_t width, int64_t count) {
  if (w.column_step != 1 && w.row_step == 1) {
    transpose(to, width, {w.at, count, w.rows, w.column_step, 1});
  } else {
    for (int64_t k = 0; k < w.rows; ++k) {
      const float* from = w.at + k * w.row_step;
      float* row = to + k * width;
      if (w.column_step == 1 && count == 16)
        std::memcpy(row, from, 16 * sizeof(float)); // two instructions, no call
      else if (w.column_step == 1)
        std::memcpy(row, from, static_cast<size_t>(count) * sizeof(float));
      else
        for (int64_t j = 0; j < count; ++j) row[j] = from[j * w.column_step];
    }
  }
  for (int64_t k = 0; count < width && k < w.rows; ++k)
    std::fill(to + k * width + count, to + (k + 1) * width, 0.0f);
}

uint32_t pair_of(uint16_t first, uint16_t second) { return first | uint32_t{second} << 16; }

/// Sets to[j] = the pair of a[j] and b[j], for sixteen elements.
void zip_16(uint32_t* to, const uint16_t* a, const uint16_t* b) {
#if defined(__x86_64__)
  for (int j = 0; j < 16; j += 8) {
    __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + j));
    __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + j));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + j), _mm_unpacklo_epi16(first, second));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + j + 4), _mm_unpackhi_epi16(first, second));
  }
#else
  for (int j = 0; j < 16; ++j) to[j] = pair_of(a[j], b[j]);
#endif
}

/// Packs columns [0, count) of w to rows of `width` pairs; the last pair of an odd depth
/// has a zero.
void pack_pairs(uint32_t* to, const Bf16Matrix& w, int64_t width, int64_t count) {
  int64_t pairs = w.rows / 2;
  bool turned = w.column_step != 1 && w.row_step == 1; // pairs are adjacent already
  for (int64_t k = 0; k < (w.rows + 1) / 2; ++k) {
    uint32_t* row = to + k * width;
    const uint16_t *a = w.at + 2 * k * w.row_step, *b = a + w.row_step;
    int64_t j = 0;
    if (k < pairs && w.column_step == 1)
      for (; j + 16 <= count; j += 16) zip_16(row + j, a + j, b + j);
    if (k < pairs && turned)
      for (; j < count; ++j) std::memcpy(row + j, a + j * w.column_step, sizeof(uint32_t));
    for (; j < count; ++j)
      row[j] = pair_of(a[j * w.column_step], k < pairs ? b[j * w.column_step] : 0);
    std::fill(row + count, row + width, 0);
  }
}

} // namespace

void pack_panels(float* to, const Matrix& w, int64_t width, int64_t begin, int64_t end) {
  constexpr int64_t kRows = 64; // at a time: for each panel, as many pages of w are touched again
  for (int64_t k = 0; k < w.rows; k += kRows)
    for (int64_t panel = begin; panel < end; ++panel) {
      Matrix part = w;
      part.at += k * w.row_step + panel * width * w.column_step;
      part.rows = std::min(kRows, w.rows - k);
      pack_columns(to + ((panel - begin) * w.rows + k) * width, part, width,
                   std::min(width, w.columns - panel * width));
    }
}

void pack_panels(float* to, const Bf16Matrix& w, int64_t width, int64_t begin, int64_t end) {
  constexpr int64_t kRows = 64; // even: pairs stay whole
  int64_t cells = (w.rows + 1) / 2;
  for (int64_t k = 0; k < w.rows; k += kRows)
    for (int64_t panel = begin; panel < end; ++panel) {
      Bf16Matrix part = w;
      part.at += k * w.row_step + panel * width * w.column_step;
      part.rows = std::min(kRows, w.rows - k);
      float* cell = to + ((panel - begin) * cells + k / 2) * width;
      pack_pairs(reinterpret_cast<uint32_t*>(cell), part, width,
                 std::min(width, w.columns - panel * width));
    }
}

void copy_rows(float* to, int64_t to_row, const Matrix& x) {
  if (x.column_step != 1 && x.row_step == 1)
    return transpose(to, to_row, {x.at, x.columns, x.rows, x.column_step, 1});
  for (int64_t i = 0; i < x.rows; ++i) {
    const float* from = x.at + i * x.row_step;
    if (x.column_step == 1)
      std::memcpy(to + i * to_row, from, static_cast<size_t>(x.columns) * sizeof(float));
    else
      for (int64_t k = 0; k < x.columns; ++k) to[i * to_row + k] = from[k * x.column_step];
  }
}

void copy_rows(uint16_t* to, int64_t to_row, const Bf16Matrix& x) {
  for (int64_t i = 0; i < x.rows; ++i) {
    const uint16_t* from = x.at + i * x.row_step;
    if (x.column_step == 1)
      std::memcpy(to + i * to_row, from, static_cast<size_t>(x.columns) * sizeof(uint16_t));
    else
      for (int64_t k = 0; k < x.columns; ++k) to[i * to_row + k] = from[k * x.column_step];
  }
}

} // namespace tg::tile
