#include "compiler/import/onnx/file/kept_nodes.h"

#include <llvm/ADT/MapVector.h>

#include <algorithm>

namespace tg::onnx {

int KeptNodes::opset() const {
  int oldest = 0;
  for (const KeptNode& kept : nodes) oldest = std::max(oldest, kept.opset);
  return oldest;
}

std::string KeptNodes::text() const {
  llvm::MapVector<llvm::StringRef, size_t> counts;
  for (const KeptNode& kept : nodes) ++counts[kept.node.op_type()];
  std::string text;
  for (const auto& [op, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + op.str();
  return text;
}

} // namespace tg::onnx
