#include "compiler/equiv/field.h"

#include "lang/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace tg {
namespace {

uint64_t modulo(unsigned long long a, unsigned long long b, char op) {
  __extension__ using Wide = unsigned __int128;
  Wide p = kFieldPrime, x = a % kFieldPrime, y = b % kFieldPrime;
  return static_cast<uint64_t>((op == '+' ? x + y : op == '-' ? x + p - y : x * y) % p);
}

/// Random numbers and those at which folding could go wrong.
std::vector<uint64_t> interesting() {
  std::vector<uint64_t> all = {
      0, 1, 2, kFieldPrime - 1, kFieldPrime, kFieldPrime + 1, Field::kLazyLimit - 1};
  RandomStream random(1, "field");
  for (uint64_t i = 0; i < 40; ++i) all.push_back(random.bits(i) >> 3);
  return all;
}

TEST(Field, IsArithmeticModuloThePrime) {
  for (uint64_t a : interesting())
    for (uint64_t b : interesting()) {
      EXPECT_EQ((Field{a} + Field{b}).value(), modulo(a, b, '+'));
      EXPECT_EQ((Field{a} - Field{b}).value(), modulo(a, b, '-'));
      EXPECT_EQ((Field{a} * Field{b}).value(), modulo(a, b, '*'));
      EXPECT_LT((Field{a} * Field{b}).lazy, Field::kLazyLimit);
      EXPECT_LT((Field{a} - Field{b}).lazy, Field::kLazyLimit);
      if (modulo(b, 0, '+') != 0) {
        EXPECT_EQ(Field{a} / Field{b} * Field{b}, Field{a});
      }
    }
}

TEST(Field, SumsStayReduced) {
  Field sum{};
  for (int i = 0; i < 1000; ++i) {
    sum += Field{kFieldPrime - 1} * Field{kFieldPrime - 1};
    ASSERT_LT(sum.lazy, Field::kLazyLimit);
  }
  EXPECT_EQ(sum, Field{1000});
}

TEST(Field, ReadsDecimalsAsRationals) {
  EXPECT_EQ(Field::of_decimal(0.1) * Field{10}, Field{1});
  EXPECT_EQ(Field::of_decimal(-0.5) + Field::of_decimal(0.5), Field{});
  EXPECT_EQ(Field::of_decimal(1e-5) * Field{100000}, Field{1});
  EXPECT_EQ(Field::of_decimal(12345678), Field{12345678});
  EXPECT_EQ(Field::of_decimal(1.25e3), Field{1250});
  EXPECT_EQ(Field::of_decimal(0.1) + Field::of_decimal(0.2), Field::of_decimal(0.3));
  EXPECT_NE(Field::of_decimal(0.1 + 0.2), Field::of_decimal(0.3)); // 0.30000000000000004
  EXPECT_NE(Field::of_decimal(std::numeric_limits<double>::infinity()), Field{});
}

TEST(Field, DivisionByZeroDependsOnTheDividend) {
  EXPECT_EQ(Field{3} / Field{}, Field{3} / Field{kFieldPrime});
  EXPECT_NE(Field{3} / Field{}, Field{4} / Field{});
}

TEST(Field, MaximaDependOnTheSetAlone) {
  using M = Math<Field>;
  Field a{17}, b{4}, c{99};
  EXPECT_EQ(M::max_of({a, b, c}), M::max_of({c, a, b}));
  EXPECT_EQ(M::max_of({a, b, a}), M::maximum(b, a));
  EXPECT_EQ(M::maximum(a, a), a);
  EXPECT_NE(M::max_of({a, b}), M::max_of({a, c}));
  EXPECT_EQ(M::unary(OpKind::Relu, a), M::maximum(a, {}));
  EXPECT_EQ(M::unary(OpKind::Relu, {}), Field{});
}

TEST(Field, FunctionsDifferAndKeepWhatAllOfThemHave) {
  using M = Math<Field>;
  std::set<uint64_t> images;
  for (OpKind op : {OpKind::Relu, OpKind::Sigmoid, OpKind::Tanh, OpKind::Gelu, OpKind::Exp,
                    OpKind::Sqrt, OpKind::Erf})
    images.insert(M::unary(op, {5}).value());
  EXPECT_EQ(images.size(), 7u);
  for (OpKind odd : {OpKind::Tanh, OpKind::Erf})
    EXPECT_EQ(M::unary(odd, -Field{5}), -M::unary(odd, Field{5}));
  EXPECT_NE(M::unary(OpKind::Gelu, -Field{5}), -M::unary(OpKind::Gelu, Field{5}));
  EXPECT_EQ(M::unary(OpKind::Exp, {}), Field{1});
  EXPECT_EQ(M::unary(OpKind::Sqrt, Field{kFieldPrime}), Field{});
}

TEST(Field, SoftmaxSeesTheWholeRowInAnyOrder) {
  std::vector<Field> row = {{1}, {2}, {3}}, turned = {{3}, {1}, {2}}, other = {{1}, {2}, {4}};
  Math<Field>::softmax(row);
  Math<Field>::softmax(turned);
  Math<Field>::softmax(other);
  EXPECT_EQ(row[0], turned[1]);
  EXPECT_EQ(row[2], turned[0]);
  EXPECT_NE(row[0], other[0]); // though its own element is the same
}

} // namespace
} // namespace tg
