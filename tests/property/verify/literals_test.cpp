// Tests that literals are rationals. Functions that differ only in a literal are different,
// however small the difference, and equal if one literal is the other one rounded to float64.
// Each pair is tested as two models, and some pairs as rules.
#include "compiler/api/files/model.h"
#include "compiler/rules/from_ast.h"
#include "compiler/verify/counterexample/extended.h"
#include "compiler/verify/equivalent.h"
#include "compiler/verify/verify_rule.h"
#include "lang/core/support/random.h"
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

using Verdict = Equivalence::Verdict;

Graph model(const std::string& body) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("case.tg", "model m(x: f32[3], y: f32[3]) { " + body + " }\n");
  std::optional<Graph> graph = load_model(sources, file, {}, sink);
  for (const Diagnostic& d : sink.all()) ADD_FAILURE() << body << ": " << d.message;
  return graph ? std::move(*graph) : Graph(std::make_shared<Symbols>());
}

Equivalence compared(const std::string& left, const std::string& right) {
  Result<Equivalence> result = check_equivalence(model(left), model(right), {});
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Equivalence();
}

/// Returns the worst status of all forms of the rule: "refuted", "tested", ...
RuleVerdict::Status verdict_of(const std::string& left, const std::string& right) {
  SourceManager sources;
  DiagnosticSink sink;
  const llvm::StringRef text = left;
  const bool two = text.contains(", y") || text.contains("(y)");
  FileId file = sources.add("rule.tg", std::string(two ? "rule r(x, y) { " : "rule r(x) { ") +
                                           left + " => " + right + " where float(x)" +
                                           (two ? ", same_type(x, y) }\n" : " }\n"));
  std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
  for (const Diagnostic& d : sink.all()) ADD_FAILURE() << left << ": " << d.message;
  RuleCheckOptions options;
  options.smaller = 0;
  auto status = RuleVerdict::Status::Tested;
  for (const Rule& rule : rules) status = std::max(status, verify_rule(rule, options).status);
  return status;
}

std::string text(double x) { return Value::of_float(x).text_form(); }

/// Places of a literal, written as `{0}`. The field considers some of these sides different anyway,
/// and some equal except for the literal.
const std::vector<const char*>& places() {
  static const std::vector<const char*> kPlaces = {
      "x * {0}",
      "relu(relu(x)) * {0}",
      "abs(relu(x)) + {0}",
      "tanh(x * {0})",
      "sigmoid(x) / {0}",
      "exp(relu(relu(x))) - {0}",
      "softmax(softmax(x, axis = 0), axis = 0) * {0}",
      "relu(relu(x)) * {0} + relu(y) * {0}",
      "relu(relu(x)) * 3.0 * {0}",
      "clip(relu(relu(x)), low = 0.0, high = {0})",
      "clip(x, low = -{0}, high = 8.0)",
      "elu(relu(x) - 2.0, alpha = {0})",
      "leaky_relu(x - 1.0, alpha = {0})",
      "minimum(relu(relu(x * 9.0)), {0})",
      "pad(relu(relu(x)), before = [1], after = [0], value = {0})",
      "select(x > 0.25, relu(x) * {0}, y)",
      "select(x > {0}, y, x)",
      "cast(x <= {0}, f32)",
  };
  return kPlaces;
}

TEST(Literals, OtherNumbersAreOtherFunctions) {
  // Literals are decided with more digits than float64 has, which not every machine supports.
  if (!kHasExtended) GTEST_SKIP() << "no scalar has more digits than float64";
  size_t tried = 0;
  for (const char* place : places())
    for (double literal : {1.0, 0.7, 2.0 / 3})
      for (double gap : {1e-9, 1e-11, 1e-13, 2e-15}) {
        std::string left = llvm::formatv(place, text(literal));
        std::string right = llvm::formatv(place, text(literal * (1 + gap)));
        Equivalence result = compared(left, right);
        EXPECT_EQ(verdict_name(result.verdict).str(), "different") << left << "  and  " << right;
        ++tried;
      }
  EXPECT_GE(tried, 200u);
}

