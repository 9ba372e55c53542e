// Tests pairs of models with operators that select elements: by indices, which may repeat,
// be at the ends of an axis or out of range, and by order, with equal elements.
// A pair that differs only at such inputs is called different, and a pair that is equal at all
// of them is not.
#include "compiler/verify/equivalent.h"
#include "tests/property/verify/small_model.h"

#include <gtest/gtest.h>

#include <llvm/Support/FormatVariadic.h>

#include <cstdio>

namespace tg {
namespace {

using test::model;

/// `{0}` is the size of the axis that is indexed, `{1}` the number of indices, `{2}` the dtype.
struct Pair {
  const char *left, *right;
};

const Pair kWrong[] = {
    // repeated indices
    {"scatter(x, i, u, reduce = \"add\")", "scatter(x, i, gather(x, i) + u)"},
    {"scatter(x, i, u, reduce = \"mul\")", "scatter(x, i, gather(x, i) * u)"},
    {"scatter(x, i, u, reduce = \"max\")", "scatter(x, i, maximum(gather(x, i), u))"},
    {"scatter(x, i, u, reduce = \"min\")", "scatter(x, i, minimum(gather(x, i), u))"},
    {"scatter(scatter(x, i, u), j, v)", "scatter(scatter(x, j, v), i, u)"},
    {"scatter(x, concat([i, j], axis = 0), concat([u, v], axis = 0))",
     "scatter(x, concat([j, i], axis = 0), concat([v, u], axis = 0))"},
    {"scatter(x, i, u)", "x + scatter(x * 0, i, u - gather(x, i), reduce = \"add\")"},
    {"gather(scatter(x, i, u), i)", "u"},
    {"gather(scatter(x, i, u, reduce = \"add\"), i)", "gather(x, i) + u"},
    // the ends of the axis, and indices out of range
    {"gather(x, i)", "gather(x, maximum(i, 0))"},
    {"gather(x, i)", "gather(x, minimum(i, {0} - 1))"},
    {"gather(x, i)", "gather(x, mod(i, {0}))"},
    {"gather(x, i)", "gather(x, select(i < 0, i + {0}, i))"},
    {"scatter(x, i, u)", "scatter(x, maximum(i, 0), u)"},
    {"scatter(x, i, u)", "scatter(x, minimum(i, {0} - 1), u)"},
    {"scatter(x, i, u, reduce = \"add\")", "scatter(x, mod(i, {0}), u, reduce = \"add\")"},
};

/// Pairs over one tensor x, whose elements may be equal.
const Pair kWrongAtTies[] = {
    {"argmax(x, axis = 0)",
     "reduce_max(select(x == reduce_max(x, axes = [0], keepdims = true), iota([{0}], i64), -1), "
     "axes = [0])"},
    {"argmax(x, axis = 0)", "{0} - 1 - argmax(gather(x, {0} - 1 - iota([{0}], i64)), axis = 0)"},
    {"top_k(x, axis = 0, k = 2)[1:2]",
     "top_k(select(x == reduce_max(x, axes = [0], keepdims = true), -1000000, x), axis = 0, k = "
     "1)"},
    {"cast(argmax(x, axis = 0) == 0, {2})", "cast(x[0] > reduce_max(x[1:{0}], axes = [0]), {2})"},
    {"reduce_sum(cast(x == reduce_max(x, axes = [0], keepdims = true), {2}), axes = [0])",
     "reduce_sum(x * 0 + 1, axes = [0]) * 0 + 1"},
};

const Pair kRight[] = {
    {"gather(relu(x), i)", "relu(gather(x, i))"},
    {"scatter(scatter(x, i, u, reduce = \"add\"), j, v, reduce = \"add\")",
     "scatter(scatter(x, j, v, reduce = \"add\"), i, u, reduce = \"add\")"},
    {"scatter(scatter(x, i, u, reduce = \"max\"), j, v, reduce = \"max\")",
     "scatter(scatter(x, j, v, reduce = \"max\"), i, u, reduce = \"max\")"},
    {"scatter(x, i, gather(x, i))", "x"},
    {"scatter(scatter(x, i, v[0:{1}]), i, u)", "scatter(x, i, u)"},
    {"scatter(x, concat([i, j], axis = 0), concat([u, v], axis = 0))",
     "scatter(scatter(x, i, u), j, v)"},
    {"scatter(x, i, u, reduce = \"add\") - x", "scatter(x * 0, i, u, reduce = \"add\")"},
};

const Pair kRightAtTies[] = {
    {"argmax(x, axis = 0)", "argmax(-(-x), axis = 0)"},
    {"argmax(x, axis = 0)", "top_k(x, axis = 0, k = 1)[0]"},
    {"reduce_max(x, axes = [0])", "gather(x, argmax(x, axis = 0))"},
    {"argmax(x, axis = 0)",
     "{0} - 1 - reduce_max(select(x == reduce_max(x, axes = [0], keepdims = true), {0} - 1 - "
     "iota([{0}], i64), -1), axes = [0])"},
};

Equivalence compared(const Pair& pair, int size, int count, const char* dtype) {
  std::string parameters =
      llvm::formatv("x: {2}[{0}], i: i64[{1}], u: {2}[{1}], j: i64[{3}], v: {2}[{3}]", size, count,
                    dtype, count + 1);
  Result<Equivalence> result =
      check_equivalence(model(parameters, llvm::formatv(pair.left, size, count, dtype)),
                        model(parameters, llvm::formatv(pair.right, size, count, dtype)), {});
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Equivalence();
}

template <class Pairs> void hold(const Pairs& pairs, bool wrong) {
  size_t tried = 0, undecided = 0;
  for (const Pair& pair : pairs)
    for (int size : {2, 3, 7})
      for (int count : {2, 3, 5})
        for (const char* dtype : {"f32", "i64"}) {
          Equivalence result = compared(pair, size, count, dtype);
          EXPECT_EQ(result.different(), wrong)
              << pair.left << "  and  " << pair.right << " of " << dtype << "[" << size << "], "
              << count << " indices: " << verdict_name(result.verdict).str() << " "
              << result.undecided;
          undecided += result.verdict == Equivalence::Verdict::Undecided;
          ++tried;
        }
  std::printf("%zu pairs, %zu undecided\n", tried, undecided);
}

TEST(Picks, WrongAtIndicesAlone) { hold(kWrong, true); }
TEST(Picks, WrongAtTiesAlone) { hold(kWrongAtTies, true); }
TEST(Picks, RightAtAllIndices) { hold(kRight, false); }
TEST(Picks, RightAtTies) { hold(kRightAtTies, false); }

} // namespace
} // namespace tg
