// What a trained file notes of its training, so that it goes on only as it began.
#pragma once

#include "bench/paper/learned/policy_models.h"
#include "lang/core/support/stop.h"
#include "tangram/tangram.h"

namespace tg::paper {

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

/// What is said of a policy that is followed where it was not trained: "the policy was trained on
/// another model, `m`"; else empty.
std::string trained_otherwise(const PolicyNotes& notes, const Graph& source,
                              llvm::ArrayRef<Rule> rules, tangram::Numerics numerics);

/// A count that a file has to note: `key` of how far it was trained. Errors: `bad_data_file`.
Result<size_t> count_of(const PolicyNotes& notes, llvm::StringRef key, llvm::StringRef what,
                        llvm::StringRef path);

/// Whether it has a network of a policy, of any version.
bool holds_network(llvm::StringRef path);
/// Before a file is written that training does not go on from: what it takes the place of has to be
/// nothing, empty, or of its own kind. Errors: `usage`.
Result<void> check_replaced(llvm::StringRef path, bool of_its_kind);

/// "time limit", "memory limit", "interrupted"; empty: nobody has asked.
std::string stopped_by(const StopToken& stop);

/// What a training ends with that was stopped before anything was learned: `unfinished`, "a round".
Diagnostic nothing_learned(const StopToken& stop, llvm::StringRef unfinished, llvm::StringRef path);

} // namespace tg::paper
