// What diagnostics mean, at length: for `tg help CODE` and lang/DIAGNOSTICS.md. The texts are in
// explanations.def.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"

#include <llvm/ADT/ArrayRef.h>

namespace tg {

struct Explanation {
  Code code{};
  llvm::StringRef name; // "shape_mismatch"
  /// The examples are .tg texts; `wrong` gives this code and `right` none. Otherwise they are
  /// commands or words, and may be empty.
  bool is_file = false;
  llvm::StringRef why, wrong, right;
};

/// One for each row of diagnostics.def, in its order. A test holds the two lists together.
llvm::ArrayRef<Explanation> explanations();

/// By `E0213`, `0213`, `213` or the row's name; null if there is none.
const Explanation* find_explanation(llvm::StringRef word);

} // namespace tg
