// Rules that look right and are false: none may be proved. Each represents one possible fault
// of a proof, and states where the rule fails.
#include "compiler/verify/proof/proof.h"
#include "tests/unit/verify/rule_from_text.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

struct False {
  const char* text;
  const char* fails; // where the two sides differ
};

// --- attributes that change the result ----------------------------------------------------------
const False kAttributes[] = {
    {R"(rule r(x, w, h) { conv2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h], value = 5.0), w,
        pad = valid) => conv2d(x, w, pad = h) })",
     "the padding of a convolution is of zeros"},
    {R"(rule r(x, w, h, v) { conv2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h], value = v), w,
        pad = valid) => conv2d(x, w, pad = h) })",
     "v = 1"},
    {R"(rule r(x, h, k) { avg_pool2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h], value = 3.0),
        kernel = k) => avg_pool2d(x, kernel = k, pad = h, count_padding = true) })",
     "a mean counts padding as zeros"},
    {R"(rule r(x, h, k) { avg_pool2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h]), kernel = k)
        => avg_pool2d(x, kernel = k, pad = h) })",
     "without count_padding"},
    {R"(rule r(x, h, k) { max_pool2d(pad(x, before = [0, 0, h, h], after = [0, 0, h, h]), kernel = k)
        => max_pool2d(x, kernel = k, pad = h) })",
     "a window of negatives beside the padding"},
    {R"(rule r(x, w, h) { conv2d(x, w, pad = [h, h, h, 0]) => conv2d(x, w, pad = [h, 0, h, h]) })",
     "zeros on the other side"},
    {R"(rule r(x, w) { conv2d(x, w, pad = [0, 1, 1, 1]) => conv2d(x, w, pad = [1, 1, 0, 1]) })",
     "zeros on the other side"},
    {R"(rule r(x, w, d) { conv2d(x, w, dilation = d, pad = same) => conv2d(x, w, pad = same) })",
     "d = 2"},
    {R"(rule r(x, w, b, res) { conv2d(x, w, bias = b, residual = res, act = relu)
        => relu(conv2d(x, w, bias = b)) + res })",
     "the activation is of the whole sum"},
    {R"(rule r(x, y, b, res) { matmul(x, y, bias = b, residual = res, act = tanh)
        => matmul(x, y, bias = b, residual = res) })",
     "the activation is lost"},
    {R"(rule r(x, y, a) { matmul(x, y, act = a) => relu(matmul(x, y))
        where a == relu or rank(x) == 2 })",
     "a = tanh and two axes"},
    {R"(rule r(x, y, a, b) { relu(matmul(x, y, act = a)) + tanh(matmul(x, y, act = b))
        => matmul(x, y, act = a) + tanh(matmul(x, y, act = b)) })",
     "a = tanh"},
    {R"(rule r(x, y, a, b) { matmul(matmul(x, y, act = a), y, act = b)
        => matmul(matmul(x, y, act = b), y, act = a) where shape(x) == shape(y) })",
     "a = tanh, b = relu"},
    {"rule r(x, s, b, m, v) { batch_norm(x, s, b, m, v, eps = 0.001) => batch_norm(x, s, b, m, v) "
     "}",
     "another eps"},
    {"rule r(x, s, b, m, v, e) { batch_norm(x, s, b, m, v, eps = e) => batch_norm(x, s, b, m, v) }",
     "any eps"},
    {"rule r(x, s, b) { layer_norm(x, s, b, eps = 0.001) => layer_norm(x, s, b) }", "another eps"},
    {"rule r(x, s, b, m, v) { batch_norm(x, s, b, m, v) => batch_norm(x, b, s, m, v) }",
     "scale and bias"},
    {"rule r(x, l, h) { clip(clip(x, l, h), 0.0, 1.0) => clip(x, 0.0, 1.0) }", "l = 2"},
    {"rule r(x, h) { clip(x, 0.0, h) => relu(x) }", "h = 1"},
    {"rule r(x) { clip(x, -19.0, 19.0) => x }", "x = 20"},
    {"rule r(x, a) { argmax(x, a) => argmax(x, 0) where rank(x) == 2, dim(x, 0) == dim(x, 1) }",
     "a = 1"},
    {"rule r(x, a, v) { pad(x, before = a, after = a, value = v) => pad(x, before = a, after = a) "
     "}",
     "v = 1"},
    {R"(rule r(x, a, b) { pad(x, before = a, after = b, value = 1.0)
        => pad(x, before = b, after = a, value = 1.0) })",
     "a and b are not the same"},
    {R"(rule r(x, a, b, v) { pad(relu(x), before = a, after = b, value = v)
        => relu(pad(x, before = a, after = b, value = v)) })",
     "v = -1"},
    {R"(rule r(x, y, a, b) { pad(x, before = a, after = b, value = 1.0) *
        pad(y, before = a, after = b, value = 2.0)
        => pad(x * y, before = a, after = b, value = 3.0) where shape(x) == shape(y) })",
     "1 * 2 is 2"},
    {"rule r(x) { cast(cast(x, i32), f32) => x where float(x) }", "x = 0.5"},
    {"rule r(x) { cast(cast(x, f16), f32) => x }", "x = 1e10"},
    {"rule r(x) { cast(x, f16) => cast(cast(x, bf16), f16) }", "x = 1.001"},
    {"rule r(x, y) { cast(x, i32) + cast(y, i32) => cast(x + y, i32) }", "0.5 + 0.5"},
};

