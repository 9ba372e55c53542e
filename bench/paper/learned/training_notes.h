// The training settings that a trained file records, so that training resumes only with the same
// settings.
#pragma once

#include "bench/paper/learned/policy_models.h"
#include "lang/core/support/stop.h"
#include "tangram/tangram.h"

namespace tg::paper {

/// Formats a number as decimal text that reads back as the same number.
std::string exact_text(double number);

/// Describes a list of rules: their number, a digest of their texts in order (rewrites are numbered
/// by it), and the permitted numerics if not the default.
std::string text_of_rules(llvm::ArrayRef<Rule> rules, tangram::Numerics numerics);

/// Returns the note of `key`, or "" if there is none.
std::string note_of(const PolicyNotes& notes, llvm::StringRef key);

/// Checks that the notes have the expected values. `what` names the file's content, as "policy".
/// Errors: `usage`.
Result<void> check_notes(const PolicyNotes& notes, const PolicyNotes& wanted, llvm::StringRef what,
                         llvm::StringRef path);

/// Returns a warning if a followed policy was trained on another model or with other rules ("the
/// policy was trained on another model, `m`"), else "".
std::string trained_otherwise(const PolicyNotes& notes, const Graph& source,
                              llvm::ArrayRef<Rule> rules, tangram::Numerics numerics);

/// Returns the count that the file must record under `key`. Errors: `bad_data_file`.
Result<size_t> count_of(const PolicyNotes& notes, llvm::StringRef key, llvm::StringRef what,
                        llvm::StringRef path);

/// Returns true if the file has the network of a policy, of any version.
bool holds_network(llvm::StringRef path);
/// Checks that a new training may overwrite the file: it must be missing, empty, or of the same
/// kind. Errors: `usage`.
Result<void> check_replaced(llvm::StringRef path, bool of_its_kind);

/// Returns "time limit", "memory limit" or "interrupted", or "" if no stop was requested.
std::string stopped_by(const StopToken& stop);

/// Returns the error of a training that was stopped before it learned anything. `unfinished` names
/// the incomplete unit, as "a round".
Diagnostic nothing_learned(const StopToken& stop, llvm::StringRef unfinished, llvm::StringRef path);

} // namespace tg::paper
