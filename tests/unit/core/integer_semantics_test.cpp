// Tests operators over Integer, which defines i32, i64 and bool.
#include "lang/core/semantics/impl.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

int64_t binary(OpKind op, int64_t x, int64_t y) {
  Integer args[] = {Integer(x), Integer(y)};
  return pointwise<Integer>(op, args).value;
}

TEST(IntegerSemantics, WrapsAround) {
  EXPECT_EQ(binary(OpKind::Add, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(binary(OpKind::Sub, INT64_MIN, 1), INT64_MAX);
  EXPECT_EQ(binary(OpKind::Mul, int64_t{1} << 62, 4), 0);
  EXPECT_EQ(binary(OpKind::Div, INT64_MIN, -1), INT64_MIN);
}

TEST(IntegerSemantics, DividesDownwards) {
  for (int64_t y : {-3, -1, 1, 2, 7})
    for (int64_t x = -9; x <= 9; ++x) {
      int64_t quotient = binary(OpKind::Div, x, y), rest = binary(OpKind::Mod, x, y);
      EXPECT_EQ(quotient * y + rest, x) << x << " / " << y;
      EXPECT_TRUE(rest == 0 || (rest < 0) == (y < 0)) << x << " mod " << y;
      EXPECT_LT(std::abs(rest), std::abs(y));
    }
  EXPECT_EQ(binary(OpKind::Div, 5, 0), 0);
  EXPECT_EQ(binary(OpKind::Mod, 5, 0), 0);
}

TEST(IntegerSemantics, AreRoundAsTheyAre) {
  for (OpKind op : {OpKind::Round, OpKind::Ceil, OpKind::Floor})
    for (int64_t x : {INT64_MIN, int64_t{-3}, int64_t{0}, int64_t{7}, INT64_MAX})
      EXPECT_EQ(binary(op, x, 0), x);
}

TEST(IntegerSemantics, SmallestAndOrderKnowAllBits) {
  Integer values[] = {Integer(INT64_MAX), Integer(INT64_MIN), Integer(INT64_MAX - 1)};
  EXPECT_EQ(Math<Integer>::min_of(values).value, INT64_MIN);
  EXPECT_TRUE(Math<Integer>::above(values[0], values[2]));
  EXPECT_FALSE(Math<Integer>::above(values[0], values[0]));
}

TEST(IntegerSemantics, BoolsFollowTheirTables) {
  for (int64_t x : {0, 1})
    for (int64_t y : {0, 1}) {
      EXPECT_EQ(binary(OpKind::LogicalAnd, x, y), x && y);
      EXPECT_EQ(binary(OpKind::LogicalOr, x, y), x || y);
      EXPECT_EQ(binary(OpKind::LogicalNot, x, y), !x);
      EXPECT_EQ(binary(OpKind::NotEqual, x, y), x != y);
    }
}

} // namespace
} // namespace tg
