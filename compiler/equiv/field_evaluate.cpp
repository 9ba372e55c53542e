// Blocks: all of a is taken apart once (20 bytes an element); of b, kFieldColumns columns and
// kTerms rows at a time, which stay in the second-level cache while all rows of a pass. A tile of
// kRows x kColumns sums stays in registers. Bounds: the limbs of a lazy value are below 2^21, 2^21
// and 2^19 + 1, so that at 3 its polynomial is below 2^23.7, a product below 2^47.3, and 2^16 of
// them below 2^63.3.
#include "compiler/equiv/field_evaluate.h"

#if defined(__x86_64__)

#include <algorithm>
#include <array>
#include <cstring>
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

constexpr int kPlanes = 5; // values at 0, 1, 2, 3 and infinity
constexpr int kLimb = 21;
constexpr int64_t kRows = 8, kVectors = 3, kColumns = kVectors * 8;
constexpr int64_t kPanels = kFieldColumns / kColumns;
constexpr int64_t kTerms = 384;       // summed at a time
constexpr int64_t kBlocksBefore = 96; // so many times kTerms, before sums are reduced
static_assert(kFieldColumns % kColumns == 0 && kTerms * (kBlocksBefore + 1) < 65536);

// --- coefficients -------------------------------------------------------------------------------

constexpr Field power(Field base, uint64_t exponent) {
  Field result{1};
  for (; exponent; exponent >>= 1, base = base * base)
    if (exponent & 1) result = result * base;
  return result;
}

/// c(X) of a polynomial c of degree 4 is the sum of these times its values: Lagrange's, where the
/// leading coefficient stands for the value at infinity and counts as X (X - 1) (X - 2) (X - 3).
constexpr std::array<Field, kPlanes> coefficients() {
  std::array<Field, kPlanes> all{};
  Field x{uint64_t{1} << kLimb};
  all[4] = Field{1};
  for (uint64_t i = 0; i < 4; ++i) {
    Field above{1}, below{1};
    for (uint64_t j = 0; j < 4; ++j) {
      if (j == i) continue;
      above = above * (x - Field{j});
      below = below * (Field{i} - Field{j});
    }
    all[i] = above * power(below, kFieldPrime - 2);
    all[4] = all[4] * (x - Field{i});
  }
  return all;
}

constexpr std::array<Field, kPlanes> kCoefficients = coefficients();

// --- taking apart -------------------------------------------------------------------------------

using Wide = uint64_t __attribute__((vector_size(64)));
using Narrow = uint32_t __attribute__((vector_size(32)));

template <class V, class T> V load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

/// The planes of eight values, `pitch` apart.
void evaluate(Wide x, uint32_t* out, int64_t pitch) {
  constexpr uint64_t kMask = (1 << kLimb) - 1;
  Wide a0 = x & kMask, a1 = x >> kLimb & kMask, a2 = x >> 2 * kLimb;
  Wide at1 = a0 + a1 + a2, at2 = at1 + a1 + 3 * a2, at3 = at2 + a1 + 5 * a2;
  for (Wide value : {a0, at1, at2, at3, a2}) {
    Narrow narrow = __builtin_convertvector(value, Narrow);
    std::memcpy(out, &narrow, sizeof narrow);
    out += pitch;
  }
}

/// One row of b in panels, [plane][panel][term][column]; `row` is filled up with zeros.
void pack_row(const Field* row, int64_t panels, int64_t term, uint32_t* out) {
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t v = 0; v < kVectors; ++v) {
      uint32_t* at = out + (panel * kTerms + term) * kColumns + v * 8;
      evaluate(load<Wide>(row + panel * kColumns + v * 8), at, kPanels * kTerms * kColumns);
    }
}

/// Eight rows of a, [plane][term][row] for each block of them; rows that are not there are zeros.
void pack_rows(const FieldProduct& product, int64_t first, uint32_t* out) {
  int64_t rows = std::min(kRows, product.m - first);
  for (int64_t l = 0; l < product.k; ++l) {
    uint64_t column[kRows] = {};
    for (int64_t r = 0; r < rows; ++r)
      column[r] = product.a[(first + r) * product.a_pitch + l].lazy;
    evaluate(load<Wide>(column), out + l * kRows, product.k * kRows);
  }
}

// --- products -----------------------------------------------------------------------------------

