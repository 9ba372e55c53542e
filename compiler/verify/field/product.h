// Matrix products over the field, where the time of exact checks of whole networks goes.
//
// An element is four residues below 2^51, side by side in memory, so that a register of 512 bits
// holds two elements. With AVX-512's 52-bit products (IFMA) a term of the four sums costs two
// multiply-and-adds of four numbers each: one adds up the low 52 bits of the products, one the high
// ones, and no carry is looked at before hundreds are summed. Each element of the result is then
// reduced, once (Montgomery 1985). With AVX2 alone, whose products are of 32 bits, a term costs
// four products and four sums of four numbers each. Elsewhere, and where a product is too small or
// too thin to be worth it, sums are taken over 128 bits.
//
// Large products are cut into ranges of rows and columns, which the point's threads share.
#pragma once

#include "compiler/verify/field/field.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tg {

/// result[i][j] = sum over l < k of a[i][l] * b[l][j], for i < m and j < n.
struct FieldProduct {
  int64_t m = 0, n = 0, k = 0;
  const Field* a = nullptr; // row i at a + i * a_pitch
  int64_t a_pitch = 0;
  /// Writes b[l][first] and so on, `count` elements, no more than kFieldColumns. Rows are asked for
  /// once for every range of columns and of kFieldRows rows, from several threads.
  llvm::function_ref<void(int64_t l, int64_t first, int64_t count, Field* out)> b;
  /// Takes result[i][first] and so on; each element is given once, from several threads.
  llvm::function_ref<void(int64_t i, int64_t first, llvm::ArrayRef<Field> sums)> store;
};

inline constexpr int64_t kFieldColumns = 120, kFieldRows = 256;

enum class FieldPath : uint8_t {
  Wide, // sums of 128 bits, on any processor
  Avx2, // limbs of 26 bits
  Ifma, // 52-bit products; wants AVX-512 IFMA
};

/// Whether this processor has what a path needs.
bool has_field_path(FieldPath path);

/// By the path that suits the processor and the sizes. If the point is asked to stop, some of the
/// results are never given.
void multiply(const FieldProduct& product);
/// By that path, which the processor has.
void multiply(const FieldProduct& product, FieldPath path);

/// A part of a product: rows of a and of the result, columns of b and of the result.
struct FieldRange {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

} // namespace tg
