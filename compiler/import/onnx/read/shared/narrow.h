// Integers of types that Tangram does not have (uint8, int8, uint16, …), carried by i32 or i64. A
// value of one always lies within its type; arithmetic on carriers is brought back into it.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// Brings integers of the carrier's dtype, or of any width that wraps, into the type modulo its
/// size, in the dtype of its carrier.
NodeId wrapped(Emitter& e, NodeId x, int32_t element);

/// The result of a call that is such integers; they have to be in range.
void narrow_result(Call& call, size_t i, NodeId node, int32_t element);

/// Casts to a type that Tangram has or carries, from any. Fails for others.
void cast_to(Call& call, int32_t to);

/// How an operator, whose form knows nothing of them, takes such integers.
struct NarrowUse {
  llvm::StringLiteral op;
  enum class Results : uint8_t { Kept, FirstKept, Wrapped, Other } results;
  /// True if it depends on an order, which i64 does not have for the bits of uint64.
  bool has_order = false;
};
/// Null for an operator that does not take them, or whose form looks after them itself.
const NarrowUse* narrow_use(llvm::StringRef op);

/// The inputs with their carriers in the place of narrow integers; the type of these is in
/// `element`. False if they are of several types, or of one whose order the carrier does not have.
bool carry_inputs(const NarrowUse& use, llvm::ArrayRef<FileValue> inputs,
                  std::vector<FileValue>& carried, int32_t& element);
/// Makes narrow integers of the results that are.
void narrow_results(Emitter& e, const NarrowUse& use, int32_t element,
                    std::vector<FileValue>& results);

void bit_shift(Call& call);
void bitwise_not(Call& call);
void dequantize_linear(Call& call);

} // namespace tg::onnx
