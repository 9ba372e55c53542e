// Tests operators of other libraries through the public API: they are declared in a model, used in
// rules, and run by kernels that the program supplies.
#include "tangram/tangram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace tangram {
namespace {

constexpr const char* kModel = R"(
extern op reversed(x: T[N, S...]) -> T[N, S...]
extern op pairs(x: f32[N, C], y: f32[N]) -> f32[N, 2 * C]

model m(x: f32[3, 2], y: f32[3]) -> (a: f32[3, 2], b: f32[3, 4]) {
  let twice = reversed(reversed(x))
  (relu(twice + 1), pairs(twice, reversed(y)))
}
)";

constexpr const char* kRules = R"(
extern op reversed(x: T[N, S...]) -> T[N, S...]

rule reversed_twice(x) exact { reversed(reversed(x)) => x }
)";

ExternOp reversed() {
  return {"extern op reversed(x: T[N, S...]) -> T[N, S...]",
          [](const std::vector<ConstTensorView>& operands, const TensorView& result) {
            const ConstTensorView& x = operands[0];
            EXPECT_EQ(x.dtype, DType::F32);
            EXPECT_EQ(x.shape, result.shape);
            int64_t row = 1;
            for (size_t i = 1; i < x.shape.size(); ++i) row *= x.shape[i];
            const float* from = static_cast<const float*>(x.data);
            for (int64_t i = 0; i < x.shape[0]; ++i)
              std::copy_n(from + i * row, row,
                          static_cast<float*>(result.data) + (x.shape[0] - 1 - i) * row);
          }};
}

/// Concatenates each row of x with C copies of the element of y.
ExternOp pairs() {
  return {"extern op pairs(rows: f32[N, C], y: f32[N]) -> f32[N, 2 * C]",
          [](const std::vector<ConstTensorView>& operands, const TensorView& result) {
            int64_t n = operands[0].shape[0], c = operands[0].shape[1];
            const float* x = static_cast<const float*>(operands[0].data);
            const float* y = static_cast<const float*>(operands[1].data);
            float* out = static_cast<float*>(result.data);
            for (int64_t i = 0; i < n; ++i) {
              std::copy_n(x + i * c, c, out + 2 * i * c);
              std::fill_n(out + (2 * i + 1) * c, c, y[i]);
            }
          }};
}

std::vector<Tensor> inputs() { return {{{3, 2}, {1, -2, 3, 4, 5, 6}}, {{3}, {7, 8, 9}}}; }

void expect_outputs(const Model& model, const CompileOptions& options) {
  auto program = compile(model, options);
  ASSERT_TRUE(program) << program.error().text();
  for (int run = 0; run < 2; ++run) {
    auto outputs = program->run(inputs());
    ASSERT_TRUE(outputs) << outputs.error().text();
    EXPECT_EQ((*outputs)[0].data, (std::vector<float>{2, 0, 4, 5, 6, 7}));
    EXPECT_EQ((*outputs)[1].data, (std::vector<float>{1, -2, 9, 9, 3, 4, 8, 8, 5, 6, 7, 7}));
  }
}

TEST(ExternOps, RunOnEveryBackend) {
  auto model = parse(kModel);
  ASSERT_TRUE(model) << model.error().text();
  for (Backend backend : {Backend::Ref, Backend::Cpu}) {
    SCOPED_TRACE(word(backend));
    expect_outputs(*model, {.backend = backend, .externs = {reversed(), pairs()}});
  }
}

TEST(ExternOps, WithoutAKernelAreRefused) {
  auto model = parse(kModel);
  ASSERT_TRUE(model);
  for (Backend backend : {Backend::Ref, Backend::Cpu}) {
    auto program = compile(*model, {.backend = backend, .externs = {reversed()}});
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().diagnostics[0].code, "E0705");
    EXPECT_NE(program.error().text().find("pairs"), std::string::npos);
  }
  ExternOp other = reversed();
  other.declaration = "extern op reversed(x: f32[N]) -> f32[N]";
  auto program = compile(*model, {.backend = Backend::Ref, .externs = {other, pairs()}});
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().text().find("for a different type"), std::string::npos)
      << program.error().text();
}

TEST(ExternOps, BadDeclarationsAreSaid) {
  auto model = parse("model m(x: f32[2]) { relu(x) }");
  ASSERT_TRUE(model);
  ExternOp op = reversed();
  for (const char* text : {"", "fn f(x: f32[N]) { x }", "extern op f(x: f32[N]) -> f32[M]",
                           "extern op f(x: f32[N], n: int) -> f32[N]", "extern op f("}) {
    op.declaration = text;
    EXPECT_FALSE(compile(*model, {.backend = Backend::Ref, .externs = {op}})) << text;
  }
  EXPECT_FALSE(
      compile(*model, {.backend = Backend::Ref, .externs = {{reversed().declaration, {}}}}));
}

