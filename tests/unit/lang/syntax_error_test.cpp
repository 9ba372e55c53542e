// Tests that a mistake gives one message, with its code, place and words,
// and that parsing continues after it.
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// Returns the errors as "line:column code message | help", one per line.
std::string errors(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("t.tg", text);
  parse(sources, file, sink);
  std::string all;
  for (const Diagnostic& d : sink.all()) {
    LineColumn at = sources.file(file).position(d.span.begin);
    all += std::to_string(at.line) + ":" + std::to_string(at.column) + " " + code_text(d.code) +
           " " + d.message + (d.help.empty() ? "" : " | " + d.help) + "\n";
  }
  return all;
}

/// Returns the errors of statements, which begin at line 2.
std::string in_body(const std::string& text) { return errors("fn f() {\n" + text + "\n}\n"); }

TEST(SyntaxError, AForgottenBracketCostsOneMessage) {
  // A second, independent mistake shows that parsing continues.
  EXPECT_EQ(in_body("  let y = relu(conv(x, 3)\n  let z = y y"),
            "2:15 E0103 `(` is never closed\n"
            "3:13 E0101 expected the end of the line, found `y`\n");
  EXPECT_EQ(in_body("  x = f(x, 64\n  x = g(x)\n  h(y z)"),
            "2:8 E0103 `(` is never closed\n"
            "4:7 E0101 expected `,` or `)`, found `z`\n");
  EXPECT_EQ(errors("fn f(x: int {\n  let y = x x\n}\nmodel m() { x }\n"),
            "1:5 E0103 `(` is never closed\n"
            "2:13 E0101 expected the end of the line, found `x`\n");
  EXPECT_EQ(errors("fn f() {\n  g(x\n}\nfn g() { y y }\n"),
            "2:4 E0103 `(` is never closed\n"
            "4:12 E0101 expected the end of the line, found `y`\n");
}

TEST(SyntaxError, EveryStatementWordEndsOpenBrackets) {
  for (const char* next : {"let z = 1", "var z = 1", "param w: f32", "for i in 0..3 { z }"})
    EXPECT_EQ(in_body(std::string("  let v = f(x\n  ") + next), "2:12 E0103 `(` is never closed\n")
        << next;
  for (const char* next :
       {"fn g() { x }", "model g() { x }", "rule r(x) { x => x }", "ruleset s", "use std.nn"})
    EXPECT_EQ(errors(std::string("fn f() {\n  let v = f(x,\n") + next + "\n"),
              "2:12 E0103 `(` is never closed\n")
        << next << ": the brace is part of the same mistake";
}

TEST(SyntaxError, AForgottenCommaIsNotAForgottenBracket) {
  EXPECT_EQ(in_body("  conv(x, 64\n    kernel = 3)\n  let a = b c"),
            "3:5 E0101 expected `,` or `)`, found `kernel`\n"
            "4:13 E0101 expected the end of the line, found `c`\n");
}

TEST(SyntaxError, BracesToo) {
  EXPECT_EQ(errors("fn f() {\n  for i in 0..3 {\n    x\n}\nfn g() { x }\n"),
            "1:8 E0103 `{` is never closed\n");
  EXPECT_EQ(errors("fn f() {\n  x\n}\n}\nfn g() { x x }\n"),
            "4:1 E0101 `}` has no opening bracket\n"
            "5:12 E0101 expected the end of the line, found `x`\n");
  EXPECT_EQ(errors("fn f() {\n  x\n  }\n  let y = 1\n  y\n}\nfn g() { x x }\n"),
            "6:1 E0101 `}` has no opening bracket\n"
            "7:12 E0101 expected the end of the line, found `x`\n")
      << "there is no error for the declarations after the extra brace";
  EXPECT_EQ(in_body("  let a = (b]\n  let c = [d)\n  let e = f)"),
            "2:13 E0101 expected `)`, found `]`\n"
            "3:13 E0101 expected `]`, found `)`\n"
            "4:12 E0101 `)` has no opening bracket\n");
}

TEST(SyntaxError, ReportsALineThatStartsWithAnOperator) {
  const char* help = " | put `-` at the end of the previous line, or put both lines in brackets\n";
  EXPECT_EQ(in_body("  let y = x\n  - y\n  y"),
            std::string("3:3 E0105 a line cannot start with `-`") + help);
  EXPECT_EQ(in_body("  x\n  - y"), std::string("3:3 E0105 a line cannot start with `-`") + help);
  for (const char* op : {"+", "-", "*", "/", "//", "%", "@", "**", "==", "<", "and", "or"})
    EXPECT_EQ(in_body(std::string("  let y = x\n  ") + op + " y").substr(0, 9), "3:3 E0105") << op;
  EXPECT_EQ(in_body("  - y"), "") << "the first statement of a block may be negative";
  EXPECT_EQ(in_body("  let y = (x\n    - z)\n  y"), "");
}

