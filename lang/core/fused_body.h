// The body of a fused_map: a tree of pointwise operators over numbered operands, in post-order.
// The text ("tanh(add($0, mul($1, $2)))") is the canonical, interned form;
// this is the program that kernels and shape rules walk.
#pragma once

#include "lang/core/op.h"

#include <optional>
#include <vector>

namespace tg {

struct FusedInstr {
  bool is_operand = false;
  uint32_t operand = 0; // if is_operand
  OpKind op{};          // else a pointwise operator, with its operands on the stack
  bool operator==(const FusedInstr&) const = default;
};

/// In post-order, not empty; leaves exactly one value on the stack.
struct FusedBody {
  std::vector<FusedInstr> code;
  uint32_t operands = 0; // 1 + the highest operand number
  size_t op_count() const;
  /// The maximum stack depth of an evaluation.
  size_t stack_depth() const;
  std::string text() const;
};

/// Returns nullopt if the text is not a body (unknown operator, wrong arity, trailing text).
std::optional<FusedBody> parse_fused_body(llvm::StringRef text);

} // namespace tg