TEST(Literals, RulesWithOtherNumbersAreRefuted) {
  // Literals are decided with more digits than float64 has, which not every machine supports.
  if (!kHasExtended) GTEST_SKIP() << "no scalar has more digits than float64";
  size_t at = 0;
  for (const char* place : places())
    for (double gap : {1e-10, 1e-12, 1e-14}) {
      if (at++ % 4 != 0 || llvm::StringRef(place).startswith("pad")) continue;
      std::string left = llvm::formatv(place, text(0.7));
      std::string right = llvm::formatv(place, text(0.7 * (1 + gap)));
      EXPECT_EQ(verdict_of(left, right), RuleVerdict::Status::Refuted) << left << " => " << right;
    }
}

/// A compiler's folding of literals, computed in float64 step by step.
struct Folding {
  std::string left, right;
};

std::vector<Folding> foldings(double a, double b, double c) {
  std::vector<Folding> all;
  for (const char* f : {"x", "relu(relu(x))", "exp(relu(relu(x)))"}) {
    std::string once = llvm::formatv("({0})", f), x = f == std::string("x") ? "x" : "relu(x)";
    if (llvm::StringRef(f).startswith("exp")) x = "exp(relu(x))";
    auto add = [&](const std::string& left, const std::string& right) {
      all.push_back({once + left, x + right});
    };
    add(" * " + text(a) + " * " + text(b), " * " + text(a * b));
    add(" * " + text(a) + " * " + text(b) + " * " + text(c), " * " + text(a * b * c));
    add(" / " + text(a), " * " + text(1 / a));
    add(" / " + text(a) + " / " + text(b), " * " + text(1 / a / b));
    add(" + " + text(a) + " + " + text(b), " + " + text(a + b));
    add(" * (" + text(a) + " + " + text(b) + ")", " * " + text(a + b));
    add(" * (" + text(a) + " - " + text(b) + ") * " + text(c), " * " + text((a - b) * c));
  }
  return all;
}

TEST(Literals, RoundedNumbersAreTheSameFunctions) {
  const double given[][3] = {{0.1, 3, 7},       {0.1, 0.2, 0.3}, {0.7, 0.1, 10},
                             {3, 7, 11},        {1.1, 2.2, 3.3}, {1e-5, 123.456, 0.9},
                             {0.57721, 1e6, 3}, {49, 0.3, 1.7}};
  std::vector<Folding> all;
  for (const auto& n : given) llvm::append_range(all, foldings(n[0], n[1], n[2]));
  RandomStream stream(11, "literals");
  for (uint64_t i = 0; i < 10; ++i) {
    auto drawn = [&](uint64_t k) { // with few decimal digits
      return static_cast<double>(1 + stream.bits(3 * i + k) % 9999) / 1000;
    };
    llvm::append_range(all, foldings(drawn(0), drawn(1), drawn(2)));
  }
  for (const Folding& f : all) {
    Equivalence result = compared(f.left, f.right);
    EXPECT_TRUE(result.equal()) << f.left << "  and  " << f.right << ": "
                                << verdict_name(result.verdict).str() << result.undecided;
  }
  EXPECT_GE(all.size(), 350u);
}

TEST(Literals, RulesWithRoundedNumbersAreTested) {
  const std::pair<const char*, const char*> rules[] = {
      {"x / 3.0", "x * 0.3333333333333333"},
      {"x * 0.1 * 3.0", "x * 0.3"},
      {"x * 0.1 * 3.0", "x * 0.30000000000000004"},
      {"gelu(x)", "x * (1.0 + erf(x / 1.4142135623730951)) / 2.0"},
      {"gelu(x)", "x * 0.5 * (1.0 + erf(x * 0.7071067811865476))"},
      {"gelu(x)", "x * 0.5 * (1.0 + erf(x * 0.7071067811865475))"},
      {"relu(relu(x)) * 0.1 * 0.1", "relu(x) * 0.010000000000000002"},
      {"log(x) / 0.6931471805599453 * 0.6931471805599453", "log(x)"},
      {"sigmoid(x)", "0.5 * tanh(0.5 * x) + 0.5"},
      {"hardswish(x)", "x * clip(x * 0.16666666666666666 + 0.5, low = 0.0, high = 1.0)"},
  };
  for (auto [left, right] : rules)
    EXPECT_EQ(verdict_of(left, right), RuleVerdict::Status::Tested) << left << " => " << right;
}

} // namespace
} // namespace tg