TEST(SyntaxError, LimitsOfNumbersAndStrings) {
  EXPECT_EQ(in_body("  9223372036854775808"),
            "2:3 E0104 the integer 9223372036854775808 does not fit 64 bits\n");
  EXPECT_EQ(in_body("  1e999"), "2:3 E0104 the number 1e999 does not fit a 64-bit float\n");
  EXPECT_EQ(in_body("  1."), "2:3 E0104 a number ends with a digit | write `1.0`\n");
  EXPECT_EQ(in_body("  .5"),
            "2:3 E0104 `.5` is neither a number nor a name | write a digit before the point\n");
  EXPECT_EQ(in_body("  3x"),
            "2:3 E0104 `3x` is neither a number nor a name | names start with a letter\n");
  EXPECT_EQ(in_body("  let s = \"abc\n  y z"),
            "2:11 E0103 this string is not closed on its line | close it with \"; write \\\" for a "
            "quote inside it\n"
            "3:5 E0101 expected the end of the line, found `z`\n");
  EXPECT_EQ(in_body("  \"a\\qb\""),
            "2:5 E0101 unknown escape `\\q` in a string | the escapes are \\n, "
            "\\t, \\\\, \\\" and \\x01 to \\x7f\n");
}

TEST(SyntaxError, OperatorsOfOtherLanguages) {
  EXPECT_EQ(in_body("  a && b"), "2:5 E0102 `&&` is not an operator here | write `and`\n");
  EXPECT_EQ(in_body("  !a"), "2:3 E0102 `!` is not an operator here | write `not`\n");
  EXPECT_EQ(in_body("  a ^ b"), "2:5 E0102 `^` is not an operator here | write `**`\n");
  EXPECT_EQ(in_body("  a \xE2\x88\x92 b"),
            "2:5 E0102 `\xE2\x88\x92` is not an operator here | write `-`\n");
  EXPECT_EQ(in_body("  a;"),
            "2:4 E0102 unexpected character `;` | a statement ends at the end of its line\n");
  EXPECT_EQ(in_body("  x.shape[0]"), "2:4 E0101 values have no members | write `shape(x)`\n");
  EXPECT_EQ(in_body("  a < b < c"),
            "2:9 E0101 comparisons cannot be chained | write `a < b and b < c`\n");
}

TEST(SyntaxError, WordsOfOtherLanguages) {
  EXPECT_EQ(errors("def f(x) {\n  x\n}\n"),
            "1:1 E0101 `def` is not a keyword of Tangram | declare a function with `fn`\n");
  EXPECT_EQ(errors("func f(x: int) { x }\nfn g() { y y }"),
            "1:1 E0101 `func` is not a keyword of Tangram | declare a function with `fn`\n"
            "2:12 E0101 expected the end of the line, found `y`\n");
  EXPECT_EQ(in_body("  return x"), "2:3 E0101 `return` is not a keyword of Tangram | omit "
                                   "`return`: the value of a block is its last expression\n");
  EXPECT_EQ(errors("import torch\n"), "1:1 E0101 `import` is not a keyword of Tangram | import "
                                      "modules with `use`: `use std.nn: conv`\n");
}

TEST(SyntaxError, OperatorsOfOnesOwn) {
  EXPECT_EQ(errors("op g(x: T[S...]) -> T[S...] = 0.5 * x\nextern op f(x: T[S...]) -> T[S...]\n"),
            "");
  EXPECT_EQ(errors("op g(x: T[S...])\nfn f() { x }\n"),
            "1:17 E0101 expected `where`, `=` or `->`, found the end of the line\n");
  EXPECT_EQ(errors("extern f(x: T[S...])\nfn g() { x }\n"), "1:8 E0101 expected `op`, found `f`\n");
}

