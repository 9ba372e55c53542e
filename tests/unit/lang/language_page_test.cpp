// Tests that each ```tg block of docs/language.md parses.
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

TEST(LanguagePage, ExamplesParse) {
  SourceManager sources;
  auto page = load_file(sources, TG_SOURCE_DIR "/docs/language.md");
  ASSERT_TRUE(page);
  llvm::StringRef text = sources.file(*page).text();
  size_t blocks = 0;
  for (size_t at = text.find("```tg\n"); at != llvm::StringRef::npos;
       at = text.find("```tg\n", at)) {
    size_t begin = at + 6, end = text.find("```", begin);
    ASSERT_TRUE(end != llvm::StringRef::npos);
    DiagnosticSink sink;
    parse(sources, sources.add("language.md", text.slice(begin, end).str()), sink);
    for (const Diagnostic& d : sink.all())
      ADD_FAILURE() << d.message << "\n" << text.slice(begin, end).str();
    ++blocks;
    at = end + 3;
  }
  EXPECT_GE(blocks, 5u);
}

} // namespace
} // namespace tg
