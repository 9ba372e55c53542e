// Tests parsing: each construct of the language by its dump, and input that is rejected.
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

struct Parsed {
  SourceManager sources;
  DiagnosticSink sink;
  Ast tree{FileId{}};

  explicit Parsed(std::string text) {
    FileId file = sources.add("t.tg", std::move(text));
    tree = parse(sources, file, sink);
  }
  std::string errors() const {
    std::string all;
    for (const Diagnostic& d : sink.all()) all += code_text(d.code) + " " + d.message + "\n";
    return all;
  }
};

/// Returns the dump of an expression that is the only one in a function.
std::string expr(const std::string& text) {
  Parsed p("fn f() {\n" + text + "\n}\n");
  EXPECT_EQ(p.errors(), "") << text;
  if (p.sink.failed() || p.tree.decls().size() != 1) return "";
  const ast::Block& body = p.tree[p.tree[p.tree.decls()[0]].body];
  if (body.stmts.size() != 1) return "<" + std::to_string(body.stmts.size()) + " statements>";
  return dump(p.tree, p.tree[p.tree[body.stmts][0]].value);
}

TEST(Parse, PrecedenceIsPythons) {
  EXPECT_EQ(expr("a + b * c"), "(binary + a (binary * b c))");
  EXPECT_EQ(expr("a - b - c"), "(binary - (binary - a b) c)");
  EXPECT_EQ(expr("a @ b * c // d % e"), "(binary % (binary // (binary * (binary @ a b) c) d) e)");
  EXPECT_EQ(expr("-a ** b"), "(unary - (binary ** a b))");
  EXPECT_EQ(expr("a ** -b ** c"), "(binary ** a (unary - (binary ** b c)))");
  EXPECT_EQ(expr("-a @ b"), "(binary @ (unary - a) b)");
  EXPECT_EQ(expr("not a == b and c or d"),
            "(binary or (binary and (unary not (binary == a b)) c) d)");
  EXPECT_EQ(expr("a + 1 < b * 2"), "(binary < (binary + a 1) (binary * b 2))");
  EXPECT_EQ(expr("(a + b) * c"), "(binary * (binary + a b) c)");
}

TEST(Parse, Literals) {
  EXPECT_EQ(expr("[1, 2.5, 1e-5, true, \"a\\\"b\\n\", ]"), "(list 1 2.5 1e-5 true \"a\\\"b\\n\")");
  EXPECT_EQ(expr("()"), "(tuple)");
  EXPECT_EQ(expr("(a)"), "a");
  EXPECT_EQ(expr("(a,)"), "(tuple a)");
  EXPECT_EQ(expr("(a, b,)"), "(tuple a b)");
  EXPECT_EQ(expr("9223372036854775807"), "9223372036854775807");
}

TEST(Parse, CallsIndexesAndNames) {
  EXPECT_EQ(expr("f(x, 2, axis = -1) as g"), "(call f x 2 axis=(unary - 1) as g)");
  EXPECT_EQ(expr("f(xs..., ..)"), "(call f xs... ..)");
  EXPECT_EQ(expr("x[:, 0:64, 1, ::2, a:]"), "(index x (: _ _) (: 0 64) 1 (: _ _ 2) (: a _))");
  EXPECT_EQ(expr("f(x)[0][1]"), "(index (index (call f x) 0) 1)");
}

TEST(Parse, IfIsAnExpression) {
  EXPECT_EQ(expr("1 + if a { b } else { c }"), "(binary + 1 (if a {\n  expr b\n} {\n  expr c\n}))");
  EXPECT_EQ(expr("if a { b }\nelse if c { d }\nelse { e }"),
            expr("if a { b } else if c { d } else { e }"));
}

TEST(Parse, ARangeIsNotANumber) {
  Parsed p("fn f() {\n  for i in 0..12 { g(i) }\n}\n");
  EXPECT_EQ(p.errors(), "");
  EXPECT_NE(dump(p.tree).find("for i (range 0 12)"), std::string::npos);
}

TEST(Parse, NewlinesEndStatementsButNotInsideBracketsOrAfterOperators) {
  EXPECT_EQ(expr("f(\n  a,\n  b\n)"), "(call f a b)");
  EXPECT_EQ(expr("a +\n  b"), "(binary + a b)");
  EXPECT_EQ(expr("f\n(x)"), "<2 statements>");
  EXPECT_EQ(expr("x\n[0]"), "<2 statements>");
  Parsed p("fn f(x: int)\n  -> f32[N]\n  where x > 0,\n    x < 9\n{\n  let y =\n    x\n  y\n}\n");
  EXPECT_EQ(p.errors(), "");
}

TEST(Parse, StatementsAndDeclarations) {
  Parsed p("## The file.\n"
           "use std.nn: conv, max_pool\n"
           "use ../lib/blocks\n"
           "\n"
           "## A block.\n"
           "## Two lines.\n"
           "fn f(x: f32[N, 2 * C], n: int = 3, p: list[int]) -> (a: f32[N], b: (i64, bool)) where "
           "n % 2 == 0 {\n"
           "  var (a, b) = g(x)\n"
           "  a = b\n"
           "  (a, b) = (b, a)\n"
           "  param w: f32[D, D] = weight(\"p.q\", init = normal(0.02))\n"
           "  param v: f32[D] (init = zeros)\n"
           "  param u: f32\n"
           "  for (k, s) in [(3, 1)] { a = k }\n"
           "  a\n"
           "}\n");
  EXPECT_EQ(p.errors(), "");
  EXPECT_EQ(dump(p.tree), R"(file "The file."
use std nn : conv max_pool
use relative .. lib blocks
fn f "A block.\nTwo lines."
  param x: f32[ N (binary * 2 C) ]
  param n: int = 3
  param p: list[ int ]
  result a: f32[ N ]
  result b: (tuple i64 bool)
  where (binary == (binary % n 2) 0)
  body {
    var tuple a b (call g x)
    assign a b
    assign tuple a b (tuple b a)
    param w: f32[ D D ] (call weight "p.q" init=(call normal 0.02))
    param v: f32[ D ] init=zeros
    param u: f32
    for tuple k s (list (tuple 3 1)) {
      assign a k
    }
    expr a
  }
)");
}

