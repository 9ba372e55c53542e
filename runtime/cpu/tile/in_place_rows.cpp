#include "runtime/cpu/tile/in_place_rows.h"

#include "runtime/cpu/tile/register_tile.h"

#include <algorithm>
#include <cassert>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tg::tile {

#if defined(__x86_64__)

#define TG_FMA [[gnu::target("avx2,fma")]]

namespace {

constexpr int64_t kStep = 8; // floats of a vector

/// Returns -1 for each of the first `count` lanes.
TG_FMA inline __m256i first_lanes(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Returns the sums of the lanes of four vectors.
TG_FMA inline __m128 lane_sums(const __m256 (&v)[4]) {
  __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
  return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}

/// Multiplies x by four rows of w, with two sums each to hide latency.
TG_FMA void dot_4(float* y, const float* x, const float* w, int64_t w_row, int64_t depth) {
  __m256 a[4] = {}, b[4] = {};
  int64_t k = 0;
  for (; k + 2 * kStep <= depth; k += 2 * kStep) {
    __m256 x0 = _mm256_loadu_ps(x + k), x1 = _mm256_loadu_ps(x + k + kStep);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      a[i] = _mm256_fmadd_ps(x0, _mm256_loadu_ps(w + i * w_row + k), a[i]);
      b[i] = _mm256_fmadd_ps(x1, _mm256_loadu_ps(w + i * w_row + k + kStep), b[i]);
    }
  }
  for (; k < depth; k += kStep) {
    __m256i some = first_lanes(depth - k);
    __m256 x0 = _mm256_maskload_ps(x + k, some);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      a[i] = _mm256_fmadd_ps(x0, _mm256_maskload_ps(w + i * w_row + k, some), a[i]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) a[i] = _mm256_add_ps(a[i], b[i]);
  _mm_storeu_ps(y, lane_sums(a));
}

TG_FMA float dot_1(const float* x, const float* w, int64_t depth) {
  float sums[4];
  dot_4(sums, x, w, 0, depth); // the same sums in the same order
  return sums[0];
}

/// Adds x[0 .. depth) times rows of w to `vectors` vectors of sums, the last of which
/// has `lanes` lanes.
template <int vectors>
TG_FMA inline void add_block(float* y, const float* x, const float* w, int64_t w_row, int64_t depth,
                             bool begins, int64_t lanes) {
  __m256i some = first_lanes(lanes);
  __m256 sums[vectors];
#pragma GCC unroll 8
  for (int i = 0; i < vectors; ++i)
    sums[i] = begins            ? _mm256_setzero_ps()
              : i + 1 < vectors ? _mm256_loadu_ps(y + i * kStep)
                                : _mm256_maskload_ps(y + i * kStep, some);
  for (int64_t k = 0; k < depth; ++k) {
    __m256 factor = _mm256_broadcast_ss(x + k);
    const float* row = w + k * w_row;
#pragma GCC unroll 8
    for (int i = 0; i + 1 < vectors; ++i)
      sums[i] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(row + i * kStep), sums[i]);
    constexpr int64_t last = (vectors - 1) * kStep;
    sums[vectors - 1] =
        _mm256_fmadd_ps(factor, _mm256_maskload_ps(row + last, some), sums[vectors - 1]);
  }
#pragma GCC unroll 8
  for (int i = 0; i + 1 < vectors; ++i) _mm256_storeu_ps(y + i * kStep, sums[i]);
  _mm256_maskstore_ps(y + (vectors - 1) * kStep, some, sums[vectors - 1]);
}

} // namespace

bool has_in_place_rows() { return processor_has(Isa::Avx2); }

void dot_rows(const InPlaceRows& rows, const float* w, int64_t w_row, int64_t depth, int64_t first,
              int64_t last) {
  int64_t j = first;
  for (; j + 4 <= last; j += 4)
    for (int64_t r = 0; r < rows.rows; ++r)
      dot_4(rows.y + r * rows.y_row + j, rows.x + r * rows.x_row, w + j * w_row, w_row, depth);
  for (; j < last; ++j)
    for (int64_t r = 0; r < rows.rows; ++r)
      rows.y[r * rows.y_row + j] = dot_1(rows.x + r * rows.x_row, w + j * w_row, depth);
}

void add_rows(const InPlaceRows& rows, const float* w, int64_t w_row, int64_t depth, int64_t first,
              int64_t last) {
  constexpr int64_t kDepth = 32, kColumns = 8 * kStep; // 8 KiB of w at a time
  for (int64_t j = first; j < last; j += kColumns)
    for (int64_t k = 0; k < depth; k += kDepth)
      for (int64_t r = 0; r < rows.rows; ++r) {
        int64_t count = std::min(kColumns, last - j), steps = std::min(kDepth, depth - k);
        float* y = rows.y + r * rows.y_row + j;
        const float *x = rows.x + r * rows.x_row + k, *from = w + k * w_row + j;
        int64_t lanes = (count - 1) % kStep + 1;
        switch ((count + kStep - 1) / kStep) {
        case 1: add_block<1>(y, x, from, w_row, steps, k == 0, lanes); break;
        case 2: add_block<2>(y, x, from, w_row, steps, k == 0, lanes); break;
        case 3: add_block<3>(y, x, from, w_row, steps, k == 0, lanes); break;
        case 4: add_block<4>(y, x, from, w_row, steps, k == 0, lanes); break;
        case 5: add_block<5>(y, x, from, w_row, steps, k == 0, lanes); break;
        case 6: add_block<6>(y, x, from, w_row, steps, k == 0, lanes); break;
        case 7: add_block<7>(y, x, from, w_row, steps, k == 0, lanes); break;
        default: add_block<8>(y, x, from, w_row, steps, k == 0, lanes); break;
        }
      }
}

#else

bool has_in_place_rows() { return false; }
void dot_rows(const InPlaceRows&, const float*, int64_t, int64_t, int64_t, int64_t) {
  assert(false && "has_in_place_rows() is false");
}
void add_rows(const InPlaceRows&, const float*, int64_t, int64_t, int64_t, int64_t) {
  assert(false && "has_in_place_rows() is false");
}

#endif

} // namespace tg::tile
