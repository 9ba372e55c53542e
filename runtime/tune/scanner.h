// Reads the texts of this folder: words, numbers and signs on a line. What is wrong is an error
// that says what was expected and what stands there.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <vector>

namespace tg::tune {

class Scanner {
public:
  explicit Scanner(llvm::StringRef text) : rest_(text.ltrim(' ')) {}

  bool at_end() const { return rest_.empty(); }
  llvm::StringRef rest() const { return rest_; }
  /// Whether the sign or word stood there; then it is behind us.
  bool take(llvm::StringRef what);
  /// Letters and digits; empty if there are none.
  llvm::StringRef word();
  Result<void> expect(llvm::StringRef what);
  /// From `low` to `high`.
  Result<int64_t> number(int64_t low, int64_t high);
  Result<std::vector<int64_t>> numbers(int64_t low, int64_t high, llvm::StringRef separator = ",");
  Result<double> real();
  Diagnostic expected(llvm::StringRef what) const;

private:
  llvm::StringRef rest_; // no blanks before it
};

} // namespace tg::tune
