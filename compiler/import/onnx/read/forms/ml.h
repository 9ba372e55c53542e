// Words that the forms of the domain ai.onnx.ml share: attributes that are lists, rows of features,
// labels.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {
namespace ml {

using Reals = std::vector<double>;

std::vector<std::string> texts(Call& call, llvm::StringRef name);
Reals reals(Call& call, llvm::StringRef name);
Shape wholes(Call& call, llvm::StringRef name);

/// Rows of f32, as the operators of this domain compute.
NodeId rows_of(Call& call);
NodeId real_table(Emitter& e, const Reals& values, Ints shape);
NodeId transformed(Call& call, NodeId scores);
/// The label at a place. Labels that are texts are refused where they are read.
void label(Call& call, llvm::StringRef ints, NodeId place);
/// The place of the largest score of each row.
NodeId largest(Emitter& e, NodeId scores);

} // namespace ml

void svm_classifier(Call& call);
void svm_regressor(Call& call);

} // namespace tg::onnx
