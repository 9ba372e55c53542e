// Tests conversions between dtypes: all values of the half types, and edge cases of the others.
#include "runtime/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tg {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T, class S> T cast(DType from, S value, DType to) {
  T out{};
  convert(from, reinterpret_cast<const std::byte*>(&value), to, reinterpret_cast<std::byte*>(&out),
          1);
  return out;
}

/// Decodes a half with this number of fraction bits, by its definition.
double half_value(uint32_t h, int fraction_bits) {
  int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = static_cast<int>(h >> fraction_bits) & ((1 << exponent_bits) - 1);
  double fraction = h & ((1u << fraction_bits) - 1), unit = std::ldexp(1, fraction_bits);
  double sign = h >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * kInf : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction / unit, 1 - bias);
  return sign * std::ldexp(1 + fraction / unit, exponent - bias);
}

TEST(Convert, EveryHalfIsReadAsItsDefinitionAndComesBack) {
  for (uint32_t h = 0; h < 0x10000; ++h)
    for (auto [dtype, bits] : {std::pair{DType::F16, 10}, std::pair{DType::BF16, 7}}) {
      double want = half_value(h, bits), got = 0;
      uint16_t in = static_cast<uint16_t>(h);
      widen(dtype, reinterpret_cast<const std::byte*>(&in), &got, 1);
      uint16_t back = 0;
      narrow(dtype, &got, reinterpret_cast<std::byte*>(&back), 1);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got) && std::isnan(half_value(back, bits))) << h;
      } else {
        EXPECT_EQ(got, want) << h;
        EXPECT_EQ(back, in) << h;
      }
    }
}

TEST(Convert, RoundsOnceToNearestEven) {
  for (auto [dtype, bits] : {std::pair{DType::F16, 10}, std::pair{DType::BF16, 7}}) {
    auto rounded = [&, d = dtype](double x) {
      uint16_t h = 0;
      narrow(d, &x, reinterpret_cast<std::byte*>(&h), 1);
      return h;
    };
    uint16_t one = rounded(1.0);
    double step = std::ldexp(1, -bits);
    EXPECT_EQ(rounded(1 + step / 2), one);                   // a tie: to even
    EXPECT_EQ(rounded(1 + 3 * step / 2), one + 2);           // a tie: to even, above
    EXPECT_EQ(rounded(1 + step / 2 + 0x1p-50), one + 1);     // not a tie, unlike in float
    EXPECT_EQ(rounded(1 + 3 * step / 2 - 0x1p-50), one + 1); // below the tie
    EXPECT_EQ(rounded(-0.0), 0x8000);
    EXPECT_TRUE(std::isinf(half_value(rounded(1e39), bits)));
  }
  EXPECT_EQ(cast<uint16_t>(DType::F32, 65519.0f, DType::F16), 0x7bff);
  EXPECT_EQ(cast<uint16_t>(DType::F32, 65520.0f, DType::F16), 0x7c00);
  EXPECT_EQ(cast<uint16_t>(DType::F32, 0x1p-25f, DType::F16), 0);   // a tie with 0
  EXPECT_EQ(cast<uint16_t>(DType::F32, 0x1.8p-25f, DType::F16), 1); // the smallest subnormal
}

TEST(Convert, IntegersSaturateFromFloatsAndWrapAmongThemselves) {
  EXPECT_EQ(cast<int32_t>(DType::F32, -1.9f, DType::I32), -1);
  EXPECT_EQ(cast<int32_t>(DType::F32, 3e9f, DType::I32), INT32_MAX);
  EXPECT_EQ(cast<int32_t>(DType::F32, -3e9f, DType::I32), INT32_MIN);
  EXPECT_EQ(cast<int64_t>(DType::F32, std::nanf(""), DType::I64), 0);
  EXPECT_EQ(cast<int64_t>(DType::F32, 1e30f, DType::I64), INT64_MAX);
  EXPECT_EQ(cast<int32_t>(DType::I64, (int64_t{1} << 32) + 5, DType::I32), 5);
  EXPECT_EQ(cast<uint8_t>(DType::F32, std::nanf(""), DType::Bool), 1);
  EXPECT_EQ(cast<uint8_t>(DType::I64, int64_t{1} << 40, DType::Bool), 1);
  EXPECT_EQ(cast<int32_t>(DType::Bool, uint8_t{1}, DType::I32), 1);
}

TEST(Convert, DoublesKeepAllTheirDigits) {
  double x = 1 + 0x1p-40;
  EXPECT_EQ(cast<double>(DType::F64, x, DType::F64), x);
  EXPECT_EQ(cast<double>(DType::F32, 0.1f, DType::F64), static_cast<double>(0.1f));
  EXPECT_EQ(cast<float>(DType::F64, x, DType::F32), 1.0f);
  EXPECT_EQ(cast<float>(DType::F64, 1e39, DType::F32), std::numeric_limits<float>::infinity());
  // Rounded once. By way of float it would become a tie.
  EXPECT_EQ(cast<uint16_t>(DType::F64, 1 + 0x1p-11 + 0x1p-50, DType::F16), 0x3c01);
  EXPECT_EQ(cast<int64_t>(DType::F64, -0x1p62 - 1024, DType::I64), -(int64_t{1} << 62) - 1024);
  EXPECT_EQ(cast<int32_t>(DType::F64, 2147483646.9, DType::I32), 2147483646);
  EXPECT_EQ(cast<int64_t>(DType::F64, std::nan(""), DType::I64), 0);
  EXPECT_EQ(cast<uint8_t>(DType::F64, 1e-300, DType::Bool), 1);
  EXPECT_EQ(cast<double>(DType::I64, (int64_t{1} << 53) - 1, DType::F64), 0x1p53 - 1);
  EXPECT_EQ(cast<double>(DType::I32, INT32_MAX, DType::F64), 2147483647.0);
  EXPECT_EQ(cast<double>(DType::Bool, uint8_t{1}, DType::F64), 1.0);
}

TEST(Convert, LongIntegersAreRoundedOnce) {
  // By way of double this would be a tie, which goes to the even 2^60 + 2^52.
  // The number is above it.
  int64_t above_tie = (int64_t{1} << 60) + (int64_t{1} << 52) + 1;
  float bf16_like = bf16_to_float(cast<uint16_t>(DType::I64, above_tie, DType::BF16));
  EXPECT_EQ(bf16_like, std::ldexp(1 + 0x1p-7, 60));
  EXPECT_EQ(cast<float>(DType::I64, INT64_MAX, DType::F32), 0x1p63f);
  EXPECT_EQ(cast<uint16_t>(DType::I64, int64_t{1} << 50, DType::F16), 0x7c00);
}

} // namespace
} // namespace tg
