// An order in which the nodes of a graph can be read: each after those that make what it reads,
// itself or within its branches and bodies. The file's own order where that is one, as the format
// demands.
#pragma once

#include "compiler/import/onnx/file/schema.h"

#include <llvm/ADT/ArrayRef.h>

#include <string>
#include <vector>

namespace tg::onnx {

/// Indices of the nodes. Where some wait for each other, `cycle` names a few of them.
std::vector<int> order_of(const google::protobuf::RepeatedPtrField<schema::Node>& nodes,
                          std::string& cycle);

/// True if the outputs need each node, by index.
std::vector<bool> needed_nodes(const google::protobuf::RepeatedPtrField<schema::Node>& nodes,
                               llvm::ArrayRef<std::string> outputs);

} // namespace tg::onnx