/// sums[r][c] += sum over terms of a[term][r] * b[term][c]; rows of sums lie kFieldColumns apart.
void tile(const uint64_t* a, const uint32_t* b, int64_t terms, uint64_t* sums) {
  __m512i acc[kRows][kVectors];
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t v = 0; v < kVectors; ++v)
      acc[r][v] = load<__m512i>(sums + r * kFieldColumns + v * 8);
  for (int64_t l = 0; l < terms; ++l) {
    Wide columns[kVectors];
    for (int64_t v = 0; v < kVectors; ++v)
      columns[v] = __builtin_convertvector(load<Narrow>(b + l * kColumns + v * 8), Wide);
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r) {
      __m512i row = _mm512_set1_epi64(static_cast<int64_t>(a[l * kRows + r]));
#pragma GCC unroll 3
      for (int64_t v = 0; v < kVectors; ++v)
        acc[r][v] = _mm512_madd52lo_epu64(acc[r][v], row, reinterpret_cast<__m512i>(columns[v]));
    }
  }
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t v = 0; v < kVectors; ++v)
      std::memcpy(sums + r * kFieldColumns + v * 8, &acc[r][v], sizeof acc[r][v]);
}

class Evaluated {
public:
  explicit Evaluated(const FieldProduct& product)
      : product_(product), blocks_((product.m + kRows - 1) / kRows),
        a_(static_cast<size_t>(blocks_ * kPlanes * product.k * kRows)),
        b_(static_cast<size_t>(kPlanes * kPanels * kTerms * kColumns)),
        sums_(static_cast<size_t>(kPlanes * blocks_ * kRows * kFieldColumns)) {
    for (int64_t block = 0; block < blocks_; ++block)
      pack_rows(product, block * kRows, a_.data() + block * kPlanes * product.k * kRows);
  }

  void run() {
    for (int64_t first = 0; first < product_.n; first += kFieldColumns) {
      int64_t count = std::min(kFieldColumns, product_.n - first);
      std::fill(sums_.begin(), sums_.end(), 0);
      for (int64_t l = 0, done = 0; l < product_.k; l += kTerms, ++done) {
        if (done == kBlocksBefore) reduce(done);
        add_terms(l, std::min(kTerms, product_.k - l), first, count);
      }
      for (int64_t i = 0; i < product_.m; ++i) interpolate(i, first, count);
    }
  }

private:
  uint64_t* sums_at(int plane, int64_t row) {
    return sums_.data() + (plane * blocks_ * kRows + row) * kFieldColumns;
  }

  /// Leaves less than kTerms products would add.
  void reduce(int64_t& done) {
    for (uint64_t& sum : sums_) sum = Field::fold(sum);
    done = 0;
  }

  void add_terms(int64_t l, int64_t terms, int64_t first, int64_t count) {
    Field row[kFieldColumns] = {};
    int64_t panels = (count + kColumns - 1) / kColumns;
    for (int64_t i = 0; i < terms; ++i) {
      product_.b(l + i, first, count, row);
      pack_row(row, panels, i, b_.data());
    }
    for (int plane = 0; plane < kPlanes; ++plane)
      for (int64_t block = 0; block < blocks_; ++block) {
        const uint32_t* a = a_.data() + ((block * kPlanes + plane) * product_.k + l) * kRows;
        std::copy_n(a, terms * kRows, wide_);
        for (int64_t panel = 0; panel < panels; ++panel)
          tile(wide_, b_.data() + (plane * kPanels + panel) * kTerms * kColumns, terms,
               sums_at(plane, block * kRows) + panel * kColumns);
      }
  }

  void interpolate(int64_t i, int64_t first, int64_t count) {
    Field results[kFieldColumns];
    for (int64_t j = 0; j < count; ++j) {
      WideProduct sum = 0;
      for (int plane = 0; plane < kPlanes; ++plane)
        sum += static_cast<WideProduct>(Field::fold(sums_at(plane, i)[j])) *
               kCoefficients[static_cast<size_t>(plane)].lazy;
      uint64_t low = static_cast<uint64_t>(sum) & kFieldPrime;
      auto high = static_cast<uint64_t>(sum >> 61); // < 2^64: five products below 2^122.1
      results[j] = {Field::fold(low + Field::fold(high))};
    }
    product_.store(i, first, {results, static_cast<size_t>(count)});
  }

  const FieldProduct& product_;
  int64_t blocks_; // of rows
  std::vector<uint32_t> a_, b_;
  std::vector<uint64_t> sums_; // [plane][row][column]
  alignas(64) uint64_t wide_[kTerms * kRows];
};

} // namespace

void multiply_evaluated(const FieldProduct& product) { Evaluated(product).run(); }

} // namespace tg

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
