// Computes column widths from the cells, then prints lines; rounds figures for comparison by eye.
#include "compiler/cli/terminal/table.h"

#include "lang/core/diagnostics/escape.h"

#include <llvm/Support/Format.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Unicode.h>

#include <algorithm>
#include <cmath>

namespace tg::cli {
namespace {

unsigned width_of(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? static_cast<unsigned>(text.size()) : static_cast<unsigned>(width);
}

/// Formats three significant digits without an exponent.
std::string three_digits(double value) {
  int digits = value == 0 ? 2 : 2 - static_cast<int>(std::floor(std::log10(std::fabs(value))));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", std::clamp(digits, 0, 9), value);
  return text;
}

} // namespace

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

void Table::print(llvm::raw_ostream& out, bool color, unsigned indent) const {
  std::vector<unsigned> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.head));
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));

  auto line = [&](auto cell_of) {
    std::string text(indent, ' ');
    for (size_t i = 0; i < columns_.size(); ++i) {
      std::string cell = cell_of(i);
      std::string blanks(widths[i] - width_of(cell), ' ');
      text += columns_[i].align == Align::Left ? cell + blanks : blanks + cell;
      text += "  ";
    }
    out << llvm::StringRef(text).rtrim(' ') << "\n";
  };
  if (color) out << "\x1b[1m";
  line([&](size_t i) { return columns_[i].head; });
  if (color) out << "\x1b[0m";
  line([&](size_t i) {
    std::string rule;
    for (unsigned n = 0; n < widths[i]; ++n) rule += "─";
    return rule;
  });
  for (const auto& row : rows_) line([&](size_t i) { return row[i]; });
}

std::string duration_text(double us) {
  if (!std::isfinite(us)) return "-";
  if (us < 1e3) return three_digits(us) + " us";
  if (us < 1e6) return three_digits(us / 1e3) + " ms";
  return three_digits(us / 1e6) + " s";
}

std::string bytes_text(double bytes) {
  if (bytes < 1024) return three_digits(bytes) + " B";
  if (bytes < 1024 * 1024) return three_digits(bytes / 1024) + " KiB";
  return three_digits(bytes / (1024 * 1024)) + " MiB";
}

std::string ratio_text(double ratio) {
  return llvm::formatv("{0:f2}x", std::isnan(ratio) ? 1 : ratio); // 0 / 0
}

std::string count_text(uint64_t count) {
  std::string digits = std::to_string(count), text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string counted(uint64_t count, llvm::StringRef noun) {
  llvm::StringRef plural = noun.endswith("s") || noun.endswith("ch") ? "es" : "s";
  return (count_text(count) + " " + noun + (count == 1 ? "" : plural)).str();
}

} // namespace tg::cli
