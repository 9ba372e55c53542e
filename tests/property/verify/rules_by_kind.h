// Rules made systematically, by kind: true laws, each made false in one way,
// or kept true in a way that is as hard to recognise. A kind is a table of laws and a table
// of changes. Every change is applied to every law.
#pragma once

#include <llvm/Support/FormatVariadic.h>

#include <string>
#include <vector>

namespace tg::test {

struct KindRule {
  std::string kind, text;
};

/// A law, with its integers that a right side may use in computations.
struct Law {
  const char *params, *left, *right, *where; // `where` is "" without a condition
  std::vector<const char*> integers;
};

inline const std::vector<Law>& laws_with_sizes() {
  static const std::vector<Law> kLaws = {
      {"x, w, v",
       "x @ w + x @ v",
       "x @ (w + v)",
       "rank(x) == 2, rank(w) == 2, rank(v) == 2, float(x)",
       {"dim(x, 0)", "dim(x, 1)", "dim(w, 1)"}},
      {"x", "relu(relu(x))", "relu(x)", "rank(x) >= 1, float(x)", {"dim(x, 0)", "dim(x, -1)"}},
      {"x",
       "transpose(transpose(x, perm = [1, 0]), perm = [1, 0])",
       "x",
       "float(x)",
       {"dim(x, 0)", "dim(x, 1)"}},
      {"x, y",
       "reduce_sum(x, axes = [0]) + reduce_sum(y, axes = [0])",
       "reduce_sum(x + y, axes = [0])",
       "same_type(x, y), float(x)",
       {"dim(x, 0)"}},
      {"x, w, v",
       "conv2d(x, w) + conv2d(x, v)",
       "conv2d(x, w + v)",
       "same_type(w, v)",
       {"dim(x, 0)", "dim(x, 1)", "dim(x, 3)", "dim(w, 0)", "dim(w, 2)"}},
      {"x",
       "max_pool2d(relu(x), kernel = 2)",
       "relu(max_pool2d(x, kernel = 2))",
       "float(x)",
       {"dim(x, 1)", "dim(x, 2)"}},
      {"x, y",
       "concat([relu(x), relu(y)], axis = 0)",
       "relu(concat([x, y], axis = 0))",
       "float(x)",
       {"dim(x, 0)", "dim(y, 0)"}},
      {"x, i",
       "gather(relu(x), i)",
       "relu(gather(x, i))",
       "rank(i) == 1, float(x)",
       {"dim(x, 0)", "dim(i, 0)"}},
      {"x",
       "softmax(softmax(x, axis = 0) * 1.0, axis = 0)",
       "softmax(softmax(x, axis = 0), axis = 0)",
       "",
       {"dim(x, 0)"}},
      {"x", "relu(x[0:1])", "relu(x)[0:1]", "rank(x) >= 1, float(x)", {"dim(x, 0)"}},
  };
  return kLaws;
}

inline const std::vector<Law>& laws_with_attributes() {
  static const std::vector<Law> kLaws = {
      {"x, k",
       "max_pool2d(relu(x), kernel = [k, k], stride = [1, 1], pad = valid)",
       "relu(max_pool2d(x, kernel = [k, k], stride = [1, 1], pad = valid))",
       "float(x)",
       {"k"}},
      {"x, s",
       "max_pool2d(relu(x), kernel = [2, 2], stride = [s, s], pad = valid)",
       "relu(max_pool2d(x, kernel = [2, 2], stride = [s, s], pad = valid))",
       "float(x)",
       {"s"}},
      {"x, w, v, s",
       "conv2d(x, w, stride = [s, s]) + conv2d(x, v, stride = [s, s])",
       "conv2d(x, w + v, stride = [s, s])",
       "same_type(w, v)",
       {"s"}},
      {"x, w, v, p",
       "conv2d(x, w, pad = [p, p, p, p]) + conv2d(x, v, pad = [p, p, p, p])",
       "conv2d(x, w + v, pad = [p, p, p, p])",
       "same_type(w, v)",
       {"p"}},
      {"x, w, v, d",
       "conv2d(x, w, dilation = [d, d]) + conv2d(x, v, dilation = [d, d])",
       "conv2d(x, w + v, dilation = [d, d])",
       "same_type(w, v)",
       {"d"}},
      {"x, w, g",
       "conv_transpose2d(relu(relu(x)), w, groups = g)",
       "conv_transpose2d(relu(x), w, groups = g)",
       "",
       {"g"}},
      {"x, a",
       "cumsum(x, axis = a) + cumsum(x, axis = a)",
       "cumsum(x + x, axis = a)",
       "float(x)",
       {"a"}},
      {"x, y, a",
       "concat([relu(x), relu(y)], axis = a)",
       "relu(concat([x, y], axis = a))",
       "float(x)",
       {"a"}},
      {"x, k",
       "gather(relu(x), top_k(x, axis = 0, k = k), axis = 0)",
       "relu(gather(x, top_k(x, axis = 0, k = k), axis = 0))",
       "float(x), rank(x) == 1",
       {"k"}},
      {"x, b, e",
       "slice(relu(x), axis = 0, start = b, stop = e)",
       "relu(slice(x, axis = 0, start = b, stop = e))",
       "float(x)",
       {"b", "e", "e - b"}},
      {"x, s",
       "reshape(relu(x), shape = s)",
       "relu(reshape(x, shape = s))",
       "float(x)",
       {"s[0]", "len(s)"}},
      {"x, b, a",
       "pad(relu(x), before = b, after = a)",
       "relu(pad(x, before = b, after = a))",
       "float(x), rank(x) >= 1",
       {"b[0]", "sum(a)"}},
  };
  return kLaws;
}

inline std::string rule_text_of(const Law& law, const std::string& name, const std::string& right,
                                const std::string& also = "") {
  std::string where = law.where;
  if (!also.empty()) where += where.empty() ? also : ", " + also;
  return llvm::formatv("rule {0}({1}) {{ {2} => {3}{4} }", name, law.params, law.left, right,
                       where.empty() ? "" : " where " + where);
}

/// Adds a rule for each law, integer of it and change. In a change, `{0}` is the right side,
/// `{1}` the integer, `{2}` the threshold.
inline void add_changed(std::vector<KindRule>& rules, const std::string& kind,
                        const std::vector<Law>& laws, const std::vector<const char*>& changes,
                        const std::vector<int>& thresholds) {
  size_t at = 0;
  for (const Law& law : laws)
    for (const char* integer : law.integers)
      for (const char* change : changes) {
        const int n = thresholds[at++ % thresholds.size()];
        std::string right = llvm::formatv(change, law.right, integer, n);
        rules.push_back({kind, rule_text_of(law, "r", right)});
      }
}

inline void add_conditioned(std::vector<KindRule>& rules, const std::string& kind,
                            const std::vector<Law>& laws, const char* change,
                            const std::vector<const char*>& conditions,
                            const std::vector<int>& numbers) {
  size_t at = 0;
  for (const Law& law : laws)
    for (const char* integer : law.integers)
      for (const char* condition : conditions) {
        std::string also = llvm::formatv(condition, "", integer, numbers[at++ % numbers.size()]);
        rules.push_back({kind, rule_text_of(law, "r", llvm::formatv(change, law.right), also)});
      }
}

inline void add_all(std::vector<KindRule>& rules, const std::string& kind,
                    const std::vector<const char*>& texts) {
  for (const char* text : texts) rules.push_back({kind, std::string("rule ") + text});
}

/// Inserts every operator of a list in every text, in place of `{0}`.
inline void add_each(std::vector<KindRule>& rules, const std::string& kind,
                     const std::vector<const char*>& operators,
                     const std::vector<const char*>& texts) {
  for (const char* text : texts)
    for (const char* op : operators) rules.push_back({kind, llvm::formatv(text, op)});
}

inline std::vector<KindRule> false_rules() {
  std::vector<KindRule> rules;
  const std::vector<const char*> kThresholds = {"({0}) * (1 + ({1}) // {2})",
                                                "({0}) + max(({1}) - {2} + 1, 0)",
                                                "({0}) * (1 + 0 ** max({2} - ({1}), 0))",
                                                "({0}) - min(({1}) // {2}, 1)",
                                                "({0}) * [1, 2][min(({1}) // {2}, 1)]",
                                                "({0}) * max(({1}) - {2} + 1, 1)"};
  add_changed(rules, "size", laws_with_sizes(), kThresholds,
              {7, 9, 10, 17, 33, 64, 100, 500, 1025});
  add_changed(rules, "attribute", laws_with_attributes(), kThresholds, {7, 6, 5, 6, 7});
  add_changed(rules, "modulus", laws_with_sizes(),
              {"({0}) * (1 + (({1}) % {2}) // ({2} - 1))", "({0}) + max(({1}) % {2} - {2} + 2, 0)"},
              {8, 9, 12, 16, 17, 32});
  add_changed(
      rules, "polynomial", laws_with_sizes(),
      {"({0}) + (({1}) - 1) * (({1}) - 2) * (({1}) - 3) * (({1}) - 4) * (({1}) - 5) * "
       "(({1}) - 6)",
       "({0}) * (1 + (({1}) - 1) * (({1}) - 7) * (({1}) - 10) * (({1}) - 17) * (({1}) - 64) * "
       "(({1}) - 2) * (({1}) - 3))"},
      {0});
  add_conditioned(rules, "condition", laws_with_sizes(), "({0}) * 2",
                  {"{1} >= {2}", "{1} % {2} == 0", "{1} > {2}, {1} % 2 == 1"}, {9, 16, 32, 65});
  add_conditioned(rules, "condition", laws_with_attributes(), "({0}) * 2", {"{1} >= {2}"}, {5, 6});
  add_each(rules, "dtype", {"f16", "bf16", "f64", "i32", "i64"},
           {"rule r(x) {{ abs(abs(x)) => x where dtype(x) == {0} }",
            "rule r(x, y) {{ (x + y) * 2 => x + y * 2 where dtype(x) == {0}, same_type(x, y) }",
            "rule r(x) {{ abs(abs(x)) => abs(x) + 1 where dtype(x) == {0}, rank(x) >= 6 }"});
  add_each(rules, "axis", {"relu", "abs", "neg", "tanh", "sigmoid", "exp"},
           {"rule r(x) {{ {0}({0}(x)) => {0}({0}(x)) * (1 + rank(x) // 6) where float(x) }",
            "rule r(x, a) {{ cumsum({0}(x), axis = a) => cumsum({0}(x), axis = a) * (1 + a // 5) "
            "where float(x) }",
            "rule r(x) {{ {0}({0}(x)) => {0}({0}(x)) * 2 where rank(x) == 7, float(x) }"});
  add_each(rules, "index", {"add", "mul"},
           {"rule r(x, i, u) {{ scatter(x, i, u, axis = 0, reduce = \"{0}\") => scatter(x, i, "
            "{0}(gather(x, i, axis = 0), u), axis = 0) }",
            "rule r(x, i, u) {{ scatter(x, i, u, axis = 1, reduce = \"{0}\") => scatter(x, i, "
            "{0}(gather(x, i, axis = 1), u), axis = 1) }",
            "rule r(x, i, u) {{ gather(scatter(x, i, u, axis = 0, reduce = \"{0}\"), i, axis = 0) "
            "=> {0}(gather(x, i, axis = 0), u) }"});
  add_all(rules, "index",
          {"r(x, i, u) { scatter(x, i, u, axis = 0, reduce = \"max\") => scatter(x, i, "
           "maximum(gather(x, i, axis = 0), u), axis = 0) }",
           "r(x, i, u) { scatter(x, i, u, axis = 0, reduce = \"min\") => scatter(x, i, "
           "minimum(gather(x, i, axis = 0), u), axis = 0) }",
           "r(x, i, u) { gather(scatter(x, i, u, axis = 0), i, axis = 0) => u }",
           "r(x, i, u, v) { scatter(scatter(x, i, u, axis = 0), i, v, axis = 0) => scatter(x, i, "
           "maximum(u, v), axis = 0) }",
           "r(x) { argmax(x, axis = 0) => top_k(x, axis = 0, k = 2)[1] where float(x) }",
           "r(x) { argmax(x, axis = 0) => argmax(neg(x), axis = 0) where float(x) }",
           "r(x) { reduce_sum(select(x == reduce_max(x, axes = [0], keepdims = true), 1.0, 0.0), "
           "axes = [0]) => reduce_sum(x * 0.0, axes = [0]) + 1.0 where float(x) }",
           "r(x) { argmax(x, axis = 0, keepdims = true) => reduce_sum(select(x == reduce_max(x, "
           "axes = [0], keepdims = true), cumsum(full(shape(x), 1), axis = 0) - 1, 0), axes = [0], "
           "keepdims = true) where dtype(x) == i64 }",
           "r(x, i) { gather(x, i, axis = 0) => gather(x, maximum(i, 0), axis = 0) }",
           "r(x, i) { gather(x, i, axis = 0) => gather(x, minimum(i, dim(x, 0) - 1), axis = 0) }",
           "r(x, y) { select(x < y, x, y) => select(x < y, y, x) }",
           "r(x, y) { select(x <= y, 1.0, 0.0) => select(x < y, 1.0, 0.0) where float(x) }"});
  add_each(rules, "pole", {"relu", "sign", "floor", "round"},
           {"rule r(x) {{ 1.0 / {0}(x) => {0}(1.0 / x) where float(x) }",
            "rule r(x, y) {{ relu(y) / {0}(x) => {0}(relu(y) / x) where float(x) }",
            "rule r(x) {{ 2.5 / {0}(x * 3.0) => {0}(2.5 / (x * 3.0)) where float(x) }",
            "rule r(x) {{ log({0}(x)) => {0}(log(x)) where float(x) }",
            "rule r(x) {{ rsqrt({0}(x)) => {0}(rsqrt(x)) where float(x) }"});
  add_each(
      rules, "corner", {"12", "39", "100", "500", "1000"},
      {"rule r(x, y) {{ relu(x - {0}.0 * relu(y)) => relu(x - {0}.0 * relu(y)) - minimum(relu(x - "
       "{0}.0), relu(-7.0 - y)) where same_type(x, y), float(x) }",
       "rule r(x, y) {{ x + y => x + y + relu(x * y - {0}.0) where same_type(x, y), float(x) }",
       "rule r(x, y) {{ x + y => x + y + minimum(relu(x - {0}.0), relu(-80.0 - y)) where "
       "same_type(x, y), float(x) }",
       "rule r(x, y, z) {{ x + y + z => x + y + z + minimum(relu(x - {0}.0), minimum(relu(y - "
       "17.0), relu(z + 9.0))) where same_type(x, y), same_type(y, z), float(x) }",
       "rule r(x, y) {{ maximum(x, y) => maximum(x, y) + minimum(relu(x - y - {0}.0), relu(3.0 - "
       "y)) where same_type(x, y), float(x) }",
       "rule r(x) {{ relu(x) => relu(x) + relu(x * x * x - {0}00.0) where float(x) }",
       "rule r(x) {{ relu(x) => relu(x) + relu(exp(x) - {0}.5) where float(x) }",
       "rule r(x) {{ relu(x) => relu(x) + relu(0.125 - abs(x - {0}.3)) where float(x) }",
       "rule r(x, y) {{ x - y => x - y + relu(0.5 - abs(x + y - {0}.3)) where same_type(x, y), "
       "float(x) }"});
  for (int value : {2, 5, -1, 0})
    for (const char* before : {"[1]", "[0]", "[3]"})
      rules.push_back({"pole", llvm::formatv("rule r(x, y) {{ pad(x, before = {0}, after = [1], "
                                             "value = 1) / pad(y, before = {0}, after = [1]) => "
                                             "pad(x / y, before = {0}, after = [1], value = {1}) "
                                             "where float(x), same_type(x, y) }",
                                             before, value)});
  add_all(
      rules, "pole",
      {"r(x) { log(abs(x)) => select(x == 0.0, 0.0 - log(abs(x)), log(abs(x))) where float(x) }",
       "r(x) { log1p(x) => select(x == 0.0 - 1.0, 0.0 - log1p(x), log1p(x)) where float(x) }",
       "r(x) { 1.0 / maximum(x, 0.0) => maximum(1.0 / x, 0.0) }",
       "r(x) { 1.0 / clip(x, low = 0.0, high = 4.0) => clip(1.0 / x, low = 0.0, high = 4.0) }",
       "r(x) { 1.0 / select(x > 0.0, x, 0.0) => select(x > 0.0, 1.0 / x, 0.0) }",
       "r(x, y) { select(y > 0.0, x / y, 0.0) => select(y >= 0.0, x / y, 0.0) }"});
  add_each(rules, "needle",
           {"x == 2.25", "x * x == 2.25", "x + x == 37.5", "x * 2.0 + 1.0 == 4.5",
            "abs(x) == 17.25", "sqrt(x) == 1.5", "x * x * x == 3.375", "relu(x) == 12.75",
            "floor(x) == 37.0", "x - 0.375 == 8.125", "x / 3.0 == 2.5", "x > 123456.0",
            "x * x > 1000000.0", "x < 0.0 - 54321.0", "x * 0.001 > 77.0"},
           {"rule r(x) {{ select({0}, 0.0, x) => x where float(x) }",
            "rule r(x) {{ select({0}, x + 1.0, relu(relu(x))) => relu(x) where float(x) }",
            "rule r(x, y) {{ select({0}, y, x + y) => x + y where float(x) }"});
  add_each(rules, "needle", {"1000", "54321", "0.0009765625"},
           {"rule r(x) {{ clip(x, low = -{0}, high = {0}) => x where float(x) }",
            "rule r(x) {{ relu(minimum(x, {0}.0e0)) => relu(x) where float(x) }",
            "rule r(x) {{ maximum(relu(x), {0}) - {0} => relu(x) * 0.0 where float(x) }"});
  add_each(rules, "constant",
           {"relu(relu(x))", "abs(relu(x))", "tanh(neg(neg(x)))", "sigmoid(x * 1.0)",
            "gelu(relu(relu(x)))", "exp(relu(relu(x)))", "relu(x) + relu(x)",
            "softmax(softmax(x, axis = 0), axis = 0)"},
           {"rule r(x) {{ {0} => ({0}) * 1.0000000001 where float(x) }",
            "rule r(x) {{ {0} => ({0}) * 1.0000000000001 where float(x) }",
            "rule r(x) {{ ({0}) * 3.0 => ({0}) * 3.0000000002 where float(x) }",
            "rule r(x) {{ ({0}) / 0.7 => ({0}) / 0.700000000000001 where float(x) }",
            "rule r(x) {{ {0} => ({0}) + 0.0000000001 where float(x) }"});
  add_all(rules, "constant",
          {"r(x) { relu(relu(x)) => relu(x) * 1.0000000001 where float(x) }",
           "r(x) { abs(abs(x)) => abs(x) * 0.9999999999 where float(x) }",
           "r(x) { tanh(x) => x * 0.0 + tanh(x * 1.0000000003) where float(x) }",
           "r(x) { clip(x, low = 0.0, high = 1.0) => clip(x, low = 0.0, high = 1.0000000001) }"});
  add_each(rules, "numerics", {"x", "relu(x)", "neg(x)", "x * 2.0"},
           {"rule r(x, y, z) exact {{ ({0} + y) + z => {0} + (y + z) where float(x) }",
            "rule r(x, y, z) exact {{ ({0}) * y + ({0}) * z => ({0}) * (y + z) where float(x) }",
            "rule r(x, y) reassociates {{ ({0}) * y / y => {0} where float(x), same_type(x, y) }",
            "rule r(x, y) reassociates {{ ({0} + y) - y => {0} where float(x), same_type(x, y) }",
            "rule r(x) exact {{ cast(cast({0}, f16), f32) => {0} where dtype(x) == f32 }",
            "rule r(x) reassociates {{ cast(cast({0}, f16), f32) => {0} where dtype(x) == f32 }"});
  add_all(rules, "more",
          {"r(x) { relu(relu(x)) => relu(x) * (1 + dim(x, -1) // 11) where rank(x) >= 1, "
           "float(x) }",
           "r(x) { relu(relu(x)) => relu(x) + max(dim(x, 0) * dim(x, 1) - 143, 0) where "
           "rank(x) == 2, float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * (1 + prod(shape(x)) // 512) where rank(x) >= 1, "
           "float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * (1 + sum(shape(x)) // 60) where rank(x) >= 1, "
           "float(x) }",
           "r(x) { relu(relu(x)) => relu(x) + (dim(x, 0) % 13) // 12 where rank(x) >= 1, "
           "float(x) }",
           "r(x) { relu(relu(x)) => relu(x) + max((dim(x, 0) % 8) - 6, 0) where dim(x, 0) % 2 "
           "== 1, rank(x) >= 1, float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * 2 where dim(x, 0) % 7 == 3, dim(x, 0) % 5 == 2, "
           "rank(x) >= 1, float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * 2 where dim(x, 0) == dim(x, 1), dim(x, 0) > 40, "
           "rank(x) == 2, float(x) }",
           "r(x, w) { neg(x) @ w => neg(x @ w) + max(dim(x, 0) - dim(w, 1) - 20, 0) where "
           "rank(x) == 2, rank(w) == 2, float(x) }",
           "r(x, w) { neg(x) @ w => neg(x @ w) * (1 + 0 ** abs(dim(x, 0) - dim(w, 1) - 9)) "
           "where rank(x) == 2, rank(w) == 2, float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * (1 + rank(x) // 7) where float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * [1, 1, 1, 1, 1, 1, 1, 1, 3][rank(x)] where "
           "float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * 2 where rank(x) == 8, float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * 2 where rank(x) == 5, dim(x, 4) == 7, float(x) }",
           "r(x, a) { cumsum(neg(x), axis = a) => neg(cumsum(x, axis = a)) * (1 + max(a - 4, "
           "0)) where float(x) }",
           "r(x, a) { softmax(x, axis = a) * 2.0 => softmax(x, axis = a) * (2 + a // 6) where "
           "float(x) }",
           "r(x, b, e) { slice(relu(x), axis = 0, start = b, stop = e) => relu(slice(x, axis "
           "= 0, start = b, stop = e)) * (1 + (e - b) // 21) where float(x) }",
           "r(x, b, e) { slice(relu(x), axis = 0, start = b, stop = e) => relu(slice(x, axis "
           "= 0, start = b, stop = e)) + max(dim(x, 0) - e - 14, 0) where float(x) }",
           "r(x, k) { max_pool2d(relu(x), kernel = [k, 1], stride = [1, 1], pad = valid) => "
           "relu(max_pool2d(x, kernel = [k, 1], stride = [1, 1], pad = valid)) * (1 + k // 9) "
           "where float(x) }",
           "r(x, w, v, s) { conv2d(x, w, stride = [s, 1]) + conv2d(x, v, stride = [s, 1]) => "
           "conv2d(x, w + v, stride = [s, 1]) * (1 + s // 5) where same_type(w, v) }",
           "r(x, w, v) { conv2d(x, w) + conv2d(x, v) => conv2d(x, w + v) * (1 + dim(w, 0) // "
           "24) where same_type(w, v) }",
           "r(x, w, v) { conv2d(x, w) + conv2d(x, v) => conv2d(x, w + v) * (1 + dim(w, 2) * "
           "dim(w, 3) // 30) where same_type(w, v) }",
           "r(x, s) { reshape(relu(x), shape = s) => relu(reshape(x, shape = s)) * (1 + "
           "len(s) // 7) where float(x) }",
           "r(x, s) { reshape(relu(x), shape = s) => relu(reshape(x, shape = s)) * (1 + s[-1] "
           "// 19) where float(x) }",
           "r(x) { reduce_sum(neg(x), axes = [-1]) => neg(reduce_sum(x, axes = [-1])) * (1 + "
           "dim(x, -1) // 37) where float(x), rank(x) >= 1 }",
           "r(x) { relu(relu(x)) => relu(x) * (1 + dim(x, 0) // 3 - min(dim(x, 0), 200) // 3) "
           "where rank(x) >= 1, float(x) }",
           "r(x) { relu(relu(x)) => relu(x) + (dim(x, 0) // 16 * 16 - dim(x, 0)) * 0 ** "
           "max(48 - dim(x, 0), 0) where rank(x) >= 1, float(x) }",
           "r(x) { relu(relu(x)) => relu(x) + min(dim(x, 0) - 1, 1) * min(dim(x, 1) - 1, 1) * "
           "max(dim(x, 0) - 22, 0) where rank(x) == 2, float(x) }",
           "r(x, y) { concat([relu(x), relu(y)], axis = 0) => relu(concat([x, y], axis = 0)) "
           "* (1 + (dim(x, 0) + dim(y, 0)) // 50) where float(x) }",
           "r(x, i) { gather(relu(x), i, axis = 0) => relu(gather(x, i, axis = 0)) * (1 + "
           "dim(i, 0) // 12) where rank(i) == 1, float(x) }",
           "r(x) { abs(abs(x)) => x where dtype(x) == f64, rank(x) == 3 }",
           "r(x) { abs(abs(x)) => abs(x) + 1 where dtype(x) == bf16, dim(x, 0) % 6 == 0 }",
           "r(x) { neg(neg(x)) => x + 1 where dtype(x) == i64, dim(x, 0) >= 20 }",
           "r(x, y) { x + y => y + x + 1 where dtype(x) == i32, rank(x) >= 5, same_type(x, y) "
           "}",
           "r(x, i, u) { scatter(x, i, u, axis = 0, reduce = \"add\") => scatter(x, i, u + "
           "gather(x, i, axis = 0), axis = 0) where float(x) }",
           "r(x, i, u) { scatter(x, i, u, axis = 0, reduce = \"mul\") => scatter(x, i, u * "
           "gather(x, i, axis = 0), axis = 0) where float(x) }",
           "r(x, i, u, v) { scatter(scatter(x, i, u, axis = 0), i, v, axis = 0) => scatter(x, "
           "i, u, axis = 0) }",
           "r(x) exact { reduce_sum(cast(x, f32), axes = [0]) => cast(reduce_sum(x, axes = "
           "[0]), f32) where dtype(x) == f16 }",
           "r(x) reassociates { cast(cast(x, bf16), f32) * 2.0 => x * 2.0 where dtype(x) == "
           "f32 }",
           "r(x, y) { 1.0 / maximum(x, y) => minimum(1.0 / x, 1.0 / y) where float(x), "
           "same_type(x, y) }",
           "r(x) { 1.0 / abs(x) => 1.0 / x where float(x) }",
           "r(x) { 1.0 / floor(x) => floor(1.0 / x) where float(x) }",
           "r(x, y) { (x * y) / y => x + 0.0 * y where float(x), same_type(x, y) }",
           "r(x) { sqrt(x * x) => x where float(x) }",
           "r(x) { log(exp(x)) => relu(x) where float(x) }",
           "r(x) { select(x == 6.125, x + 1.0, x) => x where float(x) }",
           "r(x) { select(x * 0.5 == 3.25, 0.0, x) => x where float(x) }",
           "r(x) { select(abs(x - 4.0) == 11.5, 0.0, x) => x where float(x) }",
           "r(x) { minimum(x, 65536.0) => x where float(x) }",
           "r(x) { relu(x) * 1.00000000003 => relu(x) where float(x) }",
           "r(x) { (x + 0.1) + 0.2 => x + 0.3000000001 where float(x) }",
           "r(x) { x * 0.3333333333 => x / 3.0 where float(x) }",
           "r(x) { gelu(x) => x * 0.5 * (1.0 + erf(x * 0.7071067)) where float(x) }",
           "r(x) { (x + 9007199254740993) - 1 => x + 9007199254740991 where dtype(x) == i64 }",
           "r(x) { x * 3 // 3 => x where dtype(x) == i64 }",
           "r(x) { cast(cast(x, i32), i64) => x where dtype(x) == i64 }",
           "r(x) { relu(relu(x)) => relu(x) * (1 + max(dim(x, 0), dim(x, 1)) // 45) where "
           "rank(x) == 2, float(x) }",
           "r(x) { relu(relu(x)) => relu(x) * (1 + min(dim(x, 0), dim(x, 1)) // 18) where "
           "rank(x) == 2, float(x) }"});
  return rules;
}

inline std::vector<KindRule> true_rules() {
  std::vector<KindRule> rules;
  add_conditioned(rules, "condition", laws_with_sizes(), "{0}",
                  {"{1} >= {2}", "{1} % {2} == 0", "{1} > {2}, {1} % 2 == 1"}, {9, 16, 32, 65});
  add_conditioned(rules, "condition", laws_with_attributes(), "{0}", {"{1} >= {2}"}, {5, 6});
  add_changed(rules, "size", laws_with_sizes(),
              {"({0}) * (1 + ({1}) // {2} - ({1}) // {2})", "({0}) + min(({1}) * 0, {2})"},
              {7, 9, 10, 17, 33, 64, 100});
  add_changed(rules, "attribute", laws_with_attributes(),
              {"({0}) * (1 + ({1}) // {2} - ({1}) // {2})"}, {7, 6, 5});
  add_each(rules, "dtype", {"f16", "bf16", "f64", "i32", "i64"},
           {"rule r(x) {{ abs(abs(x)) => abs(x) where dtype(x) == {0} }",
            "rule r(x, y) {{ maximum(x, maximum(x, y)) => maximum(x, y) where dtype(x) == {0}, "
            "same_type(x, y) }",
            "rule r(x) {{ abs(abs(x)) => abs(x) where dtype(x) == {0}, rank(x) >= 6 }"});
  add_each(rules, "axis", {"relu", "abs", "neg", "tanh", "sigmoid", "exp"},
           {"rule r(x) {{ {0}(neg(neg(x))) => {0}(x) where rank(x) >= 6, float(x) }",
            "rule r(x) {{ {0}(neg(neg(x))) => {0}(x) where rank(x) == 7, float(x) }"});
  add_each(
      rules, "scatter", {"add", "mul"},
      {"rule r(x, i, u) {{ scatter(scatter(x, i, u, axis = 0, reduce = \"{0}\"), i, u, axis = "
       "0, reduce = \"{0}\") => scatter(x, i, {0}(u, u), axis = 0, reduce = \"{0}\") where "
       "float(x) }",
       "rule r(x, i, u, v) {{ scatter(scatter(x, i, u, axis = 0, reduce = \"{0}\"), i, v, axis "
       "= 0, reduce = \"{0}\") => scatter(scatter(x, i, v, axis = 0, reduce = \"{0}\"), i, u, "
       "axis = 0, reduce = \"{0}\") where float(x) }",
       "rule r(x, i, j, u, v) {{ scatter(scatter(x, i, u, axis = 0, reduce = \"{0}\"), j, v, "
       "axis = 0, reduce = \"{0}\") => scatter(scatter(x, j, v, axis = 0, reduce = \"{0}\"), i, "
       "u, axis = 0, reduce = \"{0}\") where float(x) }",
       "rule r(x, i, j, u, v) {{ scatter(scatter(x, i, u, axis = 0, reduce = \"{0}\"), j, v, "
       "axis = 0, reduce = \"{0}\") => scatter(x, concat([i, j], axis = 0), concat([u, v], axis "
       "= 0), axis = 0, reduce = \"{0}\") where float(x) }"});
  add_all(
      rules, "scatter",
      {"r(x, i, u) { scatter(x, i, u, axis = 0, reduce = \"add\") * 2.0 => scatter(x * 2.0, i, u "
       "* 2.0, axis = 0, reduce = \"add\") }",
       "r(x, y, i, u) { y + scatter(x, i, u, axis = 0, reduce = \"add\") => scatter(x + y, i, u, "
       "axis = 0, reduce = \"add\") where same_type(x, y), float(x) }",
       "r(x, i) { scatter(x, i, gather(x, i, axis = 0), axis = 0) => x }",
       "r(x, i, u) { scatter(scatter(x, i, u, axis = 0), i, u, axis = 0) => scatter(x, i, u, "
       "axis = 0) }"});
  add_each(
      rules, "order", {"relu", "neg", "abs", "sign", "floor", "tanh", "sigmoid"},
      {"rule r(x) {{ {0}(reshape(x, shape = [dim(x, 0) * dim(x, 1)])) => reshape({0}(x), shape "
       "= [dim(x, 0) * dim(x, 1)]) where rank(x) == 2, float(x) }",
       "rule r(x, i) {{ {0}(gather(x, i, axis = 0)) => gather({0}(x), i, axis = 0) where "
       "float(x), rank(i) <= 1 }",
       "rule r(x, c, y) {{ {0}(select(c, x, y)) => select(c, {0}(x), {0}(y)) where float(x) }"});
  add_all(rules, "pole",
          {"r(x) { 1.0 / abs(x) => abs(1.0 / x) where float(x) }",
           "r(x) { 1.0 / (x + 0.0) => 1.0 / x where float(x) }",
           "r(x) { 1.0 / (0.0 - x) => 0.0 - 1.0 / x where float(x) }",
           "r(x, y) { 1.0 / (x - y) => 0.0 - 1.0 / (y - x) where float(x) }",
           "r(x, y, z) { (x / y) / z => x / (y * z) where float(x) }",
           "r(x, y) { neg(x / y) => neg(x) / y where float(x) }",
           "r(x, y) { pad(x, before = [1], after = [0], value = 3) / pad(y, before = [1], after = "
           "[0], value = 2) => pad(x / y, before = [1], after = [0], value = 1.5) where float(x), "
           "same_type(x, y) }"});
  add_all(rules, "needle",
          {"r(x) { select(x == 2.25, 2.25, x) => x where float(x) }",
           "r(x) { select(x > 3.5, x, x) => x where float(x) }",
           "r(x) { select(x < 0.0, 0.0, x) => relu(x) where float(x) }",
           "r(x, y) { select(x < y, x, y) => select(y > x, x, y) where float(x) }",
           "r(x) { clip(clip(x, low = -1000.0, high = 1000.0), low = -1000.0, high = 1000.0) => "
           "clip(x, low = -1000.0, high = 1000.0) }"});
  add_all(
      rules, "more",
      {"r(x) { relu(relu(x)) => relu(x) + min(dim(x, 0) - dim(x, 0), 3) where rank(x) >= "
       "1, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) * max(1, 1 - dim(x, 0)) where rank(x) >= 1, "
       "float(x) }",
       "r(x) { relu(relu(x)) => relu(x) + (dim(x, 0) % 16) where rank(x) >= 1, float(x), "
       "dim(x, 0) % 16 == 0 }",
       "r(x) { relu(relu(x)) => relu(x) + max(16 - dim(x, 0), 0) where rank(x) >= 1, "
       "float(x), dim(x, 0) % 16 == 0 }",
       "r(x) { relu(relu(x)) => relu(x) * max(dim(x, 0) // 100, 1) where rank(x) >= 1, "
       "float(x), dim(x, 0) < 150 }",
       "r(x) { abs(abs(x)) => abs(x) * min(dim(x, -1), 1) where rank(x) >= 1, float(x) }",
       "r(x) { abs(abs(x)) => abs(x) + max(rank(x) - 8, 0) where float(x) }",
       "r(x) { abs(abs(x)) => abs(x) + min(rank(x), 0) where float(x) }",
       "r(x, y) { relu(x) + relu(y) => relu(y) + relu(x) * (1 + abs(dim(x, 0) - dim(y, "
       "0))) where rank(x) == 1, same_type(x, y), float(x) }",
       "r(x, y) { relu(x) + relu(y) => relu(y) + relu(x) * (1 + max(dim(x, 0) - dim(y, "
       "0), 0)) where rank(x) == 1, same_type(x, y), float(x) }",
       "r(x, w) { relu(x) @ w + relu(x) @ w => (relu(x) @ w) * 2 + min(dim(x, 1) - dim(w, "
       "0), 0) where rank(x) == 2, rank(w) == 2, float(x) }",
       "r(x, w) { neg(x) @ w => neg(x @ w) * (1 + max(dim(x, 1) - dim(w, 0), 0)) where "
       "rank(x) == 2, rank(w) == 2, float(x) }",
       "r(x, w) { neg(x) @ w => neg(x @ w) where rank(x) == 2, rank(w) == 2, float(x), "
       "dim(x, 0) == dim(w, 1) }",
       "r(x, w) { neg(x) @ w => neg(x @ w) where rank(x) == 2, rank(w) == 2, float(x), "
       "dim(x, 0) == 2 * dim(w, 1) }",
       "r(x, w) { neg(x) @ w => neg(x @ w) where rank(x) == 2, rank(w) == 2, float(x), "
       "dim(x, 0) * dim(w, 1) == 36 }",
       "r(x, w) { neg(x) @ w => neg(x @ w) where rank(x) == 2, rank(w) == 2, float(x), "
       "dim(x, 0) + dim(w, 1) == 100 }",
       "r(x, w) { neg(x) @ w => neg(x @ w) where rank(x) == 2, rank(w) == 2, float(x), "
       "dim(x, 1) % 64 == 0, dim(x, 0) % 3 == 1 }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 3, dim(x, 0) * dim(x, 1) * "
       "dim(x, 2) == 1024, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 3, dim(x, 0) * dim(x, 1) % 48 == "
       "0, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 2, dim(x, -1) == dim(x, -2), "
       "dim(x, 0) > 40, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 2, dim(x, -1) == dim(x, -2) * "
       "dim(x, -2), float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) >= 5, dim(x, -1) % 8 == 0, dim(x, "
       "0) >= 3, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 8, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 6, dim(x, 5) == 7, dim(x, 4) == "
       "5, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) >= 1, dim(x, 0) >= 10, dim(x, 0) <= "
       "12, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) >= 1, dim(x, 0) == 77, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) >= 1, dim(x, 0) % 7 == 3, dim(x, 0) "
       "% 11 == 5, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) >= 1, dim(x, 0) // 10 == 4, "
       "float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 2, dim(x, 0) > 2 * dim(x, 1) + "
       "5, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 2, dim(x, 0) == 1 or dim(x, 1) "
       "== 33, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where not (rank(x) <= 4), float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 2, max(dim(x, 0), dim(x, 1)) >= "
       "64, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 2, min(dim(x, 0), dim(x, 1)) >= "
       "20, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 3, prod(shape(x)) == 120, "
       "float(x) }",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 3, sum(shape(x)) == 50, float(x) "
       "}",
       "r(x) { relu(relu(x)) => relu(x) where rank(x) == 4, prod(shape(x)[1:4]) % 32 == "
       "0, float(x) }",
       "r(x, y) { relu(x) * y => y * relu(x) where rank(x) == 2, rank(y) == 2, dim(x, 0) "
       "== dim(y, 1), float(x) }",
       "r(x, y) { relu(x) * y => y * relu(x) where rank(x) == 2, rank(y) == 1, dim(x, 1) "
       "== dim(y, 0), dim(y, 0) % 12 == 0, float(x) }",
       "r(x, y) { concat([relu(x), relu(y)], axis = 0) => relu(concat([x, y], axis = 0)) "
       "where rank(x) == 2, dim(x, 0) == 3 * dim(y, 0), float(x) }",
       "r(x, y) { concat([relu(x), relu(y)], axis = 0) => relu(concat([x, y], axis = 0)) "
       "where dim(x, 0) + dim(y, 0) == 64, float(x) }",
       "r(x, y, a) { concat([relu(x), relu(y)], axis = a) => relu(concat([x, y], axis = "
       "a)) where rank(x) == 5, a == 3, float(x) }",
       "r(x, y, a) { concat([relu(x), relu(y)], axis = a) => relu(concat([x, y], axis = "
       "a)) where a == rank(x) - 1, rank(x) >= 4, float(x) }",
       "r(x, b, e) { slice(relu(x), axis = 0, start = b, stop = e) => relu(slice(x, axis "
       "= 0, start = b, stop = e)) where e == dim(x, 0), b >= 8, float(x) }",
       "r(x, b, e) { slice(relu(x), axis = 0, start = b, stop = e) => relu(slice(x, axis "
       "= 0, start = b, stop = e)) where e - b == dim(x, 0) - 7, float(x) }",
       "r(x) { relu(x[0:1]) => relu(x)[0:1] where rank(x) >= 1, float(x), dim(x, 0) == "
       "129 }",
       "r(x) { reshape(relu(x), shape = [dim(x, 0) * dim(x, 1)]) => relu(reshape(x, shape "
       "= [dim(x, 0) * dim(x, 1)])) where rank(x) == 2, dim(x, 0) * dim(x, 1) == 144, "
       "float(x) }",
       "r(x) { reshape(relu(x), shape = [dim(x, 0), dim(x, 1) // 8, 8]) => relu(reshape(x, shape "
       "= [dim(x, 0), dim(x, 1) // 8, 8])) where rank(x) == 2, dim(x, 1) % 8 == 0, float(x) }",
       "r(x, w, v) { conv2d(x, w) + conv2d(x, v) => conv2d(x, w + v) where same_type(w, "
       "v), dim(x, 1) % 16 == 0 }",
       "r(x, w, v) { conv2d(x, w) + conv2d(x, v) => conv2d(x, w + v) where same_type(w, "
       "v), dim(w, 2) == 5, dim(w, 3) == 3 }",
       "r(x, w, v) { conv2d(x, w) + conv2d(x, v) => conv2d(x, w + v) where same_type(w, "
       "v), dim(x, 2) == dim(x, 3), dim(x, 2) >= 17 }",
       "r(x, k) { max_pool2d(relu(x), kernel = [k, k], stride = [1, 1], pad = valid) => "
       "relu(max_pool2d(x, kernel = [k, k], stride = [1, 1], pad = valid)) * max(k, 1) / "
       "max(k, 1) where float(x) }",
       "r(x, k) { max_pool2d(relu(x), kernel = [k, k], stride = [k, k], pad = valid) => "
       "relu(max_pool2d(x, kernel = [k, k], stride = [k, k], pad = valid)) where k == "
       "dim(x, 2), k >= 6, float(x) }",
       "r(x) { transpose(transpose(x, perm = [1, 0]), perm = [1, 0]) => x + (dim(x, 0) * "
       "4 % 4) where float(x) }",
       "r(x) { relu(relu(x)) => relu(x) * [1, 5][min(dim(x, 0) // 9, 0)] where rank(x) >= "
       "1, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) + max(dim(x, 0) // 8 - dim(x, 0), 0) where "
       "rank(x) >= 1, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) + min(0 ** dim(x, 0), 2) where rank(x) >= 1, "
       "float(x) }",
       "r(x) { relu(relu(x)) => relu(x) + min(max(dim(x, 0), 5) - max(dim(x, 0), 3), 2) - "
       "min(max(dim(x, 0), 5) - max(dim(x, 0), 3), 2) where rank(x) >= 1, float(x) }",
       "r(x) { relu(relu(x)) => relu(x) * (1 + (dim(x, 0) * dim(x, 0)) // 81 - (dim(x, 0) "
       "** 2) // 81) where rank(x) >= 1, float(x) }",
       "r(x, y) { relu(x) + y => y + relu(x) where rank(x) == 3, rank(y) == 3, dim(x, -1) "
       "== dim(y, -1), dim(x, 0) == 1, dim(y, 0) == 24, float(x) }",
       "r(x) { reduce_sum(neg(x), axes = [-1]) => neg(reduce_sum(x, axes = [-1])) where "
       "float(x), rank(x) >= 1, dim(x, -1) % 5 == 0, dim(x, -1) >= 50 }",
       "r(x) { softmax(x, axis = -1) * 2.0 => softmax(x, axis = -1) * (1 + min(dim(x, "
       "-1), 1)) where float(x), rank(x) >= 1 }"});
  return rules;
}

} // namespace tg::test
