// Formats a rule as text close to its source: for `tg rules list --verbose`, explanations, and test
// failures. Default attributes and absent operands are omitted; values bound by `..` have the
// slot's name.
#pragma once

#include "compiler/rules/rule.h"

#include <string>

namespace tg {

/// Returns `fuse_relu: relu(conv2d(x, w)) => conv2d(x, w, act = relu) where weight(w)`, on one
/// line.
std::string rule_text(const Rule& rule);

/// Returns one side: results separated by commas.
std::string rule_side_text(const Rule& rule, bool left);

/// Returns an expression in source form: `dim(a, -1) + 1`.
std::string expr_text(const Rule& rule, ExprIndex expr);

/// Returns "exact", "reassociates", "risky" or "lossy".
llvm::StringRef numerics_name(Numerics numerics);

/// Returns "rewrite" (one pattern), "multi" (several) or "native" (built in).
llvm::StringRef rule_kind(const Rule& rule);

/// Returns the command that verifies the rule: `tg rules verify mine.tg`.
std::string verify_command(const Rule& rule);

} // namespace tg
