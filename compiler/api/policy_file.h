// Policies of the tree search from files: tables of weights of rules (search/game/rivals.h).
#pragma once

#include "compiler/search/game/rivals.h"
#include "lang/core/result.h"

namespace tg {

/// Opens a file made by `tg-paper train --policy gains` or `motifs`, or written by hand. Errors:
/// those of the file; `bad_data_file` if it is not such a table.
Result<std::unique_ptr<Policy>> open_policy_file(const std::string& path);

/// Returns true if the file is text, as a table is, and false for tensors.
bool holds_text(llvm::StringRef path);

/// Parses the text of either table. Errors: `bad_data_file`.
Result<std::unique_ptr<Policy>> parse_rival(llvm::StringRef text, llvm::StringRef path);

} // namespace tg
