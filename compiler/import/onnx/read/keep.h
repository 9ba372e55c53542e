// Selects the nodes of a file that are kept (file/kept_nodes.h), and cuts them out. A node is
// selected before its form is written and kept afterwards: by then the form has checked the node
// and determined the types of its results. The nodes that the form wrote are unused, so an
// expensive form gives only the types (Call::is_kept).
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/read/call.h"

#include <llvm/ADT/StringSet.h>

namespace tg::onnx {

/// Returns the operator, name and attributes of a node. Attributes of a function's call are
/// substituted, and attributes whose default was different in its opset are added.
schema::Node head_of(const schema::Node& node, int version,
                     const llvm::StringMap<const schema::Attribute*>& attributes);

/// Copies the marked nodes and all below them. Returns the copy of each node in `to`.
std::vector<NodeId> copy_below(const Graph& from, std::vector<bool> needed, Graph& to);

class Keeper {
public:
  /// `newest`: the newest opset that a kept node may need; 0: none is kept.
  Keeper(Emitter& emit, const schema::Graph& graph, int newest);

  /// Returns the node as it will appear in the written file; nullopt if it is not to be kept.
  std::optional<KeptNode> choose(const schema::Node& node, int version,
                                 llvm::ArrayRef<FileValue> inputs,
                                 const llvm::StringMap<const schema::Attribute*>& attributes);
  /// Returns true unless nodes of its kind are kept only for results of open sizes, and this one
  /// has none, or other nodes read them.
  bool is_to_keep(const KeptNode& chosen, const schema::Node& node,
                  llvm::ArrayRef<FileValue> results) const;
  /// Keeps a selected node: its results become inputs of the graph.
  void keep(KeptNode chosen, const schema::Node& node, llvm::ArrayRef<FileValue> inputs,
            std::vector<FileValue>& results);

  /// Adds the operands of kept nodes as outputs, after the outputs of the model. nullopt if no
  /// node was kept.
  std::optional<KeptNodes> finish();
  /// "LSTM `/rnn/LSTM`": nodes of kinds that can be kept, but which were not.
  std::vector<std::string> written_out() { return std::move(written_out_); }

private:
  std::string fresh(llvm::StringRef name);
  std::string read(NodeId value, llvm::StringRef name);
  FileValue given(const FileValue& result, llvm::StringRef name, std::string& input);

  Emitter& emit_;
  int newest_;
  llvm::StringSet<> taken_;                    // names of inputs and outputs
  llvm::StringSet<> read_by_nodes_;            // of the file
  llvm::DenseMap<uint32_t, std::string> read_; // the name that kept nodes use for a value
  std::vector<NodeId> cut_;                    // values that become outputs, in order
  std::vector<KeptNode> nodes_;
  std::set<std::string> cuts_;
  std::vector<std::string> written_out_;
};

} // namespace tg::onnx
