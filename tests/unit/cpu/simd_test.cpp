// Tests the vector primitives of each instruction set of this processor: accuracy against float64,
// special values, tails of every length, and results written over operands.
#include "runtime/cpu/simd/simd.h"

#include "runtime/convert.h"

#include <gtest/gtest.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <vector>

namespace tg::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class Simd : public testing::TestWithParam<int> {
protected:
  const SimdTable& table() const { return *simd_tables().tables[GetParam()]; }
  float unary(Instr instr, float x) const {
    float out = 0;
    table().apply(instr, &out, &x, nullptr, nullptr, 1);
    return out;
  }
};

struct Function {
  Instr instr;
  double (*exact)(double);
  double tolerance; // relative to the exact value
};
const Function kFunctions[] = {
    {Instr::Exp, [](double x) { return std::exp(x); }, 2e-7},
    {Instr::Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 3e-7},
    {Instr::Tanh, [](double x) { return std::tanh(x); }, 4.5e-7},
    {Instr::Erf, [](double x) { return std::erf(x); }, 4.5e-7},
};

TEST_P(Simd, FunctionsAreAccurateToAFewUlp) {
  for (const Function& f : kFunctions)
    for (float x = -85; x < 85; x += 0.00391f) {
      double exact = f.exact(static_cast<double>(x));
      ASSERT_NEAR(unary(f.instr, x) / exact, 1, f.tolerance) << int(f.instr) << " at " << x;
    }
}

TEST_P(Simd, FunctionsAreAccurateNearZero) {
  for (const Function& f : kFunctions)
    for (float x = 1e-30f; x < 1; x *= 1.7f)
      ASSERT_NEAR(unary(f.instr, x) / f.exact(static_cast<double>(x)), 1, f.tolerance) << x;
}

TEST_P(Simd, Log1pAndExpm1KeepTheDigitsOfTinyArguments) {
  for (float size = 1e-38f; size < 80; size *= 1.013f)
    for (float x : {size, -size}) {
      double v = static_cast<double>(x);
      ASSERT_NEAR(unary(Instr::Expm1, x) / std::expm1(v), 1, 5e-7) << x;
      if (x <= -1) continue;
      ASSERT_NEAR(unary(Instr::Log1p, x) / std::log1p(v), 1, 5e-7) << x;
    }
  EXPECT_EQ(unary(Instr::Log1p, -1), -kInf);
  EXPECT_EQ(unary(Instr::Log1p, kInf), kInf);
  EXPECT_NEAR(unary(Instr::Log1p, 3e38f), std::log(3e38), 1e-4);
  EXPECT_TRUE(std::isnan(unary(Instr::Log1p, -2)));
  EXPECT_EQ(unary(Instr::Expm1, kInf), kInf);
  EXPECT_EQ(unary(Instr::Expm1, -kInf), -1);
  EXPECT_EQ(unary(Instr::Expm1, 0), 0);
  EXPECT_EQ(unary(Instr::Log1p, 0), 0);
}

TEST_P(Simd, AtanIsAccurate) {
  for (float size = 1e-38f; size < 3e38f; size *= 1.013f)
    for (float x : {size, -size})
      ASSERT_NEAR(unary(Instr::Atan, x) / std::atan(static_cast<double>(x)), 1, 2.5e-7) << x;
  EXPECT_EQ(unary(Instr::Atan, 0), 0);
  EXPECT_NEAR(unary(Instr::Atan, kInf), std::acos(0.0), 1e-7);
  EXPECT_NEAR(unary(Instr::Atan, -kInf), -std::acos(0.0), 1e-7);
}

TEST_P(Simd, RoundsHalvesToEven) {
  for (float x = -40.25f; x < 40; x += 0.125f) EXPECT_EQ(unary(Instr::Round, x), std::nearbyint(x));
  for (float x : {1e10f, -3e38f, 8388607.5f, 0.49999997f, kInf, -kInf})
    EXPECT_EQ(unary(Instr::Round, x), std::nearbyint(x)) << x;
}

TEST_P(Simd, GeluIsAccurateToTheScaleOfItsArgument) {
  for (float x = -20; x < 20; x += 0.0037f) {
    double v = static_cast<double>(x), exact = v * (1 + std::erf(v / std::sqrt(2.0))) / 2;
    ASSERT_NEAR(unary(Instr::Gelu, x), exact, 3e-7 * std::max(1.0, std::abs(v))) << x;
  }
}

