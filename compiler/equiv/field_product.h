// Matrix products over the field, where the time of exact checks of whole networks goes.
//
// A residue of 61 bits is three limbs, a polynomial a(X) of degree 2 at X = 2^21, so that a product
// of two is a polynomial of degree 4, which its values at five points determine. Their values at 0,
// 1, 2, 3 and infinity have 24 bits, so that five matrices of small integers are multiplied instead
// of one of field elements (Toom 1963, Cook 1966): each product is one multiply-and-add of 64 bits,
// and no carry is looked at before 2^16 of them are summed. Each element of the result is then
// interpolated, once: a combination of five sums with fixed coefficients. With AVX-512's 52-bit
// products a core does some three elements a cycle. Elsewhere, and where a product is too small or
// too thin to be worth it, sums are taken over 128 bits and reduced every 32 terms.
#pragma once

#include "compiler/equiv/field.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg {

/// result[i][j] = sum over l < k of a[i][l] * b[l][j], for i < m and j < n.
struct FieldProduct {
  int64_t m = 0, n = 0, k = 0;
  const Field* a = nullptr; // row i at a + i * a_pitch
  int64_t a_pitch = 0;
  /// Writes b[l][first] and so on, `count` elements. Rows are asked for once for every range of
  /// columns; no more than kFieldColumns at a time.
  llvm::function_ref<void(int64_t l, int64_t first, int64_t count, Field* out)> b;
  /// Takes result[i][first] and so on; each element is given once.
  llvm::function_ref<void(int64_t i, int64_t first, llvm::ArrayRef<Field> sums)> store;
};

inline constexpr int64_t kFieldColumns = 120;

enum class FieldPath : uint8_t {
  Wide,     // sums of 128 bits, on any processor
  Evaluate, // five products of small integers; wants AVX-512 IFMA
};

/// Whether this processor has what a path needs.
bool has_field_path(FieldPath path);

/// By the path that suits the processor and the sizes.
void multiply(const FieldProduct& product);
/// By that path, which the processor has.
void multiply(const FieldProduct& product, FieldPath path);

} // namespace tg
