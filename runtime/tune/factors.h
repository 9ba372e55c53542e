// Divisors and factorizations of extents, in a fixed order.
#pragma once

#include "runtime/tune/operator.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::tune {

/// Returns the divisors in ascending order.
std::vector<int64_t> divisors(int64_t number);

/// Calls `visit` for every list of factors of `number`, one per extent,
/// each of which divides its extent. The order is lexicographical.
/// Stops when `visit` returns false.
void for_factorizations(int64_t number, llvm::ArrayRef<int64_t> extents,
                        llvm::function_ref<bool(const Extents&)> visit);

/// Calls `visit` for every list of divisors, one per extent, in lexicographical order.
void for_divisors(llvm::ArrayRef<int64_t> extents, llvm::function_ref<void(const Extents&)> visit);

/// Returns the divisors of `total` from `low` to `high`, in that direction,
/// which is descending if high < low. Bounds that are not integers are rounded outwards.
/// The first divisor beyond `high` is included if no divisor is in the range,
/// or if its ratio to `high` is at most that of the last divisor within.
/// Source: the authors' code of ETO (README). This rule determines the number of programs
/// that are tried.
std::vector<int64_t> dividers(double low, double high, int64_t total);

} // namespace tg::tune