TEST_P(Simd, LimitsOfExp) {
  EXPECT_EQ(unary(Instr::Exp, 200), kInf);
  EXPECT_EQ(unary(Instr::Exp, kInf), kInf);
  EXPECT_EQ(unary(Instr::Exp, -200), 0);
  EXPECT_EQ(unary(Instr::Exp, -kInf), 0);
  EXPECT_GT(unary(Instr::Exp, -103), 0) << "subnormal results are kept";
  EXPECT_TRUE(std::isfinite(unary(Instr::Exp, 88.7f)));
}

TEST_P(Simd, InfinitiesSaturate) {
  EXPECT_EQ(unary(Instr::Tanh, kInf), 1);
  EXPECT_EQ(unary(Instr::Tanh, -kInf), -1);
  EXPECT_EQ(unary(Instr::Sigmoid, -kInf), 0);
  EXPECT_EQ(unary(Instr::Sigmoid, kInf), 1);
  EXPECT_EQ(unary(Instr::Erf, -kInf), -1);
  for (float x = 4; x < 20; x += 0.01f) ASSERT_EQ(unary(Instr::Erf, x), 1) << x;
  for (float x = 0; x < 20; x += 0.01f) ASSERT_LE(unary(Instr::Tanh, x), 1) << x;
}

TEST_P(Simd, NanStaysNan) {
  for (Instr instr : {Instr::Copy, Instr::Neg, Instr::Relu, Instr::Sigmoid, Instr::Tanh,
                      Instr::Gelu, Instr::Exp, Instr::Sqrt, Instr::Erf, Instr::Log1p, Instr::Expm1,
                      Instr::Atan, Instr::Round, Instr::Swish, Instr::Hardswish})
    EXPECT_TRUE(std::isnan(unary(instr, kNan))) << int(instr);
  float a = kNan, b = 1, out = 0;
  table().apply(Instr::Maximum, &out, &a, &b, nullptr, 1);
  EXPECT_TRUE(std::isnan(out));
  table().apply(Instr::Maximum, &out, &b, &a, nullptr, 1);
  EXPECT_TRUE(std::isnan(out));
}

TEST_P(Simd, EveryTailLengthAndNothingBehindIt) {
  for (int64_t n = 1; n < 70; ++n) {
    std::vector<float> a(80), b(80), c(80), out(80, -7);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = 0.25f * static_cast<float>(i) - 3;
      b[i] = 1 + 0.5f * static_cast<float>(i);
      c[i] = 2 - static_cast<float>(i);
    }
    table().apply(Instr::MulAdd, out.data(), a.data(), b.data(), c.data(), n);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i)
      ASSERT_FLOAT_EQ(out[i], a[i] * b[i] + c[i]) << n;
    ASSERT_EQ(out[static_cast<size_t>(n)], -7);
    table().apply(Instr::Div, out.data(), a.data(), b.data(), nullptr, n);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) ASSERT_FLOAT_EQ(out[i], a[i] / b[i]) << n;
    ASSERT_EQ(out[static_cast<size_t>(n)], -7);
    std::vector<float> over = a;
    table().apply(Instr::Sub, over.data(), over.data(), b.data(), nullptr, n);
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) ASSERT_FLOAT_EQ(over[i], a[i] - b[i]) << n;
    table().fill(out.data(), 3, n);
    table().scale(out.data(), 2, n);
    ASSERT_EQ(out[static_cast<size_t>(n) - 1], 6);
    ASSERT_EQ(out[static_cast<size_t>(n)], -7);
    std::vector<float> rows(static_cast<size_t>(3 * n) + 1, -7);
    table().spread(rows.data(), b.data(), 2, 3, n);
    for (size_t i = 0; i < rows.size() - 1; ++i)
      ASSERT_EQ(rows[i], b[i / static_cast<size_t>(n) * 2]) << n;
    ASSERT_EQ(rows.back(), -7);
  }
}

