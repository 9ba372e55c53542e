// Source text and places in it. A SourceFile is immutable and outlives every Span into it;
// a SourceManager owns the files and identifies them by a small index.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tg {

/// Index of a file in its SourceManager.
struct FileId {
  uint32_t index = UINT32_MAX;
  bool operator==(const FileId&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

/// Half-open byte range [begin, end) of one file.
struct Span {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Span&) const = default;
  bool valid() const { return file.valid(); }
};

/// 1-based line and column; columns count Unicode code points.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
};

class SourceFile {
public:
  SourceFile(std::string name, std::string text);
  /// The name as given by the user; `<prompt>` and the like if there is no file.
  llvm::StringRef name() const { return name_; }
  llvm::StringRef text() const { return text_; }
  LineColumn position(uint32_t offset) const;
  /// Returns the text of a 1-based line, without its newline.
  llvm::StringRef line(uint32_t number) const;

private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_; // ascending; the first is 0
};

class SourceManager {
public:
  FileId add(std::string name, std::string text);
  const SourceFile& file(FileId id) const { return files_[id.index]; }
  llvm::StringRef text(Span span) const {
    return file(span.file).text().slice(span.begin, span.end);
  }

private:
  std::deque<SourceFile> files_; // a deque: references stay valid as files are added
};

} // namespace tg
