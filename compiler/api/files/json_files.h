// Parses and writes JSON that comes from outside, such as statistics of earlier searches. It works
// on texts, not on files, so that fuzzers and tests can call it. compiler/report/trace_check.h
// reads traces of searches.
#pragma once

#include "compiler/search/mcts/policy.h"
#include "lang/core/const_math.h"
#include "lang/core/result.h"

#include <llvm/Support/JSON.h>

namespace tg {

/// Deeper files are rejected, because the reader is recursive.
inline constexpr int kMaxJsonDepth = 100;

/// `path` is for messages. Errors: `code` if the text is not JSON, or nested beyond kMaxJsonDepth.
Result<llvm::json::Value> parse_json(llvm::StringRef text, llvm::StringRef path, Code code);

/// `{"rule": {"tried": 12, "paid": 3, "gain": 0.1}, ...}`. Errors: `bad_priors_file`.
Result<PriorTable> parse_priors(llvm::StringRef text, llvm::StringRef path);
/// Writes the same form.
void write_priors(llvm::raw_ostream& out, const PriorTable& table);

/// Writes a JSON number; null for infinity and NaN.
void write_number(llvm::json::OStream& json, llvm::StringRef name, double value);
/// Writes an integer exactly.
void write_number(llvm::json::OStream& json, llvm::StringRef name, const ConstNumber& value);

} // namespace tg
