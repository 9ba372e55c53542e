// Places in source text. Line starts are found once, when the file object is made.
// A position is then a binary search and a count within one line.
#include "lang/core/diagnostics/source.h"

#include <algorithm>

namespace tg {

SourceFile::SourceFile(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)), line_starts_{0} {
  for (size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    line_starts_.push_back(static_cast<uint32_t>(at + 1));
}

LineColumn SourceFile::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  uint32_t start = *(after - 1);
  // Counts code points by the bytes that are not continuation bytes.
  auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  auto characters = std::count_if(text_.begin() + start, text_.begin() + offset, begins_character);
  return {static_cast<uint32_t>(after - line_starts_.begin()),
          static_cast<uint32_t>(characters) + 1};
}

llvm::StringRef SourceFile::line(uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  size_t begin = line_starts_[number - 1];
  size_t end = number < line_starts_.size() ? line_starts_[number] - 1 : text_.size();
  return text().slice(begin, end).rtrim('\r');
}

FileId SourceManager::add(std::string name, std::string text) {
  files_.emplace_back(std::move(name), std::move(text));
  return {static_cast<uint32_t>(files_.size() - 1)};
}

} // namespace tg
