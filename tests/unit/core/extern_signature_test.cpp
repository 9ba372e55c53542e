// Tests the types of operators that programs declare: parsing, printing, unification.
#include "lang/core/extern_signature.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

TensorType of(DType dtype, std::initializer_list<int64_t> shape) { return {dtype, Shape(shape)}; }

/// Returns the result's type, or the reason why there is none.
std::string typed(llvm::StringRef signature, llvm::ArrayRef<TensorType> operands) {
  std::optional<ExternSignature> read = ExternSignature::parse(signature);
  if (!read) return "malformed";
  TensorType result;
  std::string why;
  return read->infer(operands, result, why) ? result.text() : why;
}

TEST(ExternSignature, BindsNamesFromOperands) {
  EXPECT_EQ(typed("(T[N, S...]) -> T[2 N *, S...]", {f32({3, 4, 5})}), "f32[6, 4, 5]");
  EXPECT_EQ(typed("(T[S..., C], i64[S...]) -> T[C]",
                  {of(DType::BF16, {3, 4, 5}), of(DType::I64, {3, 4})}),
            "bf16[5]");
  EXPECT_EQ(typed("(f32[_, N]) -> bool[N]", {f32({3, 4})}), "bool[4]");
  EXPECT_EQ(typed("(f32[]) -> f32[]", {f32({})}), "f32");
}

TEST(ExternSignature, ReportsTheMismatch) {
  EXPECT_EQ(typed("(f32[N], f32[N]) -> f32[N]", {f32({3}), f32({4})}),
            "`N` is 3 in one operand and 4 in another");
  EXPECT_EQ(typed("(f32[N]) -> f32[N]", {f32({3}), f32({3})}), "it takes 1 operand, got 2");
  EXPECT_EQ(typed("(f32[N]) -> f32[N]", {f32({3, 4})}),
            "an operand is declared as f32[N], got f32[3, 4]");
  EXPECT_EQ(typed("(T[N], T[N]) -> T[N]", {f32({3}), of(DType::I32, {3})}),
            "an operand is declared as T[N], got i32[3]");
  EXPECT_EQ(typed("(f32[N], f32[2 N *]) -> f32[N]", {f32({3}), f32({5})}),
            "`2 * N` is 6, but the operand has 5");
  EXPECT_EQ(typed("(f32[N]) -> f32[N 2 /]", {f32({3})}),
            "`N / 2` has no value: it overflows, or its division leaves a remainder");
  EXPECT_EQ(typed("(f32[N]) -> f32[N] where N 2 % 0 ==", {f32({3})}),
            "its condition `N % 2 == 0` does not hold");
}

TEST(ExternSignature, ComputesAsTheLanguageDoes) {
  auto result = [](const std::string& expr) {
    return typed("(f32[N, M]) -> f32[" + expr + "]", {f32({7, 3})});
  };
  EXPECT_EQ(result("N M - 1 -"), "f32[3]");
  EXPECT_EQ(result("N M 1 - -"), "f32[5]");
  EXPECT_EQ(result("0 N - M // 4 +"), "f32[1]"); // rounds down
  EXPECT_EQ(result("N ~ M %"), "f32[2]");        // the sign of the divisor
  EXPECT_EQ(result("M 2 **"), "f32[9]");
  EXPECT_EQ(result("N 3 =="), "`N == 3` has no value: it overflows, or its division leaves a "
                              "remainder"); // a size is an integer
  EXPECT_EQ(typed("(f32[N]) -> f32[N] where N 3 < not N 4 != and N 100 == or", {f32({7})}),
            "f32[7]");
}

TEST(ExternSignature, RefusesMalformedAndOpenDeclarations) {
  for (const char* text :
       {"", "() -> f32[]", "(f32[N]", "(f32[N]) -> f32[M]", "(f32[N]) -> f32[_]",
        "(f32[N]) -> T[N]", "(f32[2 N *]) -> f32[N]", "(f32[S..., R...]) -> f32[S...]",
        "(f32[N]) -> f32[R...]", "(f32[N]) -> f32[N +]", "(f32[N]) -> f32[N N]",
        "(f32[N]) -> f32[N + 2]", "(f32[N]) -> f32[(N]", "(f32[N]) -> f32[N)]",
        "(f32[N]) -> f32[N] where", "(f32[N]) -> f32[N] x"})
    EXPECT_FALSE(ExternSignature::parse(text)) << text;
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += " ~";
  EXPECT_FALSE(ExternSignature::parse("(f32[N]) -> f32[" + deep + "]"));
  EXPECT_TRUE(ExternSignature::parse("(f32[N]) -> f32[N" + deep + "]"));
}

TEST(ExternSignature, PrintsADeclaration) {
  auto read = ExternSignature::parse("(T[N, S...], f32[N]) -> T[2 N *, S...] where N 1 >, N 9 <");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->declaration("fft"),
            "extern op fft(x0: T[N, S...], x1: f32[N]) -> T[2 * N, S...] where N > 1, N < 9");
}

TEST(ExternSignature, WritesSizesAsTheLanguageHasThem) {
  auto read = ExternSignature::parse("(T[N, M], f32[]) -> T[N M 1 + *, N M - 1 -, N M 1 - -, N ~ 2 "
                                     "**, 2 3 ** M **, N M // ~] where N 1 > M 4 != and not");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->declaration("fft"),
            "extern op fft(x0: T[N, M], x1: f32[]) -> T[N * (M + 1), N - M - 1, N - (M - 1), "
            "(-N) ** 2, (2 ** 3) ** M, -(N // M)] where not (N > 1 and M != 4)");
}

TEST(ExternSignature, ExamplesFit) {
  auto read = ExternSignature::parse("(T[N, S...], i64[N], f32[2 N *]) -> T[N, S...]");
  ASSERT_TRUE(read);
  int64_t next = 0;
  Shape want{3, 4, 5};
  auto types =
      read->example({std::nullopt, Shape{3}, std::nullopt}, &want, [&] { return 1 + next++ % 6; });
  ASSERT_EQ(types.size(), 3u);
  EXPECT_EQ(types[0], f32({3, 4, 5}));
  EXPECT_EQ(types[1], of(DType::I64, {3}));
  EXPECT_EQ(types[2], f32({6}));
}

} // namespace
} // namespace tg
