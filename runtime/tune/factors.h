// Divisors and factorizations of extents, in a fixed order.
#pragma once

#include "runtime/tune/operator.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::tune {

/// Ascending.
std::vector<int64_t> divisors(int64_t number);

/// Calls `visit` for every list of factors of `number`, one for each of `extents`, each of which
/// divides its extent; in lexicographical order. Ends early where `visit` says false.
void for_factorizations(int64_t number, llvm::ArrayRef<int64_t> extents,
                        llvm::function_ref<bool(const Extents&)> visit);

/// Calls `visit` for every list of divisors, one of each of `extents`, in lexicographical order.
void for_divisors(llvm::ArrayRef<int64_t> extents, llvm::function_ref<void(const Extents&)> visit);

/// Divisors of `total` from `low` to `high` in the direction from one to the other, which is down
/// where high is less; bounds that no integer meets are rounded outwards. The first divisor beyond
/// `high` counts, too, if there is none within, or if it is as near to `high`, as a ratio, as the
/// last within. Source: the authors' code of ETO (README): it decides how many programs are tried.
std::vector<int64_t> dividers(double low, double high, int64_t total);

} // namespace tg::tune
