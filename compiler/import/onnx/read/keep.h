// Which nodes of a file stay what they are (file/kept_nodes.h), and the cut around them. A node is
// chosen before its form is written and kept behind that: the form has checked it then and says of
// what types its results are. What the form wrote is read by nobody, so one that would write much
// gives the types alone (Call::is_kept).
#pragma once

#include "compiler/import/onnx/file/kept_nodes.h"
#include "compiler/import/onnx/read/call.h"

#include <llvm/ADT/StringSet.h>

namespace tg::onnx {

/// Operator, name and attributes of a node; those of a function's call in their places, and those
/// whose default was another one in its opset.
schema::Node head_of(const schema::Node& node, int version,
                     const llvm::StringMap<const schema::Attribute*>& attributes);

/// Copies the marked nodes and all below them. Returns where each node is in `to`.
std::vector<NodeId> copy_below(const Graph& from, std::vector<bool> needed, Graph& to);

class Keeper {
public:
  /// `newest`: the newest opset that a kept node may need; 0: none is kept.
  Keeper(Emitter& emit, const schema::Graph& graph, int newest);

  /// The node as it will stand in the file that is written; nullopt where it is not to be kept.
  std::optional<KeptNode> choose(const schema::Node& node, int version,
                                 llvm::ArrayRef<FileValue> inputs,
                                 const llvm::StringMap<const schema::Attribute*>& attributes);
  /// True unless the node is of a kind that is kept for results of open sizes, and has none, or
  /// other nodes read them.
  bool is_to_keep(const KeptNode& chosen, const schema::Node& node,
                  llvm::ArrayRef<FileValue> results) const;
  /// One that was chosen: its results become inputs of the graph.
  void keep(KeptNode chosen, const schema::Node& node, llvm::ArrayRef<FileValue> inputs,
            std::vector<FileValue>& results);

  /// When the graph has the outputs of the model: those that kept nodes read are added. nullopt
  /// where nothing was kept.
  std::optional<KeptNodes> finish();
  /// "LSTM `/rnn/LSTM`": those that are of a kind to be kept, and were not.
  std::vector<std::string> written_out() { return std::move(written_out_); }

private:
  std::string fresh(llvm::StringRef name);
  std::string read(NodeId value, llvm::StringRef name);
  FileValue given(const FileValue& result, llvm::StringRef name, std::string& input);

  Emitter& emit_;
  int newest_;
  llvm::StringSet<> taken_;                    // names of inputs and outputs
  llvm::StringSet<> read_by_nodes_;            // of the file
  llvm::DenseMap<uint32_t, std::string> read_; // what kept nodes call a value
  std::vector<NodeId> cut_;                    // values that are to be outputs, in order
  std::vector<KeptNode> nodes_;
  std::set<std::string> cuts_;
  std::vector<std::string> written_out_;
};

} // namespace tg::onnx
