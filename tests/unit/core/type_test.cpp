#include "lang/core/type.h"

#include "lang/core/support/round_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tg {
namespace {

/// Returns numbers that only this dtype holds: the largest, the smallest,
/// those with the most digits.
std::vector<long double> extremes(DType dtype) {
  switch (dtype) {
  case DType::F16: return {65504, 0x1p-24, INFINITY};
  case DType::BF16: return {0x1.fep127, 0x1p-133, INFINITY};
  case DType::F32: return {0x1.fffffep127, 0x1p-149, 16777215, INFINITY};
  case DType::F64: return {std::numeric_limits<double>::max(), 0x1p-1074, INFINITY};
  case DType::I32: return {0x7fffffff, -0x80000000LL};
  case DType::I64: return {0x7fffffffffffffffLL, -0x1p63};
  default: return {0, 1};
  }
}

bool holds(DType dtype, long double x) {
  if (is_float(dtype)) return round_number(static_cast<double>(x), dtype) == x;
  if (dtype == DType::Bool) return x == 0 || x == 1;
  long double limit = dtype == DType::I32 ? 0x1p31L : 0x1p63L;
  return x == std::floor(x) && x >= -limit && x < limit;
}

TEST(HoldsAll, IsTrueIfTheExtremesFit) {
  for (DType to : kAllDTypes)
    for (DType from : kAllDTypes) {
      bool all = true;
      for (long double x : extremes(from)) all &= holds(to, x);
      EXPECT_EQ(holds_all(to, from), all) << dtype_name(to).str() << " " << dtype_name(from).str();
    }
}

} // namespace
} // namespace tg