/// The rule is false for a random function and true for this kernel, so that it has to be trusted.
TEST(ExternOps, RulesOverThemAreAppliedAndTheResultRuns) {
  auto model = parse(kModel);
  ASSERT_TRUE(model);
  OptimizeOptions options{
      .search = Search::Saturate, .extract = Extractor::Greedy, .rule_text = kRules};
  auto refused = optimize(*model, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().diagnostics[0].code, "E0306");
  options.trust_rules = true;
  auto fast = optimize(*model, options);
  ASSERT_TRUE(fast) << fast.error().text();
  EXPECT_TRUE(std::any_of(fast->report.rules_applied.begin(), fast->report.rules_applied.end(),
                          [](const auto& rule) { return rule.first == "reversed_twice"; }));
  EXPECT_LT(fast->model.op_count(), model->op_count());
  for (Backend backend : {Backend::Ref, Backend::Cpu})
    expect_outputs(fast->model, {.backend = backend, .externs = {reversed(), pairs()}});
  auto again = parse(fast->model.text());
  ASSERT_TRUE(again) << again.error().text();
  expect_outputs(*again, {.backend = Backend::Ref, .externs = {reversed(), pairs()}});
}

/// The rule holds for every function, so that it is verified without trust.
TEST(ExternOps, RulesThatHoldForAnyFunctionAreVerified) {
  auto model = parse(R"(
extern op noise(x: f32[N, M]) -> f32[N, M]
model m(x: f32[2, 3]) { noise(x * 1) + noise(x) }
)");
  ASSERT_TRUE(model) << model.error().text();
  auto fast = optimize(*model, {.extract = Extractor::Greedy, .rule_text = R"(
extern op noise(x: f32[N, M]) -> f32[N, M]
rule noise_of_one(x) exact { noise(x * 1) => noise(x) }
rule once(x) exact { noise(x) + noise(x) => 2 * noise(x) }
)"});
  ASSERT_TRUE(fast) << fast.error().text();
  EXPECT_LT(fast->model.op_count(), model->op_count());
}

TEST(ExternOps, ModelsAreComparedWithRandomFunctionsInTheirPlace) {
  auto model = parse("extern op f(x: f32[N]) -> f32[N]\nmodel m(x: f32[4]) { f(x) }");
  ASSERT_TRUE(model);
  auto wrong = optimize(*model, {.rule_text = R"(
extern op f(x: f32[N]) -> f32[N]
rule wrong(x) { f(x) => f(-x) }
)"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().diagnostics[0].code, "E0306");
}

// --- weights from a file -------------------------------------------------------------------------

/// A .safetensors file of one f32 tensor.
std::string weights_file(const std::string& name, const std::vector<float>& values) {
  std::string path = testing::TempDir() + "extern_op_test.safetensors";
  std::string header = "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" +
                       std::to_string(values.size()) + "],\"data_offsets\":[0," +
                       std::to_string(4 * values.size()) + "]}}";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  uint64_t length = header.size();
  std::fwrite(&length, 8, 1, file);
  std::fwrite(header.data(), 1, header.size(), file);
  std::fwrite(values.data(), 4, values.size(), file);
  std::fclose(file);
  return path;
}

TEST(WeightsFile, GivesTheWeightsOfAProgram) {
  auto model = parse("model m(x: f32[3]) { param w: f32[3]\n x + w }");
  ASSERT_TRUE(model);
  std::string path = weights_file("w", {10, 20, 30});
  auto program = compile(*model, {.backend = Backend::Ref, .weights_file = path});
  ASSERT_TRUE(program) << program.error().text();
  auto outputs = program->run({{{3}, {1, 2, 3}}});
  ASSERT_TRUE(outputs);
  EXPECT_EQ((*outputs)[0].data, (std::vector<float>{11, 22, 33}));
}

TEST(WeightsFile, ReportsMissingWeights) {
  auto model = parse("model m(x: f32[3]) { param w: f32[3]\n x + w }");
  ASSERT_TRUE(model);
  auto code = [&](const CompileOptions& options) -> std::string {
    auto program = compile(*model, options);
    return program ? "" : program.error().diagnostics[0].code;
  };
  EXPECT_EQ(code({.backend = Backend::Ref, .weights_file = weights_file("v", {1, 2, 3})}), "E0506");
  EXPECT_EQ(code({.backend = Backend::Ref, .weights_file = weights_file("w", {1, 2})}), "E0507");
  EXPECT_EQ(code({.backend = Backend::Ref, .weights_file = "/nowhere.safetensors"}), "E0501");
  CompileOptions both{.backend = Backend::Ref, .weights_file = weights_file("w", {1, 2, 3})};
  both.weights = [](const std::string&, const std::vector<int64_t>& shape) {
    return Tensor{shape, {1, 2, 3}};
  };
  EXPECT_EQ(code(both), "E0901");
}

} // namespace
} // namespace tangram