/// All f16, and all floats whose low bits affect their rounding; tails of every length. A NaN may
/// become a quiet one.
TEST_P(Simd, HalvesConvertAsOneByOne) {
  auto bits = [](float x) { return std::bit_cast<uint32_t>(x) | (x != x ? 0x400000U : 0U); };
  std::vector<uint16_t> halves(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> floats(halves.size());
  table().from_f16(floats.data(), halves.data(), static_cast<int64_t>(halves.size()));
  for (size_t i = 0; i < halves.size(); ++i)
    ASSERT_EQ(bits(floats[i]), bits(f16_to_float(halves[i]))) << i;
  std::vector<float> near;
  for (uint32_t high = 0; high < 1U << 19; ++high)
    for (uint32_t low : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x1fffU})
      near.push_back(std::bit_cast<float>(high << 13 | low));
  std::vector<uint16_t> rounded(near.size());
  table().to_f16(rounded.data(), near.data(), static_cast<int64_t>(near.size()));
  for (size_t i = 0; i < near.size(); ++i)
    ASSERT_EQ(rounded[i], float_to_f16(near[i])) << std::hex << bits(near[i]);
  std::vector<float> in_place = near;
  table().apply(Instr::NearestF16, in_place.data(), in_place.data(), nullptr, nullptr,
                static_cast<int64_t>(near.size()));
  for (size_t i = 0; i < near.size(); ++i)
    ASSERT_TRUE(bits(in_place[i]) == bits(f16_to_float(rounded[i])) ||
                (std::isnan(in_place[i]) && std::isnan(near[i])))
        << std::hex << bits(near[i]);
  for (size_t n = 0; n < 40; ++n) {
    std::vector<uint16_t> to(n + 1, 7);
    table().to_f16(to.data(), floats.data() + 100, static_cast<int64_t>(n));
    std::vector<float> back(n + 1, 7);
    table().from_f16(back.data(), to.data(), static_cast<int64_t>(n));
    EXPECT_TRUE(std::equal(back.begin(), back.end() - 1, floats.begin() + 100));
    EXPECT_TRUE(to[n] == 7 && back[n] == 7) << n;
  }
}

/// All bf16 with low bits that affect their rounding. Numbers that bf16 represents are truncated
/// exactly.
TEST_P(Simd, Bf16ConvertsAsOneByOne) {
  std::vector<float> near, held;
  for (uint32_t high = 0; high < 1U << 16; ++high) {
    held.push_back(std::bit_cast<float>(high << 16));
    for (uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      near.push_back(std::bit_cast<float>(high << 16 | low));
  }
  std::vector<uint16_t> rounded(near.size()), cut(held.size());
  table().to_bf16(rounded.data(), near.data(), static_cast<int64_t>(near.size()));
  for (size_t i = 0; i < near.size(); ++i)
    ASSERT_EQ(rounded[i], float_to_bf16(near[i])) << std::hex << std::bit_cast<uint32_t>(near[i]);
  table().cut_to_bf16(cut.data(), held.data(), static_cast<int64_t>(held.size()));
  for (size_t i = 0; i < held.size(); ++i) ASSERT_EQ(cut[i], i);
  for (size_t n = 0; n < 100; ++n)
    for (auto convert : {table().to_bf16, table().cut_to_bf16}) {
      std::vector<uint16_t> to(n + 1, 7);
      convert(to.data(), held.data() + 0x3f00, static_cast<int64_t>(n));
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(to[i], 0x3f00 + i) << n;
      EXPECT_EQ(to[n], 7) << n;
    }
}

TEST_P(Simd, MaximaOfRowsOfEveryLength) {
  constexpr size_t kCount = 5, kLength = 100;
  float rows[kCount][kLength];
  int64_t offsets[kCount];
  for (size_t k = 0; k < kCount; ++k) {
    offsets[k] = static_cast<int64_t>(k * kLength);
    for (size_t i = 0; i < kLength; ++i)
      rows[k][i] = static_cast<float>((i * 37 + k * 53) % 101) - 200;
  }
  for (size_t i = 3; i < kLength; i += 31) rows[i % kCount][i] = kNan;
  for (int64_t count = 1; count <= static_cast<int64_t>(kCount); ++count)
    for (int64_t n = 1; n < static_cast<int64_t>(kLength); ++n) {
      std::vector<float> out(kLength, -7);
      table().max_rows({out.data(), rows[0], offsets, count, n});
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        float best = rows[0][i];
        for (size_t k = 1; k < static_cast<size_t>(count); ++k)
          if (std::isnan(rows[k][i]) || rows[k][i] > best) best = rows[k][i];
        if (std::isnan(best))
          ASSERT_TRUE(std::isnan(out[i])) << count << " rows of " << n << ", " << i;
        else
          ASSERT_EQ(out[i], best) << count << " rows of " << n << ", " << i;
      }
      ASSERT_EQ(out[static_cast<size_t>(n)], -7);
      bool some = llvm::any_of(out, [](float x) { return std::isnan(x); });
      std::feclearexcept(FE_INVALID);
      std::vector<float> fast(kLength, -7);
      table().max_rows_of_numbers({fast.data(), rows[0], offsets, count, n});
      bool met = std::fetestexcept(FE_INVALID) != 0;
      if (count > 1) { // one row is copied
        ASSERT_EQ(met, some) << count << " rows of " << n;
      }
      if (!some) {
        ASSERT_EQ(fast, out) << count << " rows of " << n;
      }
    }
}

