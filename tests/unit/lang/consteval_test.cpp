// Tests arithmetic at compile time: each result is exact or an error.
#include "lang/check/consteval.h"

#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

using ast::Op;

std::string fold(Op op, const Value& a, const Value& b) {
  Value out;
  ConstError error;
  return fold_binary(op, a, b, out, error) ? out.text_form() : code_text(error.code);
}
std::string ints(Op op, int64_t a, int64_t b) {
  return fold(op, Value::of_int(a), Value::of_int(b));
}

TEST(Consteval, DivisionIsExactOrRoundsDown) {
  EXPECT_EQ(ints(Op::Div, 12, 4), "3");
  EXPECT_EQ(ints(Op::Div, 7, 2), "E0402");
  EXPECT_EQ(ints(Op::FloorDiv, 7, 2), "3");
  EXPECT_EQ(ints(Op::FloorDiv, -7, 2), "-4");
  EXPECT_EQ(ints(Op::FloorDiv, 7, -2), "-4");
  EXPECT_EQ(ints(Op::FloorDiv, -8, 2), "-4");
  for (Op op : {Op::Div, Op::FloorDiv, Op::Mod}) EXPECT_EQ(ints(op, 1, 0), "E0402");
}

TEST(Consteval, QuotientAndRestBelongTogether) {
  for (int64_t a = -7; a <= 7; ++a)
    for (int64_t b : {-3, -2, -1, 1, 2, 3}) {
      int64_t q = std::stoll(ints(Op::FloorDiv, a, b)), r = std::stoll(ints(Op::Mod, a, b));
      EXPECT_EQ(q * b + r, a);
      EXPECT_TRUE(r == 0 || (r < 0) == (b < 0)) << a << " % " << b << " = " << r;
    }
}

TEST(Consteval, NothingWraps) {
  constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;
  EXPECT_EQ(ints(Op::Add, kMax, 1), "E0403");
  EXPECT_EQ(ints(Op::Sub, kMin, 1), "E0403");
  EXPECT_EQ(ints(Op::Mul, kMax, 2), "E0403");
  EXPECT_EQ(ints(Op::Div, kMin, -1), "E0403");
  EXPECT_EQ(ints(Op::FloorDiv, kMin, -1), "E0403");
  EXPECT_EQ(ints(Op::Mod, kMin, -1), "0");
  EXPECT_EQ(ints(Op::Pow, 2, 62), "4611686018427387904");
  EXPECT_EQ(ints(Op::Pow, 2, 63), "E0403");
  EXPECT_EQ(ints(Op::Pow, -1, kMax), "-1");
  EXPECT_EQ(ints(Op::Pow, 10, -1), "E0206");
  Value out;
  ConstError error;
  EXPECT_FALSE(fold_unary(Op::Neg, Value::of_int(kMin), out, error));
  EXPECT_EQ(error.code, Code::overflow);
}

TEST(Consteval, MixedNumbersBecomeFloats) {
  EXPECT_EQ(fold(Op::Div, Value::of_int(1), Value::of_float(4)), "0.25");
  EXPECT_EQ(fold(Op::Mod, Value::of_float(-1), Value::of_int(4)), "3.0");
  EXPECT_EQ(fold(Op::Mod, Value::of_int(1), Value::of_float(0.1)), "0.09999999999999995");
  EXPECT_EQ(fold(Op::Lt, Value::of_float(1.5), Value::of_int(2)), "true");
  EXPECT_EQ(fold(Op::Eq, Value::of_float(2), Value::of_int(2)), "true");
}

TEST(Consteval, OtherKindsAreEqualOrNot) {
  EXPECT_EQ(fold(Op::Eq, Value::of_enum("same"), Value::of_enum("same")), "true");
  EXPECT_EQ(fold(Op::Ne, Value::of_enum("same"), Value::of_int(1)), "true");
  EXPECT_EQ(fold(Op::Add, Value::of_enum("same"), Value::of_int(1)), "E0206");
  EXPECT_EQ(fold(Op::Lt, Value::of_bool(false), Value::of_bool(true)), "E0206");
  EXPECT_EQ(fold(Op::And, Value::of_bool(true), Value::of_bool(false)), "false");
  EXPECT_EQ(fold(Op::Or, Value::of_bool(true), Value::of_int(0)), "E0206");
}

TEST(Consteval, Functions) {
  auto call = [](llvm::StringRef name, std::vector<Value> args) {
    Value out;
    ConstError error;
    return fold_call(name, args, out, error) ? out.text_form() : code_text(error.code);
  };
  EXPECT_EQ(call("min", {Value::of_int(3), Value::of_int(-1), Value::of_int(2)}), "-1");
  EXPECT_EQ(call("max", {Value::of_int(3), Value::of_float(3.5)}), "3.5");
  EXPECT_EQ(call("max", {Value::of_int(3)}), "E0206");
  EXPECT_EQ(call("sqrt", {Value::of_int(16)}), "4.0");
  EXPECT_EQ(call("sqrt", {Value::of_int(-1)}), "E0206");
  EXPECT_EQ(call("abs", {Value::of_int(-4)}), "4");
  EXPECT_EQ(call("abs", {Value::of_int(INT64_MIN)}), "E0403");
  EXPECT_EQ(call("len", {Value::of_ints({4, 5})}), "2");
  EXPECT_EQ(call("prod", {Value::of_ints({4, 5})}), "20");
  EXPECT_EQ(call("prod", {Value::of_ints({INT64_MAX, 5})}), "E0403");
  EXPECT_EQ(call("sum", {Value::of_ints({})}), "0");
}

TEST(Consteval, EverySignIsItsOperation) {
  for (auto op = Op::Add; op <= Op::Not; op = Op(static_cast<int>(op) + 1)) {
    ASSERT_EQ(const_op(op).has_value(), op != Op::MatMul);
    if (op != Op::MatMul) {
      EXPECT_EQ(const_op_name(*const_op(op)), spelling(op));
    }
  }
}

TEST(Consteval, ExpressionsOfNumbersListsAndWords) {
  auto value = [](const std::string& text) -> std::string {
    SourceManager sources;
    DiagnosticSink sink;
    Ast tree = parse(sources, sources.add("m.tg", "rule r(x) { x => x where " + text + " }"), sink);
    EXPECT_FALSE(sink.failed()) << text;
    std::optional<Value> v =
        fold_expr(tree, tree[tree[tree.decls()[0]].where][0], [](const ast::Expr& word) {
          return word.text == "two" ? std::optional(Value::of_int(2)) : std::nullopt;
        });
    return v ? v->text_form() : "-";
  };
  EXPECT_EQ(value("-two ** 2 + 1"), "-3");
  EXPECT_EQ(value("max(two, 3, 1) // 2"), "1");
  EXPECT_EQ(value("[1, two] == [1, 2]"), "true");
  EXPECT_EQ(value("[1, two][-1]"), "2");
  EXPECT_EQ(value("[1, unknown][0]"), "1"); // other items are not evaluated
  EXPECT_EQ(value("len([1, unknown])"), "2");
  EXPECT_EQ(value("len([S..., 1])"), "-"); // S is any number of items
  EXPECT_EQ(value("false and unknown == 1"), "false");
  EXPECT_EQ(value("true and unknown == 1"), "-");
  EXPECT_EQ(value("7 / 2"), "-");
}

} // namespace
} // namespace tg
