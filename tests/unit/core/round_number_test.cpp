// Tests rounding to dtypes against the definition. Each f16 and each bf16, decoded from its bits,
// rounds to itself. A value between two neighbours rounds to the nearer one, and a tie to even.
#include "lang/core/support/round_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tg {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A format of 16 bits: a sign, the given number of exponent bits, and a significand.
struct Format {
  DType dtype;
  int exponent_bits;

  int digits() const { return 15 - exponent_bits; }
  /// The bits of infinity. Larger bits are NaNs; smaller bits are ordered like their numbers.
  uint32_t infinity() const { return ((1u << exponent_bits) - 1) << digits(); }

  /// Decodes bits without a sign. Infinity decodes to the number that would follow the largest.
  double decoded(uint32_t bits) const {
    int exponent = static_cast<int>(bits >> digits());
    int bias = (1 << (exponent_bits - 1)) - 1;
    double fraction = static_cast<double>(bits & ((1u << digits()) - 1)) / (1 << digits());
    return exponent == 0 ? std::ldexp(fraction, 1 - bias)
                         : std::ldexp(1 + fraction, exponent - bias);
  }
};

constexpr Format kFormats[] = {{DType::F16, 5}, {DType::BF16, 8}};

TEST(RoundNumber, EachNumberOf16BitsIsItself) {
  for (const Format& format : kFormats)
    for (uint32_t bits = 0; bits < format.infinity(); ++bits) {
      double x = format.decoded(bits);
      EXPECT_EQ(round_number(x, format.dtype), x);
      EXPECT_EQ(round_number(-x, format.dtype), -x);
    }
}

TEST(RoundNumber, BetweenTwoOf16BitsTheNearerAndInTheMiddleTheEven) {
  for (const Format& format : kFormats)
    for (uint32_t bits = 0; bits < format.infinity(); ++bits) {
      double low = format.decoded(bits), next = format.decoded(bits + 1);
      double high = bits + 1 == format.infinity() ? kInf : next;
      double middle = low + (next - low) / 2;
      for (double sign : {1.0, -1.0}) {
        auto rounded = [&](double x) { return sign * round_number(sign * x, format.dtype); };
        EXPECT_EQ(rounded(middle), bits % 2 == 0 ? low : high) << low;
        EXPECT_EQ(rounded(std::nextafter(middle, 0)), low);
        EXPECT_EQ(rounded(std::nextafter(middle, kInf)), high) << low;
      }
    }
}

TEST(RoundNumber, RoundsF32ToEvenSubnormalsAndInfinity) {
  auto f32 = [](double x) { return round_number(x, DType::F32); };
  EXPECT_EQ(f32(16777217), 16777216);
  EXPECT_EQ(f32(16777219), 16777220);
  EXPECT_EQ(f32(0x1p-149), 0x1p-149);
  EXPECT_EQ(f32(0x1p-150), 0); // halfway
  EXPECT_EQ(f32(0x1p-150 * 1.5), 0x1p-149);
  EXPECT_EQ(f32(0x1.fffffep127), 0x1.fffffep127);
  EXPECT_EQ(f32(0x1.fffffefffffffp127), 0x1.fffffep127);
  EXPECT_EQ(f32(0x1.ffffffp127), kInf); // halfway
  EXPECT_EQ(f32(-1e300), -kInf);
}

TEST(RoundNumber, ReturnsNumbersOfOtherDtypesUnchanged) {
  for (DType dtype : {DType::F64, DType::I32, DType::I64, DType::Bool})
    for (double x : {0.1, 0x1p-1074, 1e300, -kInf}) EXPECT_EQ(round_number(x, dtype), x);
}

TEST(RoundNumber, KeepsTheSignOfZeroAndNan) {
  for (DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    EXPECT_TRUE(std::signbit(round_number(-0.0, dtype)));
    EXPECT_FALSE(std::signbit(round_number(0.0, dtype)));
    EXPECT_TRUE(std::isnan(round_number(std::nan(""), dtype)));
    EXPECT_EQ(round_number(kInf, dtype), kInf);
    EXPECT_EQ(round_number(-kInf, dtype), -kInf);
  }
  for (DType dtype : {DType::F16, DType::BF16, DType::F32}) { // too small for these dtypes
    EXPECT_EQ(round_number(-1e-300, dtype), 0);
    EXPECT_TRUE(std::signbit(round_number(-1e-300, dtype)));
  }
}

TEST(RoundNumber, RoundsOnceFromDouble) {
  // Rounding by way of f32 would give a tie, which goes to the even one.
  EXPECT_EQ(round_number(1 + 0x1p-8 + 0x1p-40, DType::BF16), 1 + 0x1p-7);
  EXPECT_EQ(round_number(1 + 0x1p-11 + 0x1p-40, DType::F16), 1 + 0x1p-10);
}

TEST(ShortestNumber, IsHeldAlike) {
  EXPECT_EQ(shortest_number(static_cast<double>(0.1f), DType::F32), 0.1);
  EXPECT_EQ(shortest_number(static_cast<double>(0.1f), DType::F64), static_cast<double>(0.1f));
  EXPECT_EQ(shortest_number(round_number(1.0 / 3, DType::F16), DType::F16), 0.3333);
}

} // namespace
} // namespace tg
