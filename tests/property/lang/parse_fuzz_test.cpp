// Tests damaged text: reading it terminates, reports places, and returns a well-formed tree.
// If it reads without an error, the formatter preserves it.
#include "corpus.h"

#include "lang/syntax/format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace tg {
namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t bound) { return bound == 0 ? 0 : random() % bound; }

const std::vector<std::string> kPieces = {"(",
                                          ")",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          ",",
                                          ":",
                                          "=",
                                          "=>",
                                          "<=>",
                                          "..",
                                          "...",
                                          "->",
                                          "+",
                                          "-",
                                          "*",
                                          "**",
                                          "/",
                                          "//",
                                          "@",
                                          "%",
                                          "\n",
                                          "\n\n",
                                          "#",
                                          "##",
                                          "\"",
                                          "\\",
                                          ";",
                                          "let ",
                                          "var ",
                                          "param ",
                                          "for ",
                                          "in ",
                                          "if ",
                                          "else ",
                                          "fn ",
                                          "model ",
                                          "rule ",
                                          "use ",
                                          "where ",
                                          "as ",
                                          "not ",
                                          "op ",
                                          "extern ",
                                          "0",
                                          "0.",
                                          ".5",
                                          "1e9",
                                          "99999999999999999999",
                                          "x",
                                          " ",
                                          "\t",
                                          "\r\n",
                                          "\xC3\xA9",
                                          "\xFF",
                                          std::string("\0", 1)};

/// Makes one random change.
void mutate(std::string& text, Random& random) {
  size_t at = below(random, text.size() + 1);
  size_t length = below(random, std::min<size_t>(12, text.size() - at) + 1);
  switch (below(random, 6)) {
  case 0: text.erase(at, length); break;
  case 1: text.insert(at, kPieces[below(random, kPieces.size())]); break;
  case 2:
    text.replace(at, std::min<size_t>(1, length), kPieces[below(random, kPieces.size())]);
    break;
  case 3: text.insert(below(random, text.size() + 1), text.substr(at, length * 8)); break;
  case 4: text.resize(at); break;
  case 5:
    if (at < text.size()) text[at] = static_cast<char>(random());
    break;
  }
}

/// Checks the invariants that ast.h states.
void expect_well_formed(const Ast& tree, size_t size) {
  auto inside = [&](Span span) { return span.begin <= span.end && span.end <= size; };
  for (uint32_t i = 0; i < tree.expr_count(); ++i) {
    const ast::Expr& e = tree[ast::ExprId{i}];
    ASSERT_TRUE(inside(e.span));
    ASSERT_LE(e.depth, ast::kMaxDepth);
    for_each_child(tree, ast::ExprId{i}, [&](ast::ExprId child) {
      ASSERT_LT(child.index, i) << "children are made first";
      ASSERT_TRUE(e.span.begin <= tree[child].span.begin && tree[child].span.end <= e.span.end);
      ASSERT_LT(tree[child].depth, e.depth);
    });
  }
  for (uint32_t i = 0; i < tree.stmt_count(); ++i) {
    const ast::Stmt& s = tree[ast::StmtId{i}];
    ASSERT_TRUE(inside(s.span));
    if (s.value) {
      ASSERT_TRUE(s.span.begin <= tree[s.value].span.begin && tree[s.value].span.end <= s.span.end);
    }
  }
  for (ast::DeclId id : tree.decls()) ASSERT_TRUE(inside(tree[id].span));
}

void expect_sound(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("fuzz.tg", text);
  Ast tree = parse(sources, file, sink);
  expect_well_formed(tree, text.size());
  ASSERT_LE(sink.errors(), kMaxSyntaxErrors);
  for (const Diagnostic& d : sink.all()) {
    ASSERT_NE(d.code, Code::internal) << d.message;
    ASSERT_TRUE(d.span.valid());
    ASSERT_LE(d.span.begin, d.span.end);
    ASSERT_LE(d.span.end, text.size());
    std::string shown;
    llvm::raw_string_ostream out(shown);
    render(d, sources, out);
    ASSERT_LT(out.str().size(), 4000u);
  }
  if (sink.failed()) return;
  DiagnosticSink again;
  auto once = format_file(sources, file, again);
  ASSERT_TRUE(once) << "the formatter changed the meaning";
  auto twice = format_file(sources, sources.add("once.tg", *once), again);
  ASSERT_TRUE(twice);
  ASSERT_EQ(*once, *twice);
}

TEST(ParseFuzz, MutatedFiles) {
  std::vector<CorpusFile> files = corpus();
  Random random(20260101);
  for (int round = 0; round < 6000; ++round) {
    std::string text = files[below(random, files.size())].text;
    if (text.size() > 8000) text.resize(8000);
    for (size_t n = 1 + below(random, 4); n > 0; --n) mutate(text, random);
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + text);
    expect_sound(text);
    if (HasFatalFailure()) return;
  }
}

TEST(ParseFuzz, RandomPieces) {
  Random random(7);
  for (int round = 0; round < 4000; ++round) {
    std::string text = below(random, 2) ? "fn f(x: f32[N]) {\n" : "";
    for (size_t n = below(random, 60); n > 0; --n)
      text += kPieces[below(random, kPieces.size())] + " ";
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + text);
    expect_sound(text);
    if (HasFatalFailure()) return;
  }
}

TEST(ParseFuzz, RandomBytes) {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    std::string text(below(random, 2000), '\0');
    for (char& c : text) c = static_cast<char>(random());
    SCOPED_TRACE("round " + std::to_string(round));
    expect_sound(text);
    if (HasFatalFailure()) return;
  }
}

/// A good file without one token has one mistake. A few such mistakes can be read
/// in two ways (a missing quote, the start of a comment), so that the mean has a tolerance.
/// None causes a cascade of errors.
TEST(ParseFuzz, OneMissingTokenIsAboutOneError) {
  size_t slips = 0, errors = 0;
  for (const CorpusFile& file : corpus()) {
    if (file.text.size() > 6000) continue;
    for (size_t at = 0; at < file.text.size(); ++at) {
      if (!std::strchr("()[]{},:=@+*", file.text[at])) continue;
      std::string text = file.text;
      text[at] = ' ';
      SourceManager sources;
      DiagnosticSink sink;
      parse(sources, sources.add("slip.tg", text), sink);
      ASSERT_LE(sink.errors(), 3u) << text.substr(0, at) << "<HERE>" << text.substr(at);
      slips += sink.failed();
      errors += sink.errors();
    }
  }
  ASSERT_GT(slips, 50u);
  RecordProperty("slips", static_cast<int>(slips));
  RecordProperty("errors", static_cast<int>(errors));
  EXPECT_LE(static_cast<double>(errors), 1.03 * static_cast<double>(slips));
}

} // namespace
} // namespace tg
