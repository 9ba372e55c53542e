// Tests lines, columns and slices of source text.
#include "lang/core/diagnostics/source.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

TEST(SourceFile, PositionsCountLinesAndCodePoints) {
  SourceFile file("a.tg", "let x\n\n  \xC3\xA9\xE2\x88\x92y\n");
  auto at = [&](uint32_t offset) {
    LineColumn p = file.position(offset);
    return std::pair(p.line, p.column);
  };
  EXPECT_EQ(at(0), std::pair(1u, 1u));
  EXPECT_EQ(at(4), std::pair(1u, 5u));
  EXPECT_EQ(at(5), std::pair(1u, 6u)) << "the newline belongs to the line that it ends";
  EXPECT_EQ(at(6), std::pair(2u, 1u));
  EXPECT_EQ(at(9), std::pair(3u, 3u));
  EXPECT_EQ(at(11), std::pair(3u, 4u)) << "two bytes are one column";
  EXPECT_EQ(at(14), std::pair(3u, 5u)) << "three bytes are one column";
  EXPECT_EQ(at(16), std::pair(4u, 1u)) << "the end of the text";
  EXPECT_EQ(at(9999), std::pair(4u, 1u)) << "past the end counts as the end";
}

TEST(SourceFile, LinesHaveNoLineEnds) {
  SourceFile file("a.tg", "one\r\ntwo\n\nfour");
  EXPECT_EQ(file.line(1), "one");
  EXPECT_EQ(file.line(2), "two");
  EXPECT_EQ(file.line(3), "");
  EXPECT_EQ(file.line(4), "four");
  EXPECT_EQ(file.line(0), "");
  EXPECT_EQ(file.line(5), "");
}

TEST(SourceFile, EmptyTextHasOneLine) {
  SourceFile file("a.tg", "");
  EXPECT_EQ(file.position(0).line, 1u);
  EXPECT_EQ(file.line(1), "");
}

TEST(SourceManager, ReferencesStayValidAsFilesAreAdded) {
  SourceManager sources;
  FileId first = sources.add("a.tg", "abc");
  const SourceFile& file = sources.file(first);
  for (int i = 0; i < 1000; ++i) sources.add("more.tg", std::string(100, 'x'));
  EXPECT_EQ(&file, &sources.file(first));
  EXPECT_EQ(sources.text(Span{first, 1, 3}), "bc");
}

} // namespace
} // namespace tg
