// JSON that comes from outside, such as what earlier searches learned: text to values, and what is
// written of them; who opens files is elsewhere, so that fuzzers and tests come in without any.
// Traces of searches are read by compiler/report/trace_check.h.
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

} // namespace tg
