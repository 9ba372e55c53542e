// Names for the values of an imported graph, derived from the names in its file: identifiers that
// locate a value in the network, without the additions of exporters.
// `/layer1/layer1.0/conv1/Conv_output_0` becomes layer1_0_conv1. Meaningless names (`val_12`) are
// dropped, or replaced by the name of the weight that the operator reads.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// Returns names by node; they need not be unique. `file_names` has the names in the file, by node.
llvm::DenseMap<uint32_t, std::string>
readable_names(const Graph& graph, const llvm::DenseMap<uint32_t, std::string>& file_names);

/// Returns the name of the model: the one in the file, or one from the path if that is meaningless
/// ("main_graph", "torch_jit").
std::string readable_model_name(llvm::StringRef name, llvm::StringRef path);

} // namespace tg
