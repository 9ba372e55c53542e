// Reads the texts of this folder: words, numbers and signs on a line.
// An error names the expected and the found text.
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
  /// If the sign or word is next, consumes it and returns true.
  bool take(llvm::StringRef what);
  Result<void> expect(llvm::StringRef what);
  /// Returns a number from `low` to `high`.
  Result<int64_t> number(int64_t low, int64_t high);
  Result<std::vector<int64_t>> numbers(int64_t low, int64_t high, llvm::StringRef separator = ",");
  Result<double> real();
  Diagnostic expected(llvm::StringRef what) const;

private:
  llvm::StringRef rest_; // without leading blanks
};

} // namespace tg::tune
