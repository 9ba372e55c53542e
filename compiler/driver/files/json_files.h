// JSON that comes from outside: what earlier searches learned, and traces of searches. Text to
// values, and what is written of them; who opens files is elsewhere, so that fuzzers and tests come
// in without any.
#pragma once

#include "compiler/search/mcts/policy.h"
#include "lang/core/const_math.h"
#include "lang/core/result.h"

#include <llvm/Support/JSON.h>

namespace tg {

/// Deeper files are refused: the reader recurses over them.
inline constexpr int kMaxJsonDepth = 100;

/// `path` is for messages. Errors: `code`: no JSON, or nested beyond kMaxJsonDepth.
Result<llvm::json::Value> parse_json(llvm::StringRef text, llvm::StringRef path, Code code);

/// `{"rule": {"tried": 12, "paid": 3, "gain": 0.1}, ...}`. Errors: `bad_priors_file`.
Result<PriorTable> parse_priors(llvm::StringRef text, llvm::StringRef path);
/// The same form.
void write_priors(llvm::raw_ostream& out, const PriorTable& table);

/// A JSON number; null for what JSON cannot say (infinity, NaN).
void write_number(llvm::json::OStream& json, llvm::StringRef name, double value);
/// An integer with all its digits.
void write_number(llvm::json::OStream& json, llvm::StringRef name, const ConstNumber& value);

/// A trace of `tg opt --trace`, with all that is read of one (check_trace). Errors:
/// `bad_trace_file`.
Result<llvm::json::Value> parse_trace(llvm::StringRef text, llvm::StringRef path);

// Whether a trace of a search has all that the page of `tg report` reads, as it reads it: a file
// from outside, which may be of another program, cut off, or edited.

/// `path` is for messages, which name the first key that is amiss. Errors: `bad_trace_file`.
Result<void> check_trace(const llvm::json::Value& trace, llvm::StringRef path);

} // namespace tg
