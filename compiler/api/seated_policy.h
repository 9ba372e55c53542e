// Policies of the tree search as files: tables of weights of rules (search/game/rivals.h).
#pragma once

#include "compiler/search/game/rivals.h"
#include "lang/core/result.h"

#include <llvm/Support/raw_ostream.h>

namespace tg {

/// Opens a file of `tg-paper train --policy gains` or `motifs`, or one written by hand. Errors:
/// those of the file; `bad_data_file` of one that is no such table.
Result<std::unique_ptr<Policy>> open_seated_policy(const std::string& path);

/// `{"agent": "gains", "rules": {...}}`, the rules as in a file of priors.
void write_gains(llvm::raw_ostream& out, const PriorTable& table);
/// `{"agent": "motifs", "rules": {"r": 0.1}, "pairs": [["r", "s", 0.05]]}`
void write_motifs(llvm::raw_ostream& out, const MotifTable& table);

/// Returns true if the file is text, as a table is, and not tensors.
bool holds_text(llvm::StringRef path);

/// Text of either. Errors: `bad_data_file`.
Result<std::unique_ptr<Policy>> parse_rival(llvm::StringRef text, llvm::StringRef path);

} // namespace tg