TEST(SyntaxError, HelpsWithCommonSlips) {
  EXPECT_EQ(errors("fn f(x) { x }\n"),
            "1:7 E0101 expected `:`, found `)` | give each parameter a type: "
            "`x: f32[N, C]`, `n: int`\n");
  EXPECT_EQ(in_body("  let y: f32 = x"), "2:8 E0101 `let` and `var` names cannot have a type | "
                                         "omit the type: it follows from the value\n");
  EXPECT_EQ(in_body("  x[0] = 1"), "2:3 E0101 cannot assign to this expression | values do not "
                                   "change in place; create a new one\n");
  EXPECT_EQ(in_body("  let in = 1"),
            "2:7 E0101 `in` is a keyword and cannot be a name | choose another name\n");
  EXPECT_EQ(in_body("  if a = b { c }").substr(0, 11), "2:8 E0101 e");
  EXPECT_EQ(in_body("  f(a = 1, b)"), "2:12 E0101 a positional argument follows a named one\n");
  EXPECT_EQ(in_body("  f(.., b)"), "2:5 E0101 `..` must be the last argument of a call\n");
  EXPECT_EQ(
      errors("let x = 1\nlet y = 2\nfn f() { x }\n"),
      "1:1 E0101 `let` is only allowed inside a function | write statements in the body of an "
      "`fn` or a `model`\n");
  EXPECT_EQ(errors("rule r(x) {\n  x => x\n  x => x\n}\n").substr(0, 43),
            "3:5 E0101 a rule can have only one equation");
  EXPECT_EQ(errors("rule r(x) { let y = x }\n").substr(0, 37),
            "1:6 E0101 rule `r` has no equation | ");
  EXPECT_EQ(errors("rule r(x) { x x }\n").find("no equation"), std::string::npos);
  EXPECT_EQ(errors("use nn/blocks\n").substr(0, 46),
            "1:5 E0101 `nn/blocks` does not name a module |");
}

TEST(SyntaxError, ExpectationsAreWordsOfAReader) {
  EXPECT_EQ(in_body("  let a ="), "2:10 E0101 expected an expression, found the end of the line\n");
  EXPECT_EQ(in_body("  let = 3"), "2:7 E0101 expected a name or `(`, found `=`\n");
  EXPECT_EQ(in_body("  for i on 0..3 { x }\n  y"), "2:9 E0101 expected `in`, found `on`\n");
  EXPECT_EQ(errors("hello\n"), "1:1 E0101 expected a declaration (`fn`, `model`, `op`, "
                               "`rule`, `ruleset`, `use`), found `hello`\n");
  EXPECT_EQ(errors("rule r(x) { x }\n").substr(0, 16), "1:14 E0101 expec");
}

TEST(SyntaxError, TenMistakesAreTenMessages) {
  std::string text = "fn f(x: f32[N]) {\n"
                     "  let a = relu(conv(x, 3)\n" // 1
                     "  let b = a a\n"             // 2
                     "  let c = 3 $ 4\n"           // 3
                     "  let d = b +\n"             // 4
                     "  let e = (c]\n"             // 5
                     "  return e\n"                // 6
                     "  for i on 0..12 {\n"        // 7
                     "    let z = i\n"
                     "    z\n"
                     "  }\n"
                     "  x[0] = 4\n"      // 8
                     "  let s = \"abc\n" // 9
                     "  s\n"
                     "  - 1\n" // 10
                     "}\n"
                     "fn fine() { x }\n";
  std::string all = errors(text);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 10) << all;
}

TEST(SyntaxError, NoMoreThanTheLimitAreShown) {
  std::string text = "fn f() {\n";
  for (int i = 0; i < 500; ++i) text += "  x y\n";
  SourceManager sources;
  DiagnosticSink sink;
  parse(sources, sources.add("t.tg", text + "}\n"), sink);
  EXPECT_EQ(sink.errors(), kMaxSyntaxErrors);
  EXPECT_EQ(sink.all().back().notes.size(), 1u);
}

TEST(SyntaxError, DeepInputIsRefusedOnce) {
  std::string open(100000, '('), close(100000, ')');
  EXPECT_EQ(in_body("  let y = " + open + "x" + close + "\n  y z"),
            "2:210 E0111 brackets nest more than 200 deep | name an inner part with `let`, or make "
            "it a function\n"
            "3:5 E0101 expected the end of the line, found `z`\n");
  std::string sum = "x";
  for (int i = 0; i < 100000; ++i) sum += " + x";
  EXPECT_EQ(in_body("  " + sum), "2:1001 E0111 this expression is more than 250 operations deep | "
                                 "name a part of it with `let`\n");
  EXPECT_EQ(in_body("  " + std::string(100000, '-') + "x").substr(8, 6), "E0111 ");
  std::string blocks;
  for (int i = 0; i < 100000; ++i) blocks += "for i in x {\n";
  EXPECT_NE(in_body(blocks).find("E0111"), std::string::npos);
}

} // namespace
} // namespace tg