// --- functions that are not linear, and numbers that are not reals -------------------------------
const False kValues[] = {
    {"rule r(x, y) { not (x >= y) => x < y }", "NaN"},
    {"rule r(x, y) { not (x < y) => y <= x }", "NaN"},
    {"rule r(x, y) { not (x == y) => x < y or y < x }", "NaN, and of both orders"},
    {"rule r(x) { x == x => x >= x or x < x }", "beyond what proofs know"},
    {"rule r(x, y) { select(x > y, x, y) => maximum(x, y) }", "NaN"},
    {"rule r(c, x, y) { select(c, x, y) => select(c, y, x) }", "operands swapped"},
    {"rule r(x, y) { x / y * y => x where shape(x) == shape(y) }", "y = 0, integers"},
    {"rule r(x, y, z) { (x + y) / z => x / z + y / z }", "integers: 1 / 2 + 1 / 2"},
    {"rule r(x, y) { -(x / y) => -x / y }", "integers are rounded down"},
    {"rule r(x, y) { x / y + x / y => (x + x) / y }", "integers: 1 / 2 + 1 / 2"},
    {"rule r(x) { x / x => ones(shape(x)) }", "x = 0"},
    {"rule r(x, y) { mod(x + y, y) => mod(x, y) }", "beyond what proofs know"},
    {"rule r(x) { abs(x + x) => x + x }", "x = -1"},
    {"rule r(x) { sqrt(x * x) => x }", "x = -1"},
    {"rule r(x) { max_pool2d(x * 2, kernel = 3) => max_pool2d(x, kernel = 3) * -2 }", "always"},
    {"rule r(x, c) { max_pool2d(x * c, kernel = 3) => max_pool2d(x, kernel = 3) * c where "
     "constant(c), rank(c) == 0 }",
     "c = -1"},
    {"rule r(x, c) { x * c => x * abs(c) where constant(c) }", "c = -1"},
    {"rule r(x, c) { maximum(x * c, 0) => maximum(x, 0) * c }", "c = -1"},
    {"rule r(x, y) { floor(x + y) => floor(x) + floor(y) }", "0.5 + 0.5"},
    {"rule r(x, y) { sign(x) * sign(y) + 0 => sign(x + y) }", "1 and 1"},
    {"rule r(x, y) { exp(x + y) => exp(x) + exp(y) }", "0 and 0"},
    {"rule r(x, y) { pow(x, y) => pow(y, x) where shape(x) == shape(y) }", "2 and 3"},
};

