// Operators that go element by element, in operators of ONNX. One that ONNX has is that node; one
// with a formula (lang/core/formulas.h) that ONNX has not, or not yet in the opset, is its formula
// written out; the others are composed here.
#pragma once

#include "compiler/import/onnx/write/export_nodes.h"
#include "lang/core/op.h"
#include "lang/core/result.h"

namespace tg::onnx {

/// `attrs` are numbers, in slot order. Operands broadcast. What takes several nodes is computed in
/// f32 where the operands are halves, and rounded once.
/// Errors: `unsupported` for an operator that nothing here can write.
Result<Operand> write_pointwise(NodeWriter& nodes, OpKind op, llvm::ArrayRef<Operand> operands,
                                llvm::ArrayRef<Value> attrs = {});

/// Tangram's cast: from floats to integers, what ONNX leaves open is written out.
Operand write_cast(NodeWriter& nodes, const Operand& x, DType to);

} // namespace tg::onnx
