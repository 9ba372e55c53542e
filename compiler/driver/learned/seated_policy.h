// What can take the seat Policy of the tree search from a file: the guide (guide_models.h), and its
// rivals, which are tables (search/learned/rivals.h).
#pragma once

#include "compiler/search/learned/rivals.h"
#include "lang/core/result.h"

#include <llvm/Support/raw_ostream.h>

namespace tg {

/// A file of `tg train --policy guide`, `gains` or `motifs`. Errors: those of the file;
/// `bad_data_file` of one that is none of these.
Result<std::unique_ptr<Policy>> open_seated_policy(const std::string& path);

/// `{"agent": "gains", "rules": {...}}`, the rules as in a file of priors.
void write_gains(llvm::raw_ostream& out, const PriorTable& table);
/// `{"agent": "motifs", "rules": {"r": 0.1}, "pairs": [["r", "s", 0.05]]}`
void write_motifs(llvm::raw_ostream& out, const MotifTable& table);

/// Text of either. Errors: `bad_data_file`.
Result<std::unique_ptr<Policy>> parse_rival(llvm::StringRef text, llvm::StringRef path);

} // namespace tg
