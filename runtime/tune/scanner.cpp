// Texts of operators, programs and records, word by word.
#include "runtime/tune/scanner.h"

#include "lang/core/diagnostics/escape.h"

#include <llvm/ADT/StringExtras.h>

#include <cmath>

namespace tg::tune {

namespace {

bool is_word(char c) { return llvm::isAlnum(c) || c == '_'; }

} // namespace

Diagnostic Scanner::expected(llvm::StringRef what) const {
  llvm::StringRef found = rest_.take_front(24);
  return error(Code::bad_data_file, "expected {0}, got {1}", what,
               found.empty() ? std::string("the end") : "`" + escaped(found) + "`");
}

bool Scanner::take(llvm::StringRef what) {
  if (!rest_.startswith(what)) return false;
  llvm::StringRef after = rest_.drop_front(what.size());
  if (is_word(what.back()) && !after.empty() && is_word(after.front())) return false;
  rest_ = after.ltrim(' ');
  return true;
}

Result<void> Scanner::expect(llvm::StringRef what) {
  if (take(what)) return {};
  return expected("`" + what.str() + "`");
}

Result<int64_t> Scanner::number(int64_t low, int64_t high) {
  llvm::StringRef digits = rest_.take_while([](char c) { return llvm::isDigit(c); });
  int64_t value = 0;
  if (digits.empty() || digits.getAsInteger(10, value) || value < low || value > high)
    return expected(llvm::formatv("a number from {0} to {1}", low, high).str());
  rest_ = rest_.drop_front(digits.size()).ltrim(' ');
  return value;
}

Result<std::vector<int64_t>> Scanner::numbers(int64_t low, int64_t high,
                                              llvm::StringRef separator) {
  std::vector<int64_t> found;
  do {
    TG_TRY(int64_t one, number(low, high));
    found.push_back(one);
  } while (take(separator));
  return found;
}

Result<double> Scanner::real() {
  llvm::StringRef digits = rest_.take_while(
      [](char c) { return llvm::isDigit(c) || c == '.' || c == 'e' || c == '-' || c == '+'; });
  double value = 0;
  if (digits.empty() || digits.getAsDouble(value) || !std::isfinite(value))
    return expected("a number");
  rest_ = rest_.drop_front(digits.size()).ltrim(' ');
  return value;
}

} // namespace tg::tune
