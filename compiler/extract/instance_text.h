// Reads what instance_key() writes: operators with their types, from the keys of cost tables and
// databases. Keys may come from another version, or from anywhere: what is not an instance of an
// operator of ours is none.
#pragma once

#include "compiler/extract/cost.h"

#include <optional>

namespace tg {

/// An instance with the types that it refers to, in the symbols that it was read into.
struct ReadInstance {
  OpKind op{};
  AttrsId attrs;
  llvm::SmallVector<TypeId, 5> operands;
  TypeId result;
  uint32_t weight_operands = 0;
  OpInstance instance() const { return {op, attrs, operands, result, weight_operands}; }
};

/// nullopt where the text is no instance, or its types do not fit.
std::optional<ReadInstance> read_instance(Symbols& symbols, llvm::StringRef key);

} // namespace tg
