// Reads an operator that is given as text.
#pragma once

#include "runtime/tune/operator.h"
#include "runtime/tune/scanner.h"

namespace tg::tune {

/// Errors: `bad_data_file`.
inline Result<Operator> read_operator(llvm::StringRef text) {
  Scanner scan(text);
  TG_TRY(Operator op, scan_operator(scan));
  if (!scan.at_end()) return scan.expected("the end");
  return op;
}

} // namespace tg::tune
