// Checks the code that errors recommend for operators of other libraries. All of it is built in a
// model. Code for one tensor, element by element, has to compute the same as that library.
#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/model.h"
#include "lang/check/resolve.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace tg {
namespace {

/// The inputs that the table's code may use, beside x.
constexpr llvm::StringLiteral kInputs =
    "y: f32[2, 4, 8], w: f32[8, 8], v: f32[8], h: f32[2, 16], c: f32[2, 16], "
    "image: f32[1, 4, 8, 8], filters: f32[6, 4, 3, 3], filters1: f32[6, 4, 1, 3], "
    "mask: bool[2, 4, 8], ids: i64[2, 3]";
constexpr llvm::StringLiteral kTypesOfX[] = {"f32[2, 4, 8]", "f32[2, 8]", "f32[1, 4, 8, 8]"};

/// Returns the text of a model that ends in the code. After a statement, a value is added.
std::string model_of(llvm::StringRef module, llvm::StringRef code, llvm::StringRef type_of_x) {
  std::string text = module.empty() ? "" : ("use " + module + "\n").str();
  text += ("model m(x: " + type_of_x + ", " + kInputs + ") {\n  " + code + "\n").str();
  llvm::StringRef word = code.take_while([](char c) { return c >= 'a' && c <= 'z'; });
  bool statement = word == "let" || word == "param" || word == "for";
  return text + (statement ? "  x\n}\n" : "}\n");
}

/// Returns the errors of a model's text, or "".
std::string faults(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> graph = load_model(sources, sources.add("hint.tg", text), {}, sink);
  std::string out;
  llvm::raw_string_ostream stream(out);
  for (const Diagnostic& d : sink.all()) render(d, sources, stream);
  if (!graph && !sink.failed()) stream << "no graph";
  return stream.str();
}

/// Returns the errors of the code for all types of x, or "" if the code is valid for one of them.
std::string faults(llvm::StringRef module, llvm::StringRef code) {
  std::string all;
  for (llvm::StringRef type : kTypesOfX) {
    std::string found = faults(model_of(module, code, type));
    if (found.empty()) return "";
    all += found;
  }
  return all;
}

/// Returns the code that a hint's text quotes, without its `{0}`.
std::vector<std::string> quoted(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, '`');
  std::vector<std::string> found;
  for (size_t i = 1; i < parts.size(); i += 2) found.push_back(parts[i].str());
  return found;
}

TEST(ForeignOps, CodeOfEveryHintIsAModel) {
  size_t with_code = 0;
  for (const ForeignOp& row : foreign_ops()) {
    EXPECT_EQ(row.code.empty(), !row.text.contains("{0}")) << row.names.str();
    if (row.code.empty()) continue;
    ++with_code;
    EXPECT_EQ(faults(row.module, row.code), "") << row.names.str();
  }
  EXPECT_GT(with_code, 100u);
  EXPECT_NE(faults("", "conv_transpose4d(image)"), "") << "the check can fail";
}

/// Code that the text itself quotes is either a word of the language or a model.
TEST(ForeignOps, QuoteOnlyExistingNames) {
  const std::set<std::string> words = {"for", "let",   "param", "fn",        "and",  "or",
                                       "not", "model", "if",    "extern op", "axis", "0..12"};
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("none.tg", "model m(x: f32[1]) { x }\n");
  Program program = load_program(sources, library(), file, sink);
  for (const ForeignOp& row : foreign_ops())
    for (const std::string& code : quoted(row.text)) {
      bool known = words.contains(code) || llvm::StringRef(code).startswith("tg ") ||
                   resolve_callee(program.modules[0], code).kind != Callee::Kind::Unknown ||
                   !library_module_of(library(), code).empty();
      EXPECT_TRUE(known || faults("", code).empty()) << row.names.str() << ": " << code;
    }
}

/// A name has one row. A name of the language itself would never be looked up,
/// so that it has no row, except for compile-time functions, to which a tensor may be passed
/// by mistake.
TEST(ForeignOps, NamesAreForeignAndUnique) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("none.tg", "model m(x: f32[1]) { x }\n");
  Program program = load_program(sources, library(), file, sink);
  std::set<std::string> seen;
  for (const ForeignOp& row : foreign_ops()) {
    llvm::SmallVector<llvm::StringRef, 8> names;
    row.names.split(names, ' ');
    for (llvm::StringRef name : names) {
      EXPECT_TRUE(seen.insert(name.str()).second) << name.str() << " occurs twice";
      EXPECT_EQ(idiom_of_function(name), row.help()) << name.str() << " finds another row";
      Callee callee = resolve_callee(program.modules[0], name);
      bool compile_time =
          callee.kind == Callee::Kind::Builtin && callee.builtin->kind == Builtin::Constant;
      EXPECT_TRUE(callee.kind == Callee::Kind::Unknown || compile_time) << name.str();
      EXPECT_EQ(library_module_of(library(), name), "") << name.str();
    }
  }
}

