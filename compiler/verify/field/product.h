// Matrix products over the field, which take most of the time of exact checks of whole networks.
//
// An element is four residues below 2^51, adjacent in memory, so a 512-bit register holds two
// elements. With AVX-512's 52-bit products (IFMA) a term of the four sums takes two
// multiply-and-adds of four numbers each: one adds the low 52 bits of the products, one the high
// bits, and carries are handled only after hundreds of terms. Each element of the result is then
// reduced once (Montgomery 1985). With AVX2 alone, which has 32-bit products, a term takes four
// products and four sums of four numbers each. Other processors, and products too small or too thin
// to pay, use sums of 128 bits.
//
// Large products are split into ranges of rows and columns, which the point's threads share.
#pragma once

#include "compiler/verify/field/field.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg {

/// result[i][j] = sum over l < k of a[i][l] * b[l][j], for i < m and j < n.
struct FieldProduct {
  int64_t m = 0, n = 0, k = 0;
  const Field* a = nullptr; // row i at a + i * a_pitch
  int64_t a_pitch = 0;
  /// Writes b[l][first] and the following, `count` elements, at most kFieldColumns. Called once per
  /// row for every range of columns and of kFieldRows rows, from several threads.
  llvm::function_ref<void(int64_t l, int64_t first, int64_t count, Field* out)> b;
  /// Receives result[i][first] and the following; each element once, from several threads.
  llvm::function_ref<void(int64_t i, int64_t first, llvm::ArrayRef<Field> sums)> store;
};

inline constexpr int64_t kFieldColumns = 120, kFieldRows = 256;

enum class FieldPath : uint8_t {
  Wide, // sums of 128 bits, on any processor
  Avx2, // limbs of 26 bits
  Ifma, // 52-bit products; requires AVX-512 IFMA
};

/// Returns true if this processor supports a path.
bool has_field_path(FieldPath path);

/// Multiplies by the best path for the processor and the sizes. If the point's check is stopped,
/// some of the results are missing.
void multiply(const FieldProduct& product);
/// Multiplies by the given path, which the processor must support.
void multiply(const FieldProduct& product, FieldPath path);

/// A part of a product: rows of a and of the result, columns of b and of the result.
struct FieldRange {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

} // namespace tg
