// The path of field_product.h over small integers: internal to the products.
#pragma once

#include "compiler/equiv/field_product.h"

namespace tg {

#if defined(__x86_64__)
/// Wants AVX-512 with 52-bit products (IFMA).
void multiply_evaluated(const FieldProduct& product);
#endif

} // namespace tg
