#include "compiler/rules/instances/partition.h"

#include <cmath>
#include <limits>

namespace tg {

namespace {

constexpr double kLeast =
    0x1p-10; // keeps ordinary numbers away from 0, so that quotients are moderate

/// Returns a number in (0, 1).
double unit(uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

double largest(DType dtype) {
  if (dtype == DType::F16) return 65504;
  if (dtype == DType::F64) return std::numeric_limits<double>::max();
  return dtype == DType::BF16 ? 0x1.fep127 : 0x1.fffffep127;
}

double smallest(DType dtype) {
  if (dtype == DType::F16) return 0x1p-24;
  if (dtype == DType::F64) return std::numeric_limits<double>::denorm_min();
  return dtype == DType::BF16 ? 0x1p-133 : 0x1p-149;
}

template <class Number, size_t N> Number pick(const Number (&from)[N], uint64_t bits) {
  return from[bits % N];
}

int64_t extreme(DType dtype, uint64_t bits) {
  using I32 = std::numeric_limits<int32_t>;
  using I64 = std::numeric_limits<int64_t>;
  constexpr int64_t kNarrow[] = {I32::min(), I32::max(), I32::min() + 1, I32::max() - 1,
                                 1 << 30,    -(1 << 30), (1 << 24) + 1,  -(1 << 24) - 1};
  constexpr int64_t kWide[] = {I64::min(),
                               I64::max(),
                               I64::min() + 1,
                               I64::max() - 1,
                               int64_t{1} << 62,
                               -(int64_t{1} << 62),
                               (int64_t{1} << 53) + 1,
                               -(int64_t{1} << 53) - 1,
                               int64_t{1} << 31,
                               -(int64_t{1} << 31) - 1};
  return dtype == DType::I32 ? pick(kNarrow, bits) : pick(kWide, bits);
}

int64_t out_of_range(DType dtype, int64_t limit, uint64_t bits) {
  const int64_t values[] = {-1, limit, limit + 1, -limit, limit + 7};
  return bits % 6 == 5 ? extreme(dtype, bits / 6) : values[bits % 6];
}

} // namespace

llvm::StringRef partition_name(Partition partition) {
  switch (partition) {
  case Partition::Ordinary: return "ordinary";
  case Partition::Positive: return "positive";
  case Partition::Negative: return "negative";
  case Partition::Zero: return "zero";
  case Partition::One: return "one";
  case Partition::Ties: return "ties";
  case Partition::Equal: return "equal";
  case Partition::Tiny: return "tiny";
  case Partition::Large: return "large";
  case Partition::Threshold: return "near the rule's own numbers";
  case Partition::Huge: return "huge";
  case Partition::Denormal: return "denormal";
  case Partition::Infinite: return "infinite";
  case Partition::NotANumber: return "NaN";
  case Partition::Extreme: return "at the ends of the dtype";
  case Partition::OutOfRange: return "out of range";
  }
  return "";
}

bool has_partition(DType dtype, bool index, Numerics numerics, Partition partition) {
  bool plain = partition == Partition::Ordinary || partition == Partition::Zero;
  if (dtype == DType::Bool) return plain || partition == Partition::One;
  if (index)
    return plain || partition == Partition::Equal || partition == Partition::Extreme ||
           partition == Partition::OutOfRange;
  switch (partition) {
  case Partition::Tiny:
  case Partition::Large: return is_float(dtype);
  case Partition::Huge:
  case Partition::Denormal:
  case Partition::Infinite:
  case Partition::NotANumber: return is_float(dtype) && numerics == Numerics::Exact;
  case Partition::Extreme: return is_integer(dtype);
  case Partition::OutOfRange: return false;
  default: return true;
  }
}

double number_in(Partition partition, DType dtype, uint64_t bits) {
  double u = unit(bits), sign = bits & 1 ? -1 : 1;
  double ordinary = std::max(u, kLeast);
  switch (partition) {
  case Partition::Positive: return ordinary;
  case Partition::Negative: return -ordinary;
  case Partition::Zero: return sign * 0.0;
  case Partition::One: return 1;
  case Partition::Ties: return static_cast<double>(static_cast<int64_t>((bits >> 1) % 5) - 2);
  case Partition::Tiny: return sign * ordinary * 1e-6;
  case Partition::Large: return sign * (1 + 29 * u);
  case Partition::Huge: return sign * largest(dtype) * ((1 + u) / 2);
  case Partition::Denormal:
    return sign * smallest(dtype) * static_cast<double>(1 + (bits >> 1) % 9);
  case Partition::Infinite: return sign * std::numeric_limits<double>::infinity();
  case Partition::NotANumber: return std::numeric_limits<double>::quiet_NaN();
  default: return sign * ordinary;
  }
}

int64_t integer_in(Partition partition, DType dtype, int64_t limit, uint64_t bits) {
  if (dtype == DType::Bool)
    return partition == Partition::Zero  ? 0
           : partition == Partition::One ? 1
                                         : static_cast<int64_t>(bits & 1);
  if (partition == Partition::Zero) return 0;
  if (partition == Partition::OutOfRange) return out_of_range(dtype, limit, bits);
  if (limit > 0 && partition == Partition::Extreme) return bits & 1 ? limit - 1 : 0;
  if (limit > 0) return static_cast<int64_t>(bits % static_cast<uint64_t>(limit));
  auto small = static_cast<int64_t>(bits % 9);
  switch (partition) {
  case Partition::Positive: return 1 + small;
  case Partition::Negative: return -1 - small;
  case Partition::One: return 1;
  case Partition::Ties: return small % 3 - 1;
  case Partition::Extreme: return extreme(dtype, bits);
  default: return small - 4;
  }
}

Partition partition_of(double number) {
  if (std::isnan(number)) return Partition::NotANumber;
  if (std::isinf(number)) return Partition::Infinite;
  if (number == 0) return Partition::Zero;
  if (number == 1) return Partition::One;
  double magnitude = std::abs(number);
  if (magnitude < 1e-5) return Partition::Tiny;
  if (magnitude > 10) return Partition::Large;
  return number < 0 ? Partition::Negative : Partition::Positive;
}

} // namespace tg
