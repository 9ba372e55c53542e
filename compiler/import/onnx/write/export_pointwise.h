// Writes element-by-element operators in operators of ONNX. An operator that ONNX has becomes that
// node. One with a formula (lang/core/formulas.h) that the opset lacks is written as its formula.
// The others are composed here.
#pragma once

#include "compiler/import/onnx/write/export_nodes.h"
#include "lang/core/op.h"
#include "lang/core/result.h"

namespace tg::onnx {

/// Writes an operator. `attrs` are numbers, in slot order. Operands broadcast. If it takes several
/// nodes, halves are computed in f32 and rounded once. Errors: `unsupported` for an operator that
/// cannot be written.
Result<Operand> write_pointwise(NodeWriter& nodes, OpKind op, llvm::ArrayRef<Operand> operands,
                                llvm::ArrayRef<Value> attrs = {});

/// Writes Tangram's cast. Results that ONNX leaves undefined for floats to integers are
/// written out.
Operand write_cast(NodeWriter& nodes, const Operand& x, DType to);

} // namespace tg::onnx
