// Tests the canonical format, construct by construct, compared as text.
#include "lang/syntax/format.h"

#include "lang/syntax/parse.h"
#include "lang/syntax/pretty.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

std::string formatted(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  auto out = format_file(sources, sources.add("t.tg", text), sink);
  for (const Diagnostic& d : sink.all()) ADD_FAILURE() << d.message;
  return out.value_or("");
}

/// Formats the body of a function, without the two spaces of its indentation.
std::string body(const std::string& text) {
  std::string all = formatted("fn f() {\n" + text + "\n}\n");
  std::string out;
  llvm::SmallVector<llvm::StringRef, 16> lines;
  llvm::StringRef(all).split(lines, '\n');
  for (size_t i = 1; i + 2 < lines.size(); ++i) {
    lines[i].consume_front("  ");
    out += (i > 1 ? "\n" : "") + lines[i].str();
  }
  return out;
}

TEST(Format, SpacingIsCanonical) {
  EXPECT_EQ(formatted("fn   f( x:f32[ N,2*C ],n:int=3 )->f32[N]{relu( x )}"),
            "fn f(x: f32[N, 2 * C], n: int = 3) -> f32[N] { relu(x) }\n");
  EXPECT_EQ(body("let   y=x@w+b"), "let y = x @ w + b");
  EXPECT_EQ(body("x[ : ,0 : 64,: : 2 ]"), "x[:, 0:64, ::2]");
  EXPECT_EQ(body("for(k,s)in[ (1,2) , (3,4), ]{ x=k }"),
            "for (k, s) in [(1, 2), (3, 4)] { x = k }");
  EXPECT_EQ(body("fire( x , 16 )as  g"), "fire(x, 16) as g");
  EXPECT_EQ(body("(x,)"), "(x,)");
  EXPECT_EQ(formatted("rule r( x,f:pointwise,ys... )exact{f(ys... , ..)<=>x}"),
            "rule r(x, f: pointwise, ys...) exact { f(ys..., ..) <=> x }\n");
}

TEST(Format, ParenthesesAroundOperandsStayWhereWritten) {
  EXPECT_EQ(body("(x @ y) @ z"), "(x @ y) @ z");
  EXPECT_EQ(body("x @ y @ z"), "x @ y @ z");
  EXPECT_EQ(body("x @ (y @ z)"), "x @ (y @ z)");
  EXPECT_EQ(body("(a * b) + c"), "(a * b) + c");
  EXPECT_EQ(body("((a)) + ((b + c))"), "a + (b + c)");
  EXPECT_EQ(body("f((a + b))"), "f(a + b)");
  EXPECT_EQ(body("let y = (a + b)"), "let y = a + b");
  EXPECT_EQ(body("-(a + b) ** (-c)"), "-(a + b) ** (-c)");
  EXPECT_EQ(body("(-a) ** b"), "(-a) ** b");
  EXPECT_EQ(body("(not a) == b"), "(not a) == b");
  EXPECT_EQ(body("(a < b) == c"), "(a < b) == c");
  EXPECT_EQ(body("(x + y)[0]"), "(x + y)[0]");
}

TEST(Format, LongCallsBreakAtTheirArguments) {
  EXPECT_EQ(body("let u = relu(conv(input_of_the_layer, 64, kernel = 3, stride = 2, pad = same, "
                 "act = none, bias = none))"),
            "let u = relu(conv(\n"
            "  input_of_the_layer,\n"
            "  64,\n"
            "  kernel = 3,\n"
            "  stride = 2,\n"
            "  pad = same,\n"
            "  act = none,\n"
            "  bias = none,\n"
            "))");
  EXPECT_EQ(formatted("rule r(x) { ffffffffffffffffffffffffffffffffffffff(x, "
                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, ..) => result }"),
            "rule r(x) {\n"
            "  ffffffffffffffffffffffffffffffffffffff(x, "
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, ..)\n"
            "    => result\n"
            "}\n");
}

TEST(Format, LongSumsBreakBehindOperators) {
  std::string a(40, 'a'), b(40, 'b'), c(20, 'c');
  EXPECT_EQ(body("let y = " + a + " + " + b + " * " + c + " - 1"),
            "let y =\n  " + a + " +\n  " + b + " * " + c + " -\n  1");
}

TEST(Format, NumbersFillLines) {
  std::string numbers = "1000000";
  for (int i = 1; i < 20; ++i) numbers += ", " + std::to_string(1000000 + i);
  std::string out = body("let t = [" + numbers + "]");
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3) << out;
}