TEST(ForeignOps, NamesMatchInAnyCaseButClassesAsSuch) {
  EXPECT_EQ(idiom_of_function("HardSigmoid"), idiom_of_function("hardsigmoid"));
  EXPECT_EQ(idiom_of_function("hard_sigmoid"), idiom_of_function("hardsigmoid"));
  EXPECT_EQ(idiom_of_function("ConvTranspose1d"), idiom_of_function("conv_transpose1d"));
  EXPECT_NE(idiom_of_function("ConvTranspose2d"), "");
  EXPECT_NE(idiom_of_function("Conv2d"), "");
  EXPECT_EQ(idiom_of_function("conv_2d"), "") << "a slip for conv2d, not the class";
  EXPECT_EQ(idiom_of_function("rleu"), "");
  EXPECT_EQ(idiom_of_function(""), "");
}

/// Evaluates the code at each of these numbers on the reference backend.
std::vector<double> values(llvm::StringRef module, llvm::StringRef code,
                           const std::vector<double>& at) {
  std::vector<std::string> texts;
  for (double value : at) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
    texts.push_back(text);
  }
  std::string text = module.empty() ? "" : ("use " + module + "\n").str();
  text += "model m() {\n  let x = tensor([" + llvm::join(texts, ", ") +
          "], f32)\n  let r = " + code.str() + "\n  r\n}\n";
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> graph = load_model(sources, sources.add("hint.tg", text), {}, sink);
  if (!graph) return {};
  PrepareOptions options;
  options.backend = "ref";
  Result<Prepared> prepared = prepare_with_inputs(*graph, options);
  if (!prepared || !prepared->executable->run_once()) return {};
  Result<std::vector<Tensor>> outputs = prepared->executable->outputs();
  return outputs ? (*outputs)[0].doubles() : std::vector<double>();
}

using Function = double (*)(double);

double hard_sigmoid(double x) { return std::fmin(std::fmax(x + 3, 0), 6) / 6; }
double softplus(double x) { return std::log1p(std::exp(x)); }

TEST(ForeignOps, SuggestEqualPointwiseExpressions) {
  const std::map<std::string, Function> meanings = {
      {"rint", [](double x) { return std::nearbyint(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
      {"frac", [](double x) { return x - std::trunc(x); }},
      {"square", [](double x) { return x * x; }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"exp2", [](double x) { return std::exp2(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"log10", [](double x) { return std::log10(x); }},
      {"arcsin", [](double x) { return std::asin(x); }},
      {"arccos", [](double x) { return std::acos(x); }},
      {"arctan", [](double x) { return std::atan(x); }},
      {"arcsinh", [](double x) { return std::asinh(x); }},
      {"arccosh", [](double x) { return std::acosh(x); }},
      {"arctanh", [](double x) { return std::atanh(x); }},
      {"erfc", [](double x) { return std::erfc(x); }},
      {"hardtanh", [](double x) { return std::fmin(std::fmax(x, -1), 1); }},
      {"swish", [](double x) { return x / (1 + std::exp(-x)); }},
      {"hardsigmoid", hard_sigmoid},
      {"celu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"selu", [](double x) { return 1.0507 * (x > 0 ? x : 1.67326 * std::expm1(x)); }},
      {"log_sigmoid", [](double x) { return -softplus(-x); }},
      {"softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"tanhshrink", [](double x) { return x - std::tanh(x); }},
      {"softshrink", [](double x) { return x > 0.5    ? x - 0.5
                                           : x < -0.5 ? x + 0.5
                                                      : 0; }},
      {"hardshrink", [](double x) { return std::fabs(x) > 0.5 ? x : 0; }},
      {"quick_gelu", [](double x) { return x / (1 + std::exp(-1.702 * x)); }},
  };
  const std::vector<double> at = {-2.5, -1.75, -0.75, -0.25, 0.25, 0.75, 1.5, 2.75, 6.5};
  size_t tried = 0;
  for (const ForeignOp& row : foreign_ops())
    for (const auto& [name, meaning] : meanings) {
      llvm::SmallVector<llvm::StringRef, 8> names;
      row.names.split(names, ' ');
      if (!llvm::is_contained(names, name)) continue;
      ++tried;
      std::vector<double> got = values(row.module, row.code, at);
      ASSERT_EQ(got.size(), at.size()) << name;
      for (size_t i = 0; i < at.size(); ++i) {
        double want = meaning(at[i]);
        if (std::isnan(want))
          EXPECT_TRUE(std::isnan(got[i])) << name << " at " << at[i];
        else
          EXPECT_NEAR(got[i], want, 2e-6 * (1 + std::fabs(want))) << name << " at " << at[i];
      }
    }
  EXPECT_EQ(tried, meanings.size());
}

} // namespace
} // namespace tg