TEST_P(Simd, SumsAndMaximaOfEveryLength) {
  std::vector<float> a(300);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>((i * 37) % 101) - 50;
  double sum = 0;
  float best = -kInf;
  for (int64_t n = 1; n <= 300; ++n) {
    sum += static_cast<double>(a[static_cast<size_t>(n) - 1]);
    best = std::max(best, a[static_cast<size_t>(n) - 1]);
    ASSERT_FLOAT_EQ(table().sum(a.data(), n), static_cast<float>(sum)) << n;
    ASSERT_EQ(table().max(a.data(), n), best) << n;
  }
  for (size_t at : {0, 5, 16, 299}) {
    std::vector<float> with = a;
    with[at] = kNan;
    EXPECT_TRUE(std::isnan(table().max(with.data(), 300))) << at;
  }
}

TEST_P(Simd, SoftmaxSumsToOneAndHandlesLargeValues) {
  for (int64_t n : {1, 3, 16, 17, 1000}) {
    std::vector<float> a(static_cast<size_t>(n)), out(a.size());
    for (size_t i = 0; i < a.size(); ++i) a[i] = 1e4f + static_cast<float>(i % 7);
    table().softmax(out.data(), a.data(), n);
    double total = 0;
    for (float x : out) total += static_cast<double>(x);
    EXPECT_NEAR(total, 1, 1e-6) << n;
    if (n > 6) {
      EXPECT_NEAR(out[6] / out[5], std::exp(1.0), 1e-5);
    }
  }
}

TEST_P(Simd, SoftmaxHasNoSubnormalsButKeepsZeroAndNan) {
  for (size_t n : {1, 7, 16, 37}) {
    std::vector<float> a(n), out(n);
    for (size_t i = 0; i < n; ++i) a[i] = 3 - 5 * static_cast<float>(i);
    if (n > 1) a[1] = -kInf;
    table().softmax(out.data(), a.data(), static_cast<int64_t>(n));
    double sum = 0;
    for (float x : a) sum += std::exp(static_cast<double>(x - a[0]));
    for (size_t i = 0; i < n; ++i) {
      double exact = std::exp(static_cast<double>(a[i] - a[0])) / sum;
      ASSERT_NEAR(out[i], exact, 4e-7 * exact + 1.2e-38) << n << ", " << i;
      ASSERT_NE(std::fpclassify(out[i]), FP_SUBNORMAL) << n << ", " << i;
    }
    for (float x : {kNan, kInf}) {
      std::vector<float> with = a;
      with[n - 1] = x;
      table().softmax(out.data(), with.data(), static_cast<int64_t>(n));
      for (float y : out) ASSERT_TRUE(std::isnan(y)) << n << ", " << x;
    }
    std::fill(a.begin(), a.end(), -kInf);
    table().softmax(out.data(), a.data(), static_cast<int64_t>(n));
    for (float y : out) ASSERT_TRUE(std::isnan(y)) << n;
  }
}