TEST(Format, HeadsBreakParametersFirst) {
  EXPECT_EQ(formatted("model squeezenet(image: f32[N, 3, 224, 224], N: int = 1, classes: int = "
                      "1000) -> (logits: f32[N, classes]) where N > 0 { x }"),
            "model squeezenet(\n"
            "  image: f32[N, 3, 224, 224],\n"
            "  N: int = 1,\n"
            "  classes: int = 1000,\n"
            ") -> (logits: f32[N, classes]) where N > 0 { x }\n");
}

TEST(Format, BlankLinesGroupButDoNotPileUp) {
  EXPECT_EQ(body("\n\na = 1\n\n\n\nb = 2\nc = 3\n\n"), "a = 1\n\nb = 2\nc = 3");
  EXPECT_EQ(
      formatted("use a.b\nuse c.d\nfn f() { x }\nfn g() { x }\nruleset s\nrule r(x) { x => x }"),
      "use a.b\nuse c.d\n\nfn f() { x }\n\nfn g() { x }\n\nruleset s\n\nrule r(x) { x => x }\n");
}

TEST(Format, AlignedLinesStayAligned) {
  EXPECT_EQ(body("let s     = 1\nlet left  = 2\nlet right = 3\nlet a = 4\nlet bcd = 5"),
            "let s     = 1\nlet left  = 2\nlet right = 3\nlet a = 4\nlet bcd = 5");
  EXPECT_EQ(body("let s      = 1\nlet left   = 2"), "let s    = 1\nlet left = 2");
  // Spaces after the keyword are not printed.
  EXPECT_EQ(body("let  s    = 1\nlet left  = 2"), "let s    = 1\nlet left = 2");
}

TEST(Format, CommentsStay) {
  std::string text = "# head\n"
                     "\n"
                     "## The file is about this.\n"
                     "use a.b  # why\n"
                     "\n"
                     "## What f is.\n"
                     "fn f(\n"
                     "  x: int,  # the x\n"
                     "  # above y\n"
                     "  y: int,\n"
                     ") {\n"
                     "  # first\n"
                     "  let z = g(\n"
                     "    x,  # behind an argument\n"
                     "    # above the last\n"
                     "    y,\n"
                     "    # at the end\n"
                     "  )  # behind a statement\n"
                     "\n"
                     "  # a paragraph\n"
                     "  let w =\n"
                     "    x +  # behind an operator\n"
                     "    # above an operand\n"
                     "    y\n"
                     "  w\n"
                     "  # last\n"
                     "}  # end\n"
                     "\n"
                     "# tail\n";
  EXPECT_EQ(formatted(text), text);
}

TEST(Format, KeepsCommentsInUnusualPlaces) {
  std::string out = formatted("fn f(x: f32[ # 1\nN]) # 2\n-> f32[N] # 3\n{ # 4\nlet (a, # 5\nb) = "
                              "# 6\ng(k = # 7\n(x # 8\n)) }");
  size_t at = 0;
  for (int i = 1; i <= 8; ++i) {
    at = out.find("# " + std::to_string(i), at);
    ASSERT_NE(at, std::string::npos) << "comment " << i << " in\n" << out;
  }
}

TEST(Format, FilesWithErrorsAreLeftAlone) {
  SourceManager sources;
  DiagnosticSink sink;
  EXPECT_FALSE(format_file(sources, sources.add("t.tg", "fn f() { x y }"), sink));
  EXPECT_EQ(sink.errors(), 1u);
}

TEST(Pretty, AGroupBreaksAsAWhole) {
  Docs docs;
  Doc inner = docs.group(docs.concat({docs.text("b"), docs.line(), docs.text("c")}));
  Doc all = docs.group(docs.concat(
      {docs.text("abc("), docs.indent(docs.concat({docs.soft(), inner, docs.if_broken(",")})),
       docs.soft(), docs.text(")")}));
  EXPECT_EQ(docs.print(all, 80), "abc(b c)");
  EXPECT_EQ(docs.print(all, 7), "abc(\n  b c,\n)");
  EXPECT_EQ(docs.print(all, 5), "abc(\n  b\n  c,\n)");
}

TEST(Pretty, CountsTheTextAfterAGroupUpToTheNextBreak) {
  Docs docs;
  Doc group = docs.group(docs.concat({docs.text("aa"), docs.line(), docs.text("bb")}));
  EXPECT_EQ(docs.print(docs.concat({group, docs.text("ccc")}), 7), "aa\nbbccc");
  EXPECT_EQ(docs.print(docs.concat({group, docs.hard(), docs.text("ccc")}), 7), "aa bb\nccc");
}

} // namespace
} // namespace tg
