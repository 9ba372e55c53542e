// Tests selections of rules: files, modules, sets, single rules, and rules that are switched off.
#include "compiler/rules/from_ast.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

const EmbeddedFile kFiles[] = {
    {"rules/default.tg", "use rules.one\nuse rules.two: twice\n"},
    {"rules/one.tg", "ruleset first\nrule relu_twice(x) { relu(relu(x)) => relu(x) }\n"
                     "rule neg_twice(x) { -(-x) => x }\n"},
    {"rules/two.tg", "rule twice(x) { x + x <=> 2 * x }\nrule half(x) { x / 2 => x * 0.5 }\n"},
    {"rules/zwei.tg", "rule half(x) { x / 2 => x * 0.5 }\n"},
};

const EmbeddedFile kCycle[] = {
    {"rules/cycle.tg", "use rules.cycle2\n"},
    {"rules/cycle2.tg", "use rules.cycle\n"},
};

struct RuleLoad : testing::Test {
  /// Returns the names of the selected rules, or the first error's code.
  std::string load(std::initializer_list<std::string> selection,
                   llvm::ArrayRef<EmbeddedFile> files = kFiles) {
    sink = {};
    EmbeddedLoader loader(files);
    std::vector<std::string> entries(selection);
    std::optional<std::vector<Rule>> rules = load_rules(sources, loader, entries, sink);
    if (!rules) return sink.all().empty() ? "no error" : code_text(sink.all()[0].code);
    std::string names;
    for (const Rule& rule : *rules) names += (names.empty() ? "" : " ") + rule.name;
    return names;
  }
  SourceManager sources;
  DiagnosticSink sink;
};

TEST_F(RuleLoad, UsesTheDefaultForAnEmptySelection) {
  EXPECT_EQ(load({}), "relu_twice neg_twice twice twice-rev twice-rev~2");
  EXPECT_EQ(load({"default"}), load({}));
}

TEST_F(RuleLoad, ModulesSetsAndSingleRules) {
  EXPECT_EQ(load({"one"}), "relu_twice neg_twice");
  EXPECT_EQ(load({"rules.one"}), "relu_twice neg_twice");
  EXPECT_EQ(load({"first"}), "relu_twice neg_twice");
  EXPECT_EQ(load({"half"}), "half");
  EXPECT_EQ(load({"twice-rev"}), "twice-rev");
  EXPECT_EQ(load({"half", "one", "half"}), "half relu_twice neg_twice");
}

TEST_F(RuleLoad, SwitchingOff) {
  EXPECT_EQ(load({"-twice"}), "relu_twice neg_twice");
  EXPECT_EQ(load({"one", "-neg_twice"}), "relu_twice");
  EXPECT_EQ(load({"-first"}), "twice twice-rev twice-rev~2");
  EXPECT_EQ(load({"one", "-half"}), "relu_twice neg_twice"); // not selected before
}

TEST_F(RuleLoad, Mistakes) {
  EXPECT_EQ(load({"onne"}), "E0305");
  EXPECT_EQ(sink.all()[0].help, "did you mean `one`?");
  EXPECT_EQ(load({"one", "-tvice"}), "E0305");
  EXPECT_EQ(load({"cycle"}, kCycle), "E0209");
  EXPECT_EQ(load({"two", "zwei"}), "E0202"); // two rules with one name
  EXPECT_EQ(load({"no_such_file.tg"}), "E0501");
}

TEST_F(RuleLoad, RulesKnowWhereTheyStand) {
  EmbeddedLoader loader(kFiles);
  std::optional<std::vector<Rule>> rules =
      load_rules(sources, loader, {std::string("neg_twice")}, sink);
  ASSERT_TRUE(rules && rules->size() == 1);
  EXPECT_EQ((*rules)[0].file, "rules/one.tg");
  EXPECT_EQ((*rules)[0].line, 3u);
  EXPECT_EQ((*rules)[0].set, "first");
  EXPECT_EQ((*rules)[0].declared, "neg_twice");
}

} // namespace
} // namespace tg