TEST(Parse, Rules) {
  Parsed p("ruleset algebra\n"
           "rule join(x, f: pointwise, ys...) reassociates {\n"
           "  let c = concat([x], axis = -1)\n"
           "  x @ c, f(ys...)\n"
           "    => x, conv2d(x, act = relu, ..)\n"
           "  where rank(x) == 2, weight(c)\n"
           "}\n"
           "rule one(x) { -(-x) <=> x where true }\n");
  EXPECT_EQ(p.errors(), "");
  EXPECT_EQ(dump(p.tree), R"(ruleset algebra
rule join
  numerics reassociates
  param x
  param f: pointwise
  param ys...
  let c (call concat (list x) axis=(unary - 1))
  lhs (binary @ x c)
  lhs (call f ys...)
  rhs x
  rhs (call conv2d x act=relu ..)
  where (binary == (call rank x) 2)
  where (call weight c)
rule one
  param x
  lhs (unary - (unary - x))
  equals x
  where true
)");
}

TEST(Parse, GivesSpansOfTheSourceText) {
  std::string text = "fn f(n: int = 4) {\n  let y = (a + b) * g(k = 1) as h\n  y\n}\n";
  Parsed p(text);
  ASSERT_EQ(p.errors(), "");
  const ast::Decl& d = p.tree[p.tree.decls()[0]];
  auto at = [&](Span span) { return p.sources.text(span).str(); };
  EXPECT_EQ(at(d.name.span), "f");
  EXPECT_EQ(at(p.tree[d.params][0].span), "n: int = 4");
  const ast::Stmt& let = p.tree[p.tree[p.tree[d.body].stmts][0]];
  EXPECT_EQ(at(let.span), "let y = (a + b) * g(k = 1) as h");
  const ast::Expr& product = p.tree[let.value];
  EXPECT_EQ(at(product.span), "(a + b) * g(k = 1) as h");
  EXPECT_EQ(at(product.op_span), "*");
  EXPECT_EQ(at(p.tree[product.a].span), "a + b");
  const ast::Expr& call = p.tree[product.b];
  EXPECT_EQ(at(call.callee.span), "g");
  EXPECT_EQ(at(call.alias.span), "h");
  EXPECT_EQ(at(p.tree[call.args][0].span), "k = 1");
}

TEST(Parse, CommentsAreKeptApart) {
  Parsed p("# one\nfn f() {  # two\n  x # three\n}\n");
  ASSERT_EQ(p.tree.comments().size(), 3u);
  EXPECT_TRUE(p.tree.comments()[0].own_line);
  EXPECT_FALSE(p.tree.comments()[1].own_line);
  EXPECT_EQ(p.sources.text(p.tree.comments()[2].span), "# three");
}

TEST(Parse, AttachesDocumentationToAdjacentDeclarations) {
  Parsed p("## far\n\n## near\nfn f() { x }\n## other\n\nfn g() { x }\n");
  EXPECT_EQ(p.tree.doc(), "far");
  EXPECT_EQ(p.tree[p.tree.decls()[0]].doc, "near");
  EXPECT_EQ(p.tree[p.tree.decls()[1]].doc, "");
}

TEST(Parse, SameTreeIgnoresLayoutOnly) {
  auto same = [](const char* a, const char* b) {
    return same_tree(Parsed(a).tree, Parsed(b).tree);
  };
  EXPECT_TRUE(same("fn f() { g(a, b) }", "fn f()\n{\n  g(a, # c\n    b)\n}"));
  EXPECT_FALSE(same("fn f() { a + b * c }", "fn f() { (a + b) * c }"));
  EXPECT_FALSE(same("fn f() { 1.0 }", "fn f() { 1.00 }")) << "the text of a number is its value";
}

// --- input that is rejected before parsing -------------------------------------------------------

Code load_error(std::string text) {
  SourceManager sources;
  auto file = load_text(sources, "t.tg", std::move(text));
  return file ? Code{} : file.error().code;
}

TEST(Load, RefusesFilesThatAreNotText) {
  EXPECT_EQ(load_error("fn f() { x }\n"), Code{});
  EXPECT_EQ(load_error(""), Code::empty_file);
  EXPECT_EQ(load_error(" \n\t\n"), Code::empty_file);
  EXPECT_EQ(load_error(std::string("a\0b", 3)), Code::not_text);
  EXPECT_EQ(load_error("a\xFF\xFE"), Code::not_text);
  EXPECT_EQ(load_error("a\xC0\x80"), Code::not_text) << "an overlong form";
  EXPECT_EQ(load_error("# \xC3\xA9\n"), Code{});
  EXPECT_EQ(load_error(std::string(kMaxLineBytes, 'x')), Code{});
  EXPECT_EQ(load_error("a\n" + std::string(kMaxLineBytes + 1, 'x')), Code::input_too_long);
}

TEST(Load, RefusesPathsThatAreNotFiles) {
  SourceManager sources;
  auto missing = load_file(sources, TG_SOURCE_DIR "/no/such/file.tg");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::cannot_read);
  auto folder = load_file(sources, TG_SOURCE_DIR "/lang");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::cannot_read);
  EXPECT_NE(folder.error().message.find("directory"), std::string::npos);
}

} // namespace
} // namespace tg
