// Names for the values of a graph that came from another format, made of what its file calls them:
// identifiers that say where in the network a value belongs, without what exporters add.
// `/layer1/layer1.0/conv1/Conv_output_0` is layer1_0_conv1; what says nothing (`val_12`) is left
// out, or named after the weight that the operator reads.
#pragma once

#include "compiler/ir/graph.h"

namespace tg {

/// By node; need not differ from each other. `file_names`: by node, as the file has them.
llvm::DenseMap<uint32_t, std::string>
readable_names(const Graph& graph, const llvm::DenseMap<uint32_t, std::string>& file_names);

/// What the model is called: as the file does, or after the file where that name says nothing
/// ("main_graph", "torch_jit").
std::string readable_model_name(llvm::StringRef name, llvm::StringRef path);

} // namespace tg
