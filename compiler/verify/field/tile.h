// A tile of sums of products over the field, to which the kernels of each instruction set add
// terms.
#pragma once

#include "compiler/verify/field/product.h"

namespace tg {

/// kRows x kColumns sums, each as low + 2^52 * high, low below 2^52.
struct FieldTile {
  static constexpr int64_t kRows = 4, kColumns = 6;
  static constexpr int64_t kTerms = 128; // limit for one call

  uint64_t low[kRows][kColumns * kFieldLanes] = {}, high[kRows][kColumns * kFieldLanes] = {};

  /// Adds `terms` products to each sum. `rows` points to the first terms of the rows; b[l *
  /// kColumns + j] is term l of column j. Factors are below 2^51, so `high` grows by less than
  /// 2^50 per term.
  using AddTerms = void (*)(const Field* const* rows, const Field* b, int64_t terms,
                            FieldTile& tile);
};

/// Computes one range of the product in tiles.
void multiply_tiled(const FieldProduct& product, FieldRange range, FieldTile::AddTerms add_terms);

#if defined(__x86_64__)
void add_terms_avx2(const Field* const* rows, const Field* b, int64_t terms, FieldTile& tile);
void add_terms_ifma(const Field* const* rows, const Field* b, int64_t terms, FieldTile& tile);
#endif

} // namespace tg
