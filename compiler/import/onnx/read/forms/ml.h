// Helpers of the forms of the domain ai.onnx.ml: list attributes, rows of features, labels.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {
namespace ml {

using Reals = std::vector<double>;

std::vector<std::string> texts(Call& call, llvm::StringRef name);
Reals reals(Call& call, llvm::StringRef name);
Shape wholes(Call& call, llvm::StringRef name);

/// Returns rows of f32, the type in which operators of this domain compute.
NodeId rows_of(Call& call);
NodeId real_table(Emitter& e, const Reals& values, Ints shape);
NodeId transformed(Call& call, NodeId scores);
/// Sets the result to the label at an index. Text labels are rejected.
void label(Call& call, llvm::StringRef ints, NodeId place);
/// Returns the index of the largest score of each row.
NodeId largest(Emitter& e, NodeId scores);

} // namespace ml

void svm_classifier(Call& call);
void svm_regressor(Call& call);

} // namespace tg::onnx
