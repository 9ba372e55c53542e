// Tables for terminals: columns as wide as their widest cell, numbers right-aligned, two spaces
// between columns, a rule below the header. Cells are UTF-8.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <vector>

namespace tg::cli {

enum class Align : uint8_t { Left, Right };

class Table {
public:
  struct Column {
    std::string head;
    Align align = Align::Left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row with one cell for each column. Unprintable characters are escaped.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Prints the table. Every line starts with `indent` spaces and has no trailing spaces.
  void print(llvm::raw_ostream& out, bool color = false, unsigned indent = 0) const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Formats figures for the user.

/// Formats "7.1 us", "12.4 ms", "3.20 s": three significant digits.
std::string duration_text(double microseconds);
/// Formats "12.3 MiB".
std::string bytes_text(double bytes);
/// Formats "1.24x".
std::string ratio_text(double ratio);
/// Formats "12,345".
std::string count_text(uint64_t count);
/// Formats "1 rule", "308 rules": the count and its noun, with a plural unless the count is one.
std::string counted(uint64_t count, llvm::StringRef noun);

} // namespace tg::cli
