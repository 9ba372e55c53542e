// Tests that every rule of rules/taso.tg fires when it is the only rule.
// On a model of its left side (in taso_models.tg, with the rule's name),
// the engine explores with that rule, extracts, and reports the result. All reports
// are in taso_models.out, so that a change of the engine, of prices or of a rule shows up
// as a difference in the text. If TG_UPDATE is set in the environment, the file is written again.
// Check the difference before a commit.
#include "compiler/api/files/model.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/optimize.h"
#include "lang/syntax/parse.h"
#include "tests/property/rules/library.h"

#include <gtest/gtest.h>

#include <llvm/Support/Regex.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tg {
namespace {

constexpr const char* kModels = TG_SOURCE_DIR "/tests/property/rules/taso_models.tg";
constexpr const char* kExpected = TG_SOURCE_DIR "/tests/property/rules/taso_models.out";

std::string read_file(const char* path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Optimises the model with only these rules, and returns the report.
std::string optimised(const Graph& source, llvm::ArrayRef<Rule> rules) {
  Result<std::unique_ptr<CostModel>> costs = make_analytic_cost("cpu");
  EXPECT_TRUE(costs);
  OptimizeOptions options;
  options.explore.iterations = 3;
  options.extract.extractor = Extractor::Greedy;
  Result<Optimized> result = optimize(source, rules, **costs, options, nullptr);
  if (!result) return "error: " + result.error().message + "\n";
  const OptimizeReport& report = result->report;
  std::string text = llvm::formatv("{0}: {1} e-nodes in {2} classes; {3}\n", report.model,
                                   report.egraph_nodes, report.egraph_classes, report.stopped_by);
  for (const RuleActivity& rule : report.activity)
    text +=
        llvm::formatv("  {0}  matched {1}, changed x{2}\n", rule.rule, rule.matches, rule.applied);
  text +=
      llvm::formatv("  {0} operators, {1:f2} us: {2} operators, {3:f2} us\n", report.nodes_before,
                    report.cost_before_us, report.nodes_after, report.cost_after_us);
  if (report.changed()) text += to_text(result->graph);
  return text + "\n";
}

/// Pairs of a model and a rule with the same name, in order.
class TasoRules {
public:
  TasoRules() : rules_(test::library()) {
    Result<FileId> file = load_file(sources_, kModels);
    EXPECT_TRUE(file) << "no " << kModels;
    if (file) program_ = load_program(sources_, library(), *file, sink_);
    for (const Diagnostic& d : sink_.all()) render(d, sources_, llvm::errs());
  }

  /// Returns the declared names of the rules in order.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Rule& rule : rules_)
      if (llvm::StringRef(rule.declared).startswith("taso_") &&
          (names.empty() || names.back() != rule.declared))
        names.push_back(rule.declared);
    return names;
  }

  std::string run(const std::string& name) {
    std::vector<Rule> own;
    for (const Rule& rule : rules_)
      if (rule.declared == name) own.push_back(rule);
    std::optional<Graph> source = build_graph(*program_, {name, {}}, sink_);
    return source ? optimised(*source, own) : "no model " + name + "\n";
  }

private:
  std::vector<Rule> rules_;
  SourceManager sources_;
  DiagnosticSink sink_;
  std::optional<Program> program_;
};

TEST(TasoRules, FireAloneAndAreReported) {
  TasoRules taso;
  std::string found;
  size_t count = 0;
  for (const std::string& name : taso.names()) {
    std::string text = taso.run(name);
    EXPECT_NE(llvm::Regex("changed x[1-9]").match(text), false) << "does not fire: " << text;
    found += text;
    ++count;
  }
  EXPECT_EQ(count, 139u);
  if (std::getenv("TG_UPDATE")) std::ofstream(kExpected) << found;
  EXPECT_EQ(found, read_file(kExpected));
}

} // namespace
} // namespace tg
