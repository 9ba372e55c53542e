// The record is a Python list: ['', 'encoder', 'encoder.layer.0', 'linear_3'], each module by its
// full path, and the operator last.
#include "compiler/import/onnx/read/module_path.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

namespace tg::onnx {
namespace {

constexpr llvm::StringLiteral kNote = "pkg.torch.onnx.name_scopes";

llvm::SmallVector<llvm::StringRef, 16> items_of(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef, 16> quoted, items;
  list.split(quoted, '\'');
  for (size_t i = 1; i < quoted.size(); i += 2) items.push_back(quoted[i]);
  return items;
}

} // namespace

std::string module_path(const schema::Node& node) {
  std::string path;
  for (const schema::KeyValue& note : node.metadata_props()) {
    if (note.key() != kNote) continue;
    llvm::SmallVector<llvm::StringRef, 16> modules = items_of(note.value());
    if (!modules.empty()) modules.pop_back();
    llvm::StringRef outer;
    for (llvm::StringRef module : modules) {
      llvm::StringRef inner = module;
      if (!outer.empty() && inner.consume_front(outer)) inner.consume_front(".");
      if (!inner.empty()) path += "/" + inner.str();
      outer = module;
    }
  }
  return path;
}

} // namespace tg::onnx
