// Tests the formatter on every .tg file of the repository, and on files with random comments.
#include "corpus.h"

#include "lang/syntax/format.h"

#include <gtest/gtest.h>

#include <random>

namespace tg {
namespace {

/// Formats the text. format_file returns an error if the result reads differently
/// or has fewer comments.
std::optional<std::string> formatted(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  auto out = format_file(sources, sources.add("t.tg", text), sink);
  for (const Diagnostic& d : sink.all()) EXPECT_NE(d.code, Code::internal) << d.message;
  return out;
}

TEST(FormatProperty, KeepsTheTreeAndIsIdempotent) {
  std::vector<CorpusFile> files = corpus();
  EXPECT_GT(files.size(), 5u) << "the corpus was not found";
  for (const CorpusFile& file : files) {
    SCOPED_TRACE(file.name);
    auto once = formatted(file.text);
    ASSERT_TRUE(once);
    auto twice = formatted(*once);
    ASSERT_TRUE(twice);
    EXPECT_EQ(*once, *twice);
  }
}

TEST(FormatProperty, LinesKeepTheWidthWhereTheyCanBeBroken) {
  for (const CorpusFile& file : corpus()) {
    auto text = formatted(file.text);
    ASSERT_TRUE(text);
    llvm::SmallVector<llvm::StringRef, 64> lines;
    llvm::StringRef(*text).split(lines, '\n');
    for (llvm::StringRef line : lines) {
      EXPECT_EQ(line, line.rtrim()) << file.name;
      if (line.contains('#') || line.contains('"')) continue; // comments and strings are not broken
      EXPECT_LE(line.size(), kFormatWidth) << file.name;
    }
  }
}

/// A comment after any token of a line, or on a separate line anywhere, is kept,
/// and stays in place when the text is formatted again.
TEST(FormatProperty, CommentsAnywhereAreKept) {
  std::mt19937_64 random(3);
  size_t survived = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = every_construct();
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      size_t at = random() % text.size();
      if (at == 0 || (text[at] != ' ' && text[at] != '\n')) continue;
      text.insert(at, random() % 2 ? " # strewn\n" : "\n# strewn\n");
    }
    SCOPED_TRACE(text);
    auto once = formatted(text);
    if (!once) continue; // the comment ends a statement too early
    ++survived;
    auto twice = formatted(*once);
    ASSERT_TRUE(twice);
    ASSERT_EQ(*once, *twice);
  }
  EXPECT_GT(survived, 500u);
}

} // namespace
} // namespace tg
