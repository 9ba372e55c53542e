#include "compiler/rules/eval.h"

#include "tests/unit/count_allocations.h"

#include <gtest/gtest.h>

#include <limits>

namespace tg {
namespace {

using Kind = ValueExpr::Kind;

struct Facts : ClassFacts {
  std::vector<TypeId> types;
  bool weight = false;
  TypeId type(uint32_t v) const override { return types[v]; }
  bool weight_only(uint32_t) const override { return weight; }
  bool constant(uint32_t v) const override { return v == 0; }
};

/// A rule to which tests add expressions. Class 0 is f32[2, 3, 4], class 1 is absent,
/// class 2 is unbound; value 0 is 6, value 1 is [1, 2, 0], value 2 is relu, value 3 is unbound.
struct RuleEval : testing::Test {
  RuleEval() {
    facts.types = {symbols.type(f32({2, 3, 4})), symbols.none_type(), TypeId{}};
    values = {symbols.value(Value::of_int(6)), symbols.value(Value::of_ints({1, 2, 0})),
              symbols.value(Value::of_enum("relu")), ValueId{}};
  }

  ExprIndex add(Kind kind, std::initializer_list<ExprIndex> operands = {}, uint32_t variable = 0) {
    ValueExpr e;
    e.kind = kind;
    e.variable = variable;
    e.operands = operands;
    rule.exprs.push_back(e);
    return static_cast<ExprIndex>(rule.exprs.size() - 1);
  }
  ExprIndex literal(Value v) {
    ExprIndex at = add(Kind::Literal);
    rule.exprs[at].literal = std::move(v);
    return at;
  }
  ExprIndex number(int64_t n) { return literal(Value::of_int(n)); }
  ExprIndex variable(uint32_t v) { return add(Kind::Variable, {}, v); }

  /// Returns the value as text, or "-" if there is none.
  std::string text(ExprIndex at) {
    std::optional<ValueId> id = evaluate({rule, symbols, values, facts}, at);
    return id ? symbols.value(*id).text_form() : "-";
  }
  bool truth(ExprIndex at) { return holds({rule, symbols, values, facts}, at); }

