// What a trained file notes of its training, so that it goes on only as it began.
#pragma once

#include "compiler/driver/learned/policy_models.h"
#include "tangram/tangram.h"

namespace tg {

/// Decimal text that reads back as the same number.
std::string exact_text(double number);

/// How many, a digest of what they say, in the order that rewrites are counted by, and which
/// numerics they may have if not any that is exact.
std::string text_of_rules(llvm::ArrayRef<Rule> rules, tangram::Numerics numerics);

/// Empty where there is none.
std::string note_of(const PolicyNotes& notes, llvm::StringRef key);

/// Errors: `usage` for notes that are others than those wanted. `what`: "policy".
Result<void> check_notes(const PolicyNotes& notes, const PolicyNotes& wanted, llvm::StringRef what,
                         llvm::StringRef path);

/// A count that a file has to note: `key` of how far it was trained. Errors: `bad_data_file`.
Result<size_t> count_of(const PolicyNotes& notes, llvm::StringRef key, llvm::StringRef what,
                        llvm::StringRef path);

} // namespace tg
