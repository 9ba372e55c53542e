// Tests the format of messages, character by character.
#include "lang/core/diagnostics/diagnostic.h"

#include <gtest/gtest.h>

#include <set>

namespace tg {
namespace {

std::string rendered(const Diagnostic& d, const SourceManager& sources, bool color = false) {
  std::string text;
  llvm::raw_string_ostream out(text);
  render(d, sources, out, color);
  return text;
}

class Render : public testing::Test {
protected:
  FileId add(std::string text) { return sources.add("m.tg", std::move(text)); }
  SourceManager sources;
};

TEST_F(Render, HasTheFormOfTheDocumentation) {
  std::string text;
  for (int i = 1; i < 14; ++i) text += "#\n";
  uint32_t line = static_cast<uint32_t>(text.size());
  text += "  let h = tanh(x @ u + b)\n";
  FileId file = add(text);
  Diagnostic d = error(Code::shape_mismatch, Span{file, line + 15, line + 20},
                       "cannot multiply {0} by {1}", "f32[1, 512]", "f32[256, 512]")
                     .mark("inner dimensions differ: 512 and 256")
                     .note("x: f32[1, 512]   from the parameter at line 11")
                     .note("u: f32[256, 512] param cell.u at line 12")
                     .suggest("transpose(u) has the shape f32[512, 256]");
  EXPECT_EQ(rendered(d, sources), R"(error[E0213]: cannot multiply f32[1, 512] by f32[256, 512]
  --> m.tg:14:16
   |
14 |   let h = tanh(x @ u + b)
   |                ^^^^^ inner dimensions differ: 512 and 256
   |
   = x: f32[1, 512]   from the parameter at line 11
   = u: f32[256, 512] param cell.u at line 12
   = help: transpose(u) has the shape f32[512, 256]
)");
}

TEST_F(Render, LabelsShareTheExcerpt) {
  FileId file = add("let a = f(b)\nlet c = 1\nlet d = 2\nlet a = 3\n");
  Diagnostic d = error(Code::duplicate_name, Span{file, 37, 38}, "`a` is defined twice")
                     .at(Span{file, 4, 5}, "first here")
                     .at(Span{file, 41, 42}, "");
  EXPECT_EQ(rendered(d, sources), R"(error[E0202]: `a` is defined twice
 --> m.tg:4:5
  |
1 | let a = f(b)
  |     - first here
  ...
4 | let a = 3
  |     ^
  |         -
)");
}

TEST_F(Render, AnotherFileGetsItsOwnHeading) {
  FileId first = add("let a = 1\n");
  FileId second = sources.add("lib/b.tg", "\nlet a = 2\n");
  Diagnostic d = error(Code::duplicate_weight, Span{first, 4, 5}, "two weights `a`")
                     .at(Span{second, 5, 6}, "the other");
  EXPECT_EQ(rendered(d, sources), R"(error[E0218]: two weights `a`
 --> m.tg:1:5
  |
1 | let a = 1
  |     ^
 ::: lib/b.tg:2:5
  |
2 | let a = 2
  |     - the other
)");
}

TEST_F(Render, OmitsTheExcerptWithoutAPosition) {
  Diagnostic d = error(Code::cannot_read, "cannot read {0}", "x.tg").suggest("look");
  EXPECT_EQ(rendered(d, sources), "error[E0501]: cannot read x.tg\n  = help: look\n");
}

TEST_F(Render, TabsAndWideLettersKeepTheCaretInPlace) {
  FileId file = add("\tlet \xE6\xBC\xA2 = x\n"); // a letter two columns wide
  Diagnostic d = error(Code::unknown_name, Span{file, 11, 12}, "unknown name");
  EXPECT_EQ(rendered(d, sources), "error[E0201]: unknown name\n"
                                  " --> m.tg:1:10\n"
                                  "  |\n"
                                  "1 |     let \xE6\xBC\xA2 = x\n"
                                  "  |              ^\n");
}

TEST_F(Render, ControlCharactersDoNotReachTheTerminal) {
  FileId file = add("a \x1B[31m b\n");
  std::string text = rendered(error(Code::bad_character, Span{file, 2, 3}, "bad"), sources);
  EXPECT_EQ(text.find('\x1B'), std::string::npos);
  EXPECT_NE(text.find("a \xEF\xBF\xBD[31m b"), std::string::npos);
}

TEST_F(Render, LongLinesAreShownThroughAWindow) {
  std::string line = std::string(5000, 'a') + "!" + std::string(5000, 'b');
  FileId file = add(line + "\n");
  std::string text = rendered(error(Code::syntax, Span{file, 5000, 5001}, "odd"), sources);
  EXPECT_LT(text.size(), 600u);
  // The caret is below the exclamation mark.
  size_t excerpt = text.find("1 | "), caret = text.find("\n  | ", excerpt) + 1;
  size_t caret_end = text.find('^');
  EXPECT_EQ(text[excerpt + (caret_end - caret)], '!');
  EXPECT_NE(text.find("..."), std::string::npos);
}

TEST_F(Render, SpansOverLinesAndAtTheEndAreDrawnOnTheFirstLine) {
  FileId file = add("f(a,\n  b)");
  EXPECT_NE(rendered(error(Code::syntax, Span{file, 0, 9}, "m"), sources).find("| ^^^^\n"),
            std::string::npos);
  EXPECT_NE(
      rendered(error(Code::syntax, Span{file, 9, 9}, "m"), sources).find("2 |   b)\n  |     ^"),
      std::string::npos);
}

TEST_F(Render, ColourIsOptional) {
  FileId file = add("x\n");
  Diagnostic d = error(Code::syntax, Span{file, 0, 1}, "m");
  EXPECT_EQ(rendered(d, sources).find('\x1B'), std::string::npos);
  EXPECT_NE(rendered(d, sources, true).find('\x1B'), std::string::npos);
}

TEST(DiagnosticSink, SortsByPlaceAndDropsRepeats) {
  DiagnosticSink sink;
  FileId file{0};
  sink.report(error(Code::syntax, Span{file, 9, 10}, "late"));
  sink.report(error(Code::syntax, Span{file, 1, 2}, "early"));
  sink.report(error(Code::syntax, Span{file, 9, 10}, "late"));
  EXPECT_EQ(sink.errors(), 3u);
  sink.sort();
  ASSERT_EQ(sink.all().size(), 2u);
  EXPECT_EQ(sink.errors(), 2u);
  EXPECT_EQ(sink.all()[0].message, "early");
}

TEST(Codes, AreFourDigitsOnceEach) {
  EXPECT_EQ(code_text(Code::syntax), "E0101");
  EXPECT_EQ(code_text(Code::internal), "E0970");
  EXPECT_EQ(code_summary(Code::internal), "an internal fault of Tangram");
  std::set<unsigned> numbers;
#define TG_DIAGNOSTIC(name, number, summary) EXPECT_TRUE(numbers.insert(number).second) << #name;
#include "lang/core/diagnostics.def"
}

TEST(NearMiss, FindsTyposAndIgnoresOtherWords) {
  std::vector<llvm::StringRef> names = {"relu", "conv2d", "matmul", "x", "concat", "true"};
  EXPECT_EQ(near_miss("rleu", names), "relu");
  EXPECT_EQ(near_miss("conv2", names), "conv2d");
  EXPECT_EQ(near_miss("mattmul", names), "matmul");
  EXPECT_EQ(near_miss("Concat", names), "concat");
  EXPECT_EQ(near_miss("True", names), "true");
  EXPECT_EQ(near_miss("X", names), "x");
  EXPECT_EQ(near_miss("y", names), "") << "one letter is near nothing";
  EXPECT_EQ(near_miss("softmax", names), "");
  EXPECT_EQ(near_miss("relu", names), "") << "the name itself is not a suggestion";
  EXPECT_EQ(near_miss("", names), "");
}

} // namespace
} // namespace tg