TEST_P(Simd, LayerNormHasMeanZeroAndVarianceOne) {
  std::vector<int64_t> lengths = {255, 1024};
  for (int64_t n = 2; n < 130; ++n) lengths.push_back(n);
  for (int64_t n : lengths) {
    std::vector<float> a(static_cast<size_t>(n)), one(a.size(), 1), zero(a.size(), 0);
    for (size_t i = 0; i < a.size(); ++i) a[i] = 100 + static_cast<float>((i * 31) % 17);
    table().layer_norm(a.data(), a.data(), one.data(), zero.data(), 0, n);
    double mean = 0, var = 0;
    for (float x : a) mean += static_cast<double>(x) / static_cast<double>(n);
    for (float x : a) var += std::pow(static_cast<double>(x) - mean, 2) / static_cast<double>(n);
    EXPECT_NEAR(mean, 0, 2e-5) << n;
    EXPECT_NEAR(var, 1, 1e-4) << n;
  }
}

TEST_P(Simd, LayerNormOfEveryLengthAndNothingBehindIt) {
  for (int64_t n = 1; n < 130; ++n) {
    auto size = static_cast<size_t>(n);
    std::vector<float> a(size + 1, 1e30f), scale(a), bias(a), out(size + 1, -7);
    double mean = 0, var = 0, length = static_cast<double>(n);
    for (size_t i = 0; i < size; ++i) {
      a[i] = static_cast<float>((i * 31) % 17) - 3;
      scale[i] = 1 + 0.125f * static_cast<float>(i % 5);
      bias[i] = static_cast<float>(i % 3);
      mean += static_cast<double>(a[i]) / length;
    }
    for (size_t i = 0; i < size; ++i) var += std::pow(static_cast<double>(a[i]) - mean, 2) / length;
    table().layer_norm(out.data(), a.data(), scale.data(), bias.data(), 0.5f, n);
    table().layer_norm(a.data(), a.data(), scale.data(), bias.data(), 0.5f, n);
    ASSERT_EQ(out[size], -7) << n;
    ASSERT_EQ(a[size], 1e30f) << n;
    for (size_t i = 0; i < size; ++i) {
      auto x = static_cast<double>(static_cast<float>((i * 31) % 17) - 3);
      double want = (x - mean) / std::sqrt(var + 0.5) * static_cast<double>(scale[i]) +
                    static_cast<double>(bias[i]);
      ASSERT_NEAR(out[i], want, 2e-6) << n;
      ASSERT_EQ(a[i], out[i]) << "in its place, " << n;
    }
  }
}

TEST_P(Simd, RowsAreAddedUpInEveryWidth) {
  for (int64_t n = 1; n < 140; ++n)
    for (int64_t rows : {0, 1, 3, 8, 21}) {
      const int64_t step = n + 3;
      std::vector<float> from(static_cast<size_t>(rows * step + 1));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>((i * 37) % 101);
      std::vector<float> out(static_cast<size_t>(n + 1), 5);
      table().add_rows(out.data(), from.data(), step, rows, n);
      ASSERT_EQ(out.back(), 5) << n;
      for (int64_t i = 0; i < n; ++i) {
        float want = 5;
        for (int64_t r = 0; r < rows; ++r) want += from[static_cast<size_t>(r * step + i)];
        ASSERT_EQ(out[static_cast<size_t>(i)], want) << n << ", " << rows << " rows";
      }
    }
}

TEST_P(Simd, SwishAndHardswish) {
  for (float x = -85; x < 85; x += 0.0391f) {
    auto v = static_cast<double>(x);
    double swish = v / (1 + std::exp(-v));
    ASSERT_NEAR(unary(Instr::Swish, x), swish, 4e-7 * std::abs(swish)) << x;
    double hard = v * std::min(std::max(v + 3, 0.0), 6.0) / 6;
    ASSERT_NEAR(unary(Instr::Hardswish, x), hard, 4e-7 * std::max(1.0, std::abs(hard))) << x;
  }
  for (float x = 3; x < 1e30f; x *= 1.7f) ASSERT_EQ(unary(Instr::Hardswish, x), x);
  EXPECT_EQ(unary(Instr::Hardswish, -3.5f), 0);
}

INSTANTIATE_TEST_SUITE_P(Isa, Simd, testing::Range(0, simd_tables().count), [](const auto& info) {
  return std::string(simd_tables().tables[info.param]->isa);
});

} // namespace
} // namespace tg::cpu
