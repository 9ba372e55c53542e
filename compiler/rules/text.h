// A rule as text, close to what was written: for `tg rules list --verbose`, explanations, and test
// failures. Attributes that have their default and absent operands are left out; what `..` bound is
// shown by the slot's name.
#pragma once

#include "compiler/rules/rule.h"

#include <string>

namespace tg {

/// `fuse_relu: relu(conv2d(x, w)) => conv2d(x, w, act = relu) where weight(w)`, on one line.
std::string rule_text(const Rule& rule);

/// One side alone: results joined by commas.
std::string rule_side_text(const Rule& rule, bool left);

/// An expression as it would be written: `dim(a, -1) + 1`.
std::string expr_text(const Rule& rule, ExprIndex expr);

/// "exact", "reassociates", "risky", "lossy".
llvm::StringRef numerics_name(Numerics numerics);

/// "rewrite" (one pattern), "multi" (several), "native" (built in).
llvm::StringRef rule_kind(const Rule& rule);

/// The command that verifies the rule: `tg rules verify mine.tg`.
std::string verify_command(const Rule& rule);

} // namespace tg
