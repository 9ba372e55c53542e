#include "compiler/equiv/field_product.h"

#include "compiler/equiv/field_evaluate.h"

#include <algorithm>
#include <vector>

namespace tg {

namespace {

constexpr int64_t kTermsOfWide = 32; // of 2^122 each: far below 2^128
constexpr int64_t kWideBlock = 4;    // columns that are summed together

/// A sum of up to kTermsOfWide products and what was folded before.
WideProduct fold(WideProduct sum) { return (sum & kFieldPrime) + (sum >> 61); }

Field reduced(WideProduct sum) {
  sum = fold(sum); // < 2^68
  return {Field::fold(static_cast<uint64_t>(fold(sum)))};
}

/// kWideBlock sums over k terms; b has as many elements a row.
void wide_sums(const Field* a, const Field* b, int64_t k, Field* out) {
  WideProduct sums[kWideBlock] = {};
  for (int64_t first = 0; first < k; first += kTermsOfWide) {
    for (int64_t l = first; l < std::min(first + kTermsOfWide, k); ++l)
      for (int64_t j = 0; j < kWideBlock; ++j)
        sums[j] += static_cast<WideProduct>(a[l].lazy) * b[l * kWideBlock + j].lazy;
    for (WideProduct& sum : sums) sum = fold(sum);
  }
  for (int64_t j = 0; j < kWideBlock; ++j) out[j] = reduced(sums[j]);
}

/// Columns first to first + count of b, in panels of kWideBlock, the last filled up with zeros.
void pack(const FieldProduct& product, int64_t first, int64_t count, std::vector<Field>& panels) {
  Field row[kFieldColumns + kWideBlock] = {};
  for (int64_t l = 0; l < product.k; ++l) {
    product.b(l, first, count, row);
    for (int64_t j = 0; j < count; j += kWideBlock)
      std::copy_n(row + j, kWideBlock, panels.data() + j * product.k + l * kWideBlock);
  }
}

void multiply_wide(const FieldProduct& product) {
  std::vector<Field> panels(static_cast<size_t>((kFieldColumns + kWideBlock) * product.k));
  Field sums[kFieldColumns + kWideBlock];
  for (int64_t first = 0; first < product.n; first += kFieldColumns) {
    int64_t count = std::min(kFieldColumns, product.n - first);
    pack(product, first, count, panels);
    for (int64_t i = 0; i < product.m; ++i) {
      for (int64_t j = 0; j < count; j += kWideBlock)
        wide_sums(product.a + i * product.a_pitch, panels.data() + j * product.k, product.k,
                  sums + j);
      product.store(i, first, {sums, static_cast<size_t>(count)});
    }
  }
}

} // namespace

bool has_field_path(FieldPath path) {
  if (path == FieldPath::Wide) return true;
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma");
#else
  return false;
#endif
}

void multiply(const FieldProduct& product, FieldPath path) {
#if defined(__x86_64__)
  if (path == FieldPath::Evaluate) return multiply_evaluated(product);
#endif
  multiply_wide(product);
}

// Interpolation costs as much as a few dozen terms; rows and columns are filled up to whole tiles.
void multiply(const FieldProduct& product) {
  static const bool can_evaluate = has_field_path(FieldPath::Evaluate);
  bool worth = product.k >= 24 && product.m >= 4 && product.n >= 8;
  multiply(product, can_evaluate && worth ? FieldPath::Evaluate : FieldPath::Wide);
}

} // namespace tg
