// Which nodes of a file stay what they are (file/kept_nodes.h), and the cut around them. A node is
// offered when its form has been written: the form has checked it then and says of what types its
// results are, and what it wrote is read by nobody.
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/read/call.h"

#include <llvm/ADT/StringSet.h>

namespace tg::onnx {

class Keeper {
public:
  /// `newest`: the newest opset that a kept node may need; 0: none is kept.
  Keeper(NodeEmitter& emit, const schema::Graph& graph, int newest);

  /// Where the node is one to be kept, its results become inputs of the graph.
  void offer(const schema::Node& node, int version, llvm::ArrayRef<FileValue> inputs,
             const llvm::StringMap<const schema::Attribute*>& attributes,
             std::vector<FileValue>& results);

  /// When the graph has the outputs of the model: those that kept nodes read are added. nullopt
  /// where nothing was kept.
  std::optional<KeptNodes> finish();
  /// "LSTM `/rnn/LSTM`": those that were offered, are of a kind to be kept, and were not.
  std::vector<std::string> written_out() { return std::move(written_out_); }

private:
  std::string fresh(llvm::StringRef name);
  std::string read(NodeId value, llvm::StringRef name);
  FileValue given(const FileValue& result, llvm::StringRef name, std::string& input);

  NodeEmitter& emit_;
  int newest_;
  llvm::StringSet<> taken_;                    // names of inputs and outputs
  llvm::DenseMap<uint32_t, std::string> read_; // what kept nodes call a value
  std::vector<NodeId> cut_;                    // values that are to be outputs, in order
  std::vector<KeptNode> nodes_;
  std::set<std::string> cuts_;
  std::vector<std::string> written_out_;
};

} // namespace tg::onnx