  Symbols symbols;
  Rule rule;
  Facts facts;
  llvm::SmallVector<ValueId, 8> values;
};

TEST_F(RuleEval, IntegersAreExact) {
  EXPECT_EQ(text(add(Kind::Add, {variable(0), number(-10)})), "-4");
  EXPECT_EQ(text(add(Kind::Div, {number(12), variable(0)})), "2");
  EXPECT_EQ(text(add(Kind::Div, {number(13), variable(0)})), "-"); // leaves a remainder
  EXPECT_EQ(text(add(Kind::FloorDiv, {number(-7), number(2)})), "-4");
  EXPECT_EQ(text(add(Kind::Mod, {number(-7), number(2)})), "1");
  EXPECT_EQ(text(add(Kind::Neg, {variable(0)})), "-6");
  EXPECT_EQ(text(add(Kind::Max, {number(3), variable(0)})), "6");
}

TEST_F(RuleEval, HasNoValueOnIntegerOverflow) {
  int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(text(add(Kind::Add, {number(most), number(1)})), "-");
  EXPECT_EQ(text(add(Kind::Mul, {number(most), number(2)})), "-");
  EXPECT_EQ(text(add(Kind::Neg, {number(least)})), "-");
  EXPECT_EQ(text(add(Kind::Div, {number(least), number(-1)})), "-");
  EXPECT_EQ(text(add(Kind::FloorDiv, {number(1), number(0)})), "-");
  EXPECT_EQ(text(add(Kind::Mod, {number(least), number(-1)})), "0");
}

TEST_F(RuleEval, FloatsAndMixtures) {
  ExprIndex half = literal(Value::of_float(0.5));
  EXPECT_EQ(text(add(Kind::Mul, {half, number(3)})), "1.5");
  EXPECT_EQ(text(add(Kind::Sqrt, {number(16)})), "4.0");
  EXPECT_EQ(text(add(Kind::Sqrt, {number(-1)})), "-");
  EXPECT_EQ(text(add(Kind::Floats, {half})), "[0.5]");
  EXPECT_TRUE(truth(add(Kind::Lt, {half, number(1)})));
  EXPECT_TRUE(truth(add(Kind::Eq, {literal(Value::of_float(2)), number(2)})));
}

TEST_F(RuleEval, AsksAboutClasses) {
  EXPECT_EQ(text(add(Kind::Rank)), "3");
  EXPECT_EQ(text(add(Kind::ShapeOf)), "[2, 3, 4]");
  EXPECT_EQ(text(add(Kind::Dim, {number(-1)})), "4");
  EXPECT_EQ(text(add(Kind::Dim, {number(3)})), "-");
  EXPECT_EQ(text(add(Kind::Dim, {number(-4)})), "-");
  EXPECT_TRUE(truth(add(Kind::IsNone, {}, 1)));
  EXPECT_FALSE(truth(add(Kind::IsNone, {}, 0)));
  EXPECT_TRUE(truth(add(Kind::IsConstant, {}, 0)));
  EXPECT_FALSE(truth(add(Kind::IsWeight)));
  facts.weight = true;
  EXPECT_TRUE(truth(add(Kind::IsWeight)));
  EXPECT_EQ(text(add(Kind::TypeLike, {variable(1)})), "f32[1, 2, 0]");
}

TEST_F(RuleEval, TheAbsentAndTheUnboundHaveNoShape) {
  for (uint32_t v : {1, 2}) {
    EXPECT_EQ(text(add(Kind::Rank, {}, v)), "-");
    EXPECT_EQ(text(add(Kind::Dim, {number(0)}, v)), "-");
  }
  EXPECT_EQ(text(variable(3)), "-");
  EXPECT_FALSE(truth(add(Kind::Eq, {variable(3), variable(3)})));
}

TEST_F(RuleEval, Lists) {
  EXPECT_EQ(text(add(Kind::List, {number(1), variable(0)})), "[1, 6]");
  EXPECT_EQ(text(add(Kind::Index, {variable(1), number(-1)})), "0");
  EXPECT_EQ(text(add(Kind::Index, {variable(1), number(3)})), "-");
  EXPECT_EQ(text(add(Kind::Len, {variable(1)})), "3");
  EXPECT_EQ(text(add(Kind::Len, {variable(0)})), "-");
  EXPECT_EQ(text(add(Kind::Permute, {variable(1), variable(1)})), "[2, 0, 1]");
  EXPECT_EQ(text(add(Kind::Permute, {variable(1), literal(Value::of_ints({0, 1}))})), "-");
}

TEST_F(RuleEval, TruthIsOnlyTheBoolTrue) {
  EXPECT_FALSE(truth(number(1)));
  ExprIndex yes = literal(Value::of_bool(true)), broken = add(Kind::Div, {number(1), number(0)});
  ExprIndex fails = add(Kind::Eq, {broken, number(1)});
  EXPECT_TRUE(truth(add(Kind::Or, {yes, fails}))); // the second is not evaluated
  EXPECT_FALSE(truth(add(Kind::And, {yes, fails})));
  EXPECT_FALSE(truth(add(Kind::Not, {fails}))); // no value is different from false
  EXPECT_TRUE(truth(add(Kind::Eq, {variable(2), literal(Value::of_enum("relu"))})));
  EXPECT_TRUE(truth(add(Kind::Ne, {variable(2), number(1)})));
}

/// Rules with numbers check, at each match, that a number has the dtype of the other operand.
TEST_F(RuleEval, ConditionsOfAMatchAllocateNothing) {
  values.push_back(symbols.value(Value::of_type({DType::F32, {}})));
  values.push_back(symbols.value(Value::of_type({DType::I64, {}})));
  ExprIndex like = add(Kind::TypeLike, {add(Kind::List)}), dims = add(Kind::ShapeOf);
  rule.conditions = {add(Kind::Eq, {variable(4), like}),
                     add(Kind::Ne, {add(Kind::DTypeOf), literal(Value::of_enum("i64"))}),
                     add(Kind::Eq, {dims, add(Kind::List, {number(2), number(3), number(4)})}),
                     add(Kind::Eq, {add(Kind::Slice, {dims, number(1), number(3), number(1)}),
                                    add(Kind::List, {number(3), number(4)})})};
  RuleMatch match{rule, symbols, values, facts};
  size_t before = allocations;
  EXPECT_TRUE(conditions_hold(match));
  EXPECT_EQ(allocations, before);
  rule.conditions = {add(Kind::Eq, {variable(5), like})};
  EXPECT_FALSE(conditions_hold(match)); // another dtype
  rule.conditions = {add(Kind::Eq, {variable(3), like})};
  EXPECT_FALSE(conditions_hold(match)); // unbound
}

TEST_F(RuleEval, AllConditionsMustHold) {
  rule.conditions = {literal(Value::of_bool(true))};
  EXPECT_TRUE(conditions_hold({rule, symbols, values, facts}));
  rule.conditions.push_back(add(Kind::Gt, {number(1), number(1)}));
  EXPECT_FALSE(conditions_hold({rule, symbols, values, facts}));
}

} // namespace
} // namespace tg
