#include "compiler/verify/field/field.h"

#include "lang/core/support/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace tg {
namespace {

/// Computes modulo the thread's primes with the processor's own division.
uint64_t modulo(uint64_t a, uint64_t b, char op, int lane) {
  WideProduct p = field_point.prime[lane], x = a % p, y = b % p;
  return static_cast<uint64_t>((op == '+' ? x + y : op == '-' ? x + p - y : x * y) % p);
}

/// Returns the residue as a number.
uint64_t residue(const Field& x, int lane) { return field_point.reduced(x.lane[lane], lane); }

Field number(uint64_t x) { return Field::of_integer(x); }

/// Random numbers, and edge cases of the reduction.
std::vector<uint64_t> interesting() {
  std::vector<uint64_t> all = {0, 1, 2, UINT64_MAX};
  for (uint64_t p : field_point.prime)
    all.insert(all.end(), {p - 1, p, p + 1, 2 * p, 8000 * p - 1});
  RandomStream random(1, "field");
  for (uint64_t i = 0; i < 20; ++i) all.push_back(random.bits(i) >> i % 20);
  return all;
}

void expect_arithmetic() {
  for (uint64_t a : interesting())
    for (uint64_t b : interesting())
      for (int i = 0; i < kFieldLanes; ++i) {
        ASSERT_EQ(residue(number(a), i), a % field_point.prime[i]);
        ASSERT_EQ(residue(number(a) + number(b), i), modulo(a, b, '+', i));
        ASSERT_EQ(residue(number(a) - number(b), i), modulo(a, b, '-', i));
        ASSERT_EQ(residue(number(a) * number(b), i), modulo(a, b, '*', i));
        ASSERT_LT((number(a) * number(b)).lane[i], field_point.prime[i]);
      }
}

TEST(Field, IsArithmeticModuloThePrimes) {
  expect_arithmetic();
  for (uint64_t point = 0; point < 3; ++point) {
    FieldScope scope(draw_point(digest_of({"test"}), point));
    expect_arithmetic();
    for (uint64_t b : {2ul, 3ul, 10ul, 123456789ul, (1ul << 50) - 1})
      EXPECT_EQ(number(7) / number(b) * number(b), number(7));
  }
}

TEST(Field, PrimesAreDrawnFromALargeFamily) {
  std::set<uint64_t> primes;
  for (uint64_t point = 0; point < 50; ++point)
    for (uint64_t p : draw_point(digest_of({"test"}), point).prime) {
      primes.insert(p);
      EXPECT_TRUE(is_prime(p));
      EXPECT_GT(p, uint64_t{1} << 50);
      EXPECT_LT(p, uint64_t{1} << 51);
    }
  EXPECT_EQ(primes.size(), 200u);
  // Equal texts give equal primes, and other texts give others.
  EXPECT_EQ(draw_point(digest_of({"a", "bc"}), 1).prime[0],
            draw_point(digest_of({"a", "bc"}), 1).prime[0]);
  EXPECT_NE(draw_point(digest_of({"a", "bc"}), 1).prime[0],
            draw_point(digest_of({"ab", "c"}), 1).prime[0]);
}

TEST(Field, KnowsPrimes) {
  std::vector<bool> composite(20'000);
  for (uint64_t n = 2; n < composite.size(); ++n) {
    EXPECT_EQ(is_prime(n), !composite[n]) << n;
    for (uint64_t m = n * n; m < composite.size(); m += n) composite[m] = true;
  }
  EXPECT_FALSE(is_prime(1));
  EXPECT_TRUE(is_prime((uint64_t{1} << 61) - 1));
  for (uint64_t p : field_point.prime) EXPECT_TRUE(is_prime(p)); // the default primes
  // Strong pseudoprimes to the bases 2 to 7, and to 2 to 17 (OEIS A014233).
  for (uint64_t n : {3215031751ul, 341550071728321ul, 2152302898747ul}) EXPECT_FALSE(is_prime(n));
}

TEST(Field, DiffersIfOneStructureDiffers) {
  // 2^61 is 1 modulo 2^61 - 1.
  EXPECT_NE(number(uint64_t{1} << 61), number(1));
  EXPECT_NE(number((uint64_t{1} << 61) - 1), Field{});
}

TEST(Field, KnowsSmallIntegers) {
  for (int64_t x : {0, 1, -1, 5, -700, 1 << 20})
    EXPECT_EQ(Math<Field>::integer(x).small_integer(), x);
  EXPECT_FALSE((number(1) / number(3)).small_integer());
  EXPECT_FALSE(Field::random(3).small_integer());
}

TEST(Field, SpoilsAPointWhereADivisorIsZeroModuloSomePrimes) {
  FieldScope scope(draw_point(digest_of({"test"}), 0));
  EXPECT_EQ(number(1) / Field{}, number(1) / Field{});
  EXPECT_FALSE(field_point.spoilt);
  Field x = number(1) / number(field_point.prime[2]);
  EXPECT_TRUE(field_point.spoilt) << x.lane[0];
}

TEST(Field, ReadsDecimalsAsRationals) {
  EXPECT_EQ(Field::of_decimal(0.1) * number(10), number(1));
  EXPECT_EQ(Field::of_decimal(-0.5) + Field::of_decimal(0.5), Field{});
  EXPECT_EQ(Field::of_decimal(1e-5) * number(100000), number(1));
  EXPECT_EQ(Field::of_decimal(12345678), number(12345678));
  EXPECT_EQ(Field::of_decimal(1.25e3), number(1250));
  EXPECT_EQ(Field::of_decimal(0.1) + Field::of_decimal(0.2), Field::of_decimal(0.3));
  EXPECT_NE(Field::of_decimal(0.1 + 0.2), Field::of_decimal(0.3)); // 0.30000000000000004
  EXPECT_NE(Field::of_decimal(std::numeric_limits<double>::infinity()), Field{});
}

TEST(Field, DivisionByZeroDependsOnTheDividend) {
  EXPECT_EQ(number(3) / Field{}, number(3) / (number(3) - number(3)));
  EXPECT_NE(number(3) / Field{}, number(4) / Field{});
}

TEST(Field, MaximaDependOnTheSetAlone) {
  using M = Math<Field>;
  Field a = number(17), b = number(4), c = number(99);
  EXPECT_EQ(M::max_of({a, b, c}), M::max_of({c, a, b}));
  EXPECT_EQ(M::max_of({a, b, a}), M::maximum(b, a));
  EXPECT_EQ(M::maximum(a, a), a);
  EXPECT_NE(M::max_of({a, b}), M::max_of({a, c}));
  EXPECT_EQ(M::unary(OpKind::Relu, a), M::maximum(a, {}));
  EXPECT_EQ(M::unary(OpKind::Relu, {}), Field{});
}

TEST(Field, KeepsPropertiesOfUninterpretedFunctions) {
  using M = Math<Field>;
  std::set<uint64_t> images;
  for (OpKind op : {OpKind::Relu, OpKind::Sigmoid, OpKind::Tanh, OpKind::Gelu, OpKind::Exp,
                    OpKind::Sqrt, OpKind::Erf})
    images.insert(M::unary(op, number(5)).lane[0]);
  EXPECT_EQ(images.size(), 7u);
  for (OpKind odd : {OpKind::Tanh, OpKind::Erf})
    EXPECT_EQ(M::unary(odd, -number(5)), -M::unary(odd, number(5)));
  EXPECT_NE(M::unary(OpKind::Gelu, -number(5)), -M::unary(OpKind::Gelu, number(5)));
  EXPECT_EQ(M::unary(OpKind::Exp, {}), number(1));
  EXPECT_EQ(M::unary(OpKind::Sqrt, number(2) - number(2)), Field{});
}

TEST(Field, SoftmaxSeesTheWholeRowInAnyOrder) {
  std::vector<Field> row = {number(1), number(2), number(3)};
  std::vector<Field> turned = {number(3), number(1), number(2)};
  std::vector<Field> other = {number(1), number(2), number(4)};
  Math<Field>::softmax(row);
  Math<Field>::softmax(turned);
  Math<Field>::softmax(other);
  EXPECT_EQ(row[0], turned[1]);
  EXPECT_EQ(row[2], turned[0]);
  EXPECT_NE(row[0], other[0]); // although its own element is equal
}

} // namespace
} // namespace tg
