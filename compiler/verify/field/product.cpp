#include "compiler/verify/field/product.h"

#include "compiler/verify/field/tile.h"
#include "lang/core/support/threads.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace tg {

namespace {

// Products are below 2^102. This many of them plus a folded sum are below 2^114, which is 2^64
// times the smallest prime.
constexpr int64_t kTermsOfWide = 2048;
constexpr int64_t kTermsWorthThreads = 1 << 20; // terms

/// Returns an equal sum modulo the prime, below 2^115, by reducing its high half.
WideProduct fold(WideProduct sum, int lane) {
  uint64_t high = static_cast<uint64_t>(sum >> 64) % field_point.prime[lane];
  return static_cast<WideProduct>(high) << 64 | static_cast<uint64_t>(sum);
}

/// Returns the sum over k terms.
Field wide_sum(const Field* a, const Field* b, int64_t k) {
  WideProduct sums[kFieldLanes] = {};
  for (int64_t first = 0; first < k; first += kTermsOfWide) {
    for (int64_t l = first; l < std::min(first + kTermsOfWide, k); ++l)
      for (int lane = 0; lane < kFieldLanes; ++lane)
        sums[lane] += static_cast<WideProduct>(a[l].lane[lane]) * b[l].lane[lane];
    for (int lane = 0; lane < kFieldLanes; ++lane) sums[lane] = fold(sums[lane], lane);
  }
  Field sum;
  for (int lane = 0; lane < kFieldLanes; ++lane)
    sum.lane[lane] = field_point.reduced(sums[lane], lane);
  return sum;
}

/// Multiplies with the columns of b stored one after the other.
void multiply_wide(const FieldProduct& product, FieldRange range) {
  std::vector<Field> columns(static_cast<size_t>(range.columns * product.k));
  Field row[kFieldColumns], sums[kFieldColumns];
  for (int64_t l = 0; l < product.k; ++l) {
    product.b(l, range.column, range.columns, row);
    for (int64_t j = 0; j < range.columns; ++j) columns[j * product.k + l] = row[j];
  }
  for (int64_t i = range.row; i < range.row + range.rows; ++i) {
    for (int64_t j = 0; j < range.columns; ++j)
      sums[j] =
          wide_sum(product.a + i * product.a_pitch, columns.data() + j * product.k, product.k);
    product.store(i, range.column, {sums, static_cast<size_t>(range.columns)});
  }
}

void multiply_range(const FieldProduct& product, FieldRange range, FieldPath path) {
  switch (path) {
#if defined(__x86_64__)
  case FieldPath::Ifma: return multiply_tiled(product, range, add_terms_ifma);
  case FieldPath::Avx2: return multiply_tiled(product, range, add_terms_avx2);
#endif
  default: return multiply_wide(product, range);
  }
}

/// Returns the fastest path of this processor.
FieldPath tiled_path() {
  for (FieldPath path : {FieldPath::Ifma, FieldPath::Avx2})
    if (has_field_path(path)) return path;
  return FieldPath::Wide;
}

std::vector<FieldRange> ranges_of(const FieldProduct& product) {
  std::vector<FieldRange> ranges;
  for (int64_t i = 0; i < product.m; i += kFieldRows)
    for (int64_t j = 0; j < product.n; j += kFieldColumns)
      ranges.push_back(
          {i, std::min(kFieldRows, product.m - i), j, std::min(kFieldColumns, product.n - j)});
  return ranges;
}

} // namespace

bool has_field_path(FieldPath path) {
  switch (path) {
#if defined(__x86_64__)
  case FieldPath::Ifma:
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma");
  case FieldPath::Avx2: return __builtin_cpu_supports("avx2");
#endif
  default: return path == FieldPath::Wide;
  }
}

void multiply(const FieldProduct& product, FieldPath path) {
  std::vector<FieldRange> ranges = ranges_of(product);
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < ranges.size() && !field_point.stop_requested();)
      multiply_range(product, ranges[i], path);
  };
  size_t helpers = std::min(static_cast<size_t>(std::max(field_point.threads, 1)), ranges.size());
  if (product.m * product.n * product.k < kTermsWorthThreads) helpers = 1;
  in_parts(helpers, [&, point = field_point](size_t) {
    FieldScope scope(point); // of this thread
    work();
  });
}

// Tiles are padded to whole rows and columns, so thin products do not pay.
void multiply(const FieldProduct& product) {
  static const FieldPath tiled = tiled_path();
  bool worth = product.k >= 8 && product.m >= 2 && product.n >= 3;
  multiply(product, worth ? tiled : FieldPath::Wide);
}

} // namespace tg