// --- axes, shapes and indices --------------------------------------------------------------------
const False kIndices[] = {
    {R"(rule r(x, y) { transpose(x @ y, [1, 0, 2]) => transpose(x, [1, 0, 2]) @ y
        where rank(x) == 3 })",
     "y has three axes, too"},
    {R"(rule r(x, y) { reduce_sum(concat([reshape(x, [dim(x, 0) * dim(x, 1)]), y], axis = 0), axes = [0])
        => reduce_sum(reshape(x, [dim(x, 0) * dim(x, 1)]), axes = [0])
        where rank(x) == 2, dim(y, 0) == dim(x, 0) })",
     "all of y is left out"},
    {R"(rule r(x, y, n) { reduce_sum(concat([y, reshape(x, n)], axis = 0), axes = [0])
        => reduce_sum(reshape(x, n), axes = [0]) where rank(x) == 2, len(n) == 1 })",
     "all of y is left out"},
    {"rule r(x, a) { reduce_mean(x, axes = [a]) => reduce_mean(x, axes = [0]) where rank(x) == 2, "
     "dim(x, 0) == dim(x, 1) }",
     "a = 1"},
    {"rule r(x, y) { reduce_mean(x + y, axes = [-1]) => reduce_mean(x, axes = [-1]) + "
     "reduce_mean(y, axes "
     "= [-1]) * 2 }",
     "always"},
    {"rule r(x) { softmax(x, axis = -1) => softmax(x, axis = -2) where rank(x) == 2 }", "rows"},
    {"rule r(x, a) { softmax(x, a) => softmax(softmax(x, a), a) }", "always"},
    {"rule r(x, a) { cumsum(x, a) => cumsum(x, 0) where rank(x) == 2 }", "a = 1"},
    {"rule r(x, a, b) { cumsum(cumsum(x, a), b) => cumsum(x, b) }", "always"},
    {"rule r(x, a) { slice(x, axis = a, start = 0, stop = 2) => slice(x, axis = a, start = 1, stop "
     "= 3) }",
     "the next one"},
    {R"(rule r(x, y, a) { slice(concat([x, y], axis = a), axis = a, start = 0, stop = 1)
        => slice(y, axis = a, start = 0, stop = 1) })",
     "the first of x"},
    {R"(rule r(x, y, z, a) { concat([x, y, z], axis = a) => concat([x, z, y], axis = a) })",
     "order"},
    {R"(rule r(x, y) { transpose(concat([x, y], axis = 0), [1, 0])
        => concat([transpose(y, [1, 0]), transpose(x, [1, 0])], axis = 1) })",
     "order"},
    {R"(rule r(x, p) { transpose(transpose(x, p), p) => x
        where rank(x) == 3, dim(x, 0) == dim(x, 1), dim(x, 1) == dim(x, 2) })",
     "three axes in a circle"},
    {"rule r(x, p, s) { reshape(transpose(x, p), s) => reshape(x, s) }", "order of elements"},
    {R"(rule r(x, s, y) { reshape(x, s) + y => reshape(x + reshape(y, [dim(y, 0), 1]), s)
        where rank(x) == 2, len(s) == 2, rank(y) == 1, dim(y, 0) == s[1], dim(x, 0) == dim(y, 0),
              dim(x, 1) == s[0] })",
     "y along the other axis"},
    {"rule r(x, i) { gather(x + 1, i) => gather(x, i) + 1 }",
     "integers: an index out of range gives 0"},
    {"rule r(x, i, j) { gather(gather(x, i), j) => gather(x, gather(i, j)) }",
     "indices out of range"},
    {"rule r(x, i) { gather(x, i, axis = 1) => gather(x, i, axis = 0) where rank(x) == 2, rank(i) "
     "== 1, "
     "dim(x, 0) == dim(x, 1), dim(i, 0) == dim(x, 0) }",
     "the other axis"},
    {"rule r(x, c) { argmax(x + c, 0) => argmax(x, 0) where rank(c) == 0 }", "rounding makes ties"},
    {"rule r(x, c) { argmax(x * c, 0) => argmax(x, 0) where rank(c) == 0 }", "c = -1"},
    {R"(rule r(x, w, k) { conv2d(x, enlarge(w, k), pad = same, stride = 2)
        => conv2d(x, w, pad = same, stride = 2) })",
     "the first window begins elsewhere"},
    {R"(rule r(x, a, b) { conv2d(conv2d(x, a), b) => conv2d(conv2d(x, b), a)
        where dim(a, 0) == dim(a, 1), dim(b, 0) == dim(b, 1), dim(x, 1) == dim(a, 0),
              dim(x, 1) == dim(b, 0) })",
     "channels do not commute"},
    {R"(rule r(x, y, a) { concat([conv2d(x, a), conv2d(y, a)], axis = 1)
        => conv2d(concat([x, y], axis = 1), concat([a, a], axis = 0)) })",
     "groups"},
    {"rule r(x, y, z) { (x @ y) * z => x @ (y * z) where rank(x) == 2, rank(y) == 2, rank(z) == 2 "
     "}",
     "z of many rows"},
    {"rule r(x, y) { x @ (y + y) => x @ y where shape(x) == shape(y) }", "always"},
    {"rule r(x, y, b) { matmul(x, y, bias = b) => matmul(x, y) + reshape(b, [dim(b, 0), 1]) "
     "where rank(x) == 2, rank(y) == 2, dim(x, 0) == dim(b, 0) }",
     "rows for columns"},
};

void expect_none_proved(llvm::ArrayRef<False> rules) {
  if (!can_prove()) GTEST_SKIP() << "built without Z3";
  for (const False& each : rules) {
    std::optional<Rule> rule = rule_from_text(each.text);
    EXPECT_TRUE(rule) << each.text;
    if (!rule) continue;
    EXPECT_FALSE(prove_rule(*rule).proved) << each.text << "\nfails: " << each.fails;
  }
}

TEST(FalseRules, WithAttributesThatMatter) { expect_none_proved(kAttributes); }
TEST(FalseRules, OverNumbersThatMatter) { expect_none_proved(kValues); }
TEST(FalseRules, WithIndicesThatMatter) { expect_none_proved(kIndices); }

} // namespace
} // namespace tg
