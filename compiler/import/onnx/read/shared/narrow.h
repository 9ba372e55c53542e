// Integers of types that Tangram lacks (uint8, int8, uint16, …), carried by i32 or i64. The value
// of a carrier is always within the range of its type; results of arithmetic are wrapped to it.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// Wraps integers of the carrier's dtype, or of any width that wraps, modulo the size of the type.
/// Returns them in the dtype of its carrier.
NodeId wrapped(Emitter& e, NodeId x, int32_t element);

/// Sets a result of such integers, which must be in range.
void narrow_result(Call& call, size_t i, NodeId node, int32_t element);

/// Casts from any type to one that Tangram has or carries. Fails for others.
void cast_to(Call& call, int32_t to);

/// How an operator whose form does not support such integers handles them.
struct NarrowUse {
  llvm::StringLiteral op;
  enum class Results : uint8_t { Kept, FirstKept, Wrapped, Other } results;
  /// True if it depends on the order, which i64 does not have for the bits of uint64.
  bool has_order = false;
};
/// Returns null for an operator that does not support them, or whose form handles them itself.
const NarrowUse* narrow_use(llvm::StringRef op);

/// Replaces narrow integers in the inputs by their carriers and sets `element` to their type.
/// Returns false if they have several types, or one whose order the carrier does not have.
bool carry_inputs(const NarrowUse& use, llvm::ArrayRef<FileValue> inputs,
                  std::vector<FileValue>& carried, int32_t& element);
/// Converts the results that are narrow integers.
void narrow_results(Emitter& e, const NarrowUse& use, int32_t element,
                    std::vector<FileValue>& results);

void bit_shift(Call& call);
void bitwise_not(Call& call);
void dequantize_linear(Call& call);

} // namespace tg::onnx
