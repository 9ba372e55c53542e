// Embeds Tangram: parses, optimises, compiles and runs a model. An error in a model or a rule gives
// a diagnostic, not a crash. Requires the installed package, but not the source tree.
#include <tangram/tangram.h>

#include <cmath>
#include <cstdio>

namespace {

constexpr const char* kModel = R"(
## Two products that share their left operand, and a bias.
model twins(x: f32[4, 8]) -> (left: f32[4, 16], right: f32[4, 16]) {
  param a: f32[8, 16]
  param b: f32[8, 16]
  param c: f32[16]
  let y = x @ a + c
  (relu(y) - relu(-y), x @ b)
}
)";

constexpr const char* kRule = R"(
## What is above zero, less what is below it.
rule both_signs(x) { relu(x) - relu(-x) => x where float(x) }
)";

int report(const tangram::Error& error) {
  std::fputs(error.text().c_str(), stderr);
  return 1;
}

/// Returns a tensor with the elements 0.1, -0.2, 0.3, ...
tangram::Tensor ramp(const std::vector<int64_t>& shape) {
  tangram::Tensor tensor{shape, {}};
  int64_t elements = 1;
  for (int64_t size : shape) elements *= size;
  for (int64_t i = 0; i < elements; ++i)
    tensor.data.push_back((i % 2 ? -0.1f : 0.1f) * float(i + 1));
  return tensor;
}

} // namespace

int main() {
  auto model = tangram::parse(kModel, "twins.tg");
  if (!model) return report(model.error());

  // Uses one built-in rule and one of our own. Without `rules`, all built-in rules are used.
  auto fast = tangram::optimize(
      *model, {.extract = tangram::Extractor::Greedy, .rules = {"relu_relu"}, .rule_text = kRule});
  if (!fast) return report(fast.error());
  std::printf("%s: %zu operators, then %zu\n", model->name().c_str(), model->op_count(),
              fast->model.op_count());

  auto before = tangram::compile(*model, {.backend = tangram::Backend::Ref});
  auto after = tangram::compile(fast->model, {.backend = tangram::Backend::Ref});
  if (!before) return report(before.error());
  if (!after) return report(after.error());
  auto expected = before->run({ramp({4, 8})});
  auto got = after->run({ramp({4, 8})});
  if (!expected) return report(expected.error());
  if (!got) return report(got.error());

  double difference = 0;
  for (size_t i = 0; i < expected->size(); ++i)
    for (size_t k = 0; k < (*expected)[i].data.size(); ++k)
      difference = std::fmax(difference, std::fabs((*expected)[i].data[k] - (*got)[i].data[k]));
  std::printf("%zu outputs, %s\n", got->size(), difference < 1e-4 ? "equal" : "different");

  auto wrong = tangram::parse("model bad(x: f32[4, 3], w: f32[5, 2]) { x @ w }", "bad.tg");
  std::printf("a mistake: %s\n", wrong ? "not seen" : wrong.error().diagnostics[0].code.c_str());

  // Verifies our rule. A false rule is rejected with a counterexample.
  auto verdicts = tangram::verify_rules({.rule_text = kRule});
  if (!verdicts) return report(verdicts.error());
  for (const tangram::RuleVerdict& verdict : *verdicts)
    std::printf("%s: %s at %zu instances\n", verdict.rule.c_str(),
                std::string(tangram::word(verdict.status)).c_str(), verdict.cases);
  auto refused = tangram::optimize(*model, {.rule_text = "rule r(x) { relu(x) => tanh(x) }"});
  std::printf("a wrong rule: %s\n",
              refused ? "not seen" : refused.error().diagnostics[0].code.c_str());
  return difference < 1e-4 && !wrong && !refused ? 0 : 1;
}
