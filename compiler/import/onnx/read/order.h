// An order in which the nodes of a graph can be read: each after the nodes that make its operands,
// including those of its branches and bodies. It is the file's own order if that is valid, as the
// format requires.
#pragma once

#include "compiler/import/onnx/file/schema.h"

#include <llvm/ADT/ArrayRef.h>

#include <string>
#include <vector>

namespace tg::onnx {

/// Returns the indices of the nodes in order. If nodes depend on each other, `cycle` names a
/// few of them.
std::vector<int> order_of(const google::protobuf::RepeatedPtrField<schema::Node>& nodes,
                          std::string& cycle);

/// Returns, by index, whether the outputs need each node.
std::vector<bool> needed_nodes(const google::protobuf::RepeatedPtrField<schema::Node>& nodes,
                               llvm::ArrayRef<std::string> outputs);

} // namespace tg::onnx
