// Nodes of the graph, as the forms of ONNX's operators write them. What depends on constants alone
// and is small is a constant at once, so that shapes that a file computes are known where they are
// needed.
#pragma once

#include "compiler/import/onnx/file/model_file.h"
#include "compiler/import/onnx/read/import.h"
#include "compiler/import/onnx/read/literal.h"
#include "compiler/ir/node_builder.h"
#include "compiler/ir/whole_ranges.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

namespace tg::onnx {

/// Results up to this are computed while the file is read; larger ones when the model is loaded.
inline constexpr int64_t kMostFolded = 4096;
/// Elements of a weight that may be asked for while the file is read.
inline constexpr int64_t kMostKnown = int64_t{1} << 20;

using Attribute = NodeAttribute;
using Attributes = NodeBuilder::Attributes;
using Nodes = NodeBuilder::Nodes;
using Ints = NodeBuilder::Ints;

class Emitter : public NodeBuilder {
public:
  Emitter(Graph& graph, const ModelFile& file) : NodeBuilder(graph), file_(file), ranges_(graph) {}

  // --- leaves ---
  NodeId literal(const Literal& literal);
  /// Its path is the name, or where another tensor has that, the name with a number behind it.
  NodeId weight(const schema::Tensor& tensor, llvm::StringRef name, const TensorType& type);
  /// Weights of the name change from run to run (compiler/ir/updated.h).
  void set_updated(llvm::StringRef name) { updated_.insert(name); }
  bool is_updated(llvm::StringRef name) const { return updated_.contains(name); }

  // --- what is known ---
  /// The elements of what constants and small weights alone decide.
  std::optional<Literal> known(NodeId x);
  /// True if no element of these integers can be below 0, as operators and constants show.
  bool never_negative(NodeId x) { return ranges_.of(x).low >= 0; }

  const std::vector<ImportedWeight>& weights() const { return weights_; }

private:
  NodeId simplified(NodeId made) override;
  std::optional<Literal> read_weight(NodeId weight);
  std::optional<Literal> known_below(NodeId x);

  const ModelFile& file_;
  WholeRanges ranges_;
  std::vector<ImportedWeight> weights_;
  llvm::StringMap<const schema::Tensor*> paths_; // whose the paths of weights_ are
  llvm::StringSet<> updated_;
  llvm::DenseMap<uint32_t, size_t> weight_; // node to place in weights_
  llvm::DenseMap<uint32_t, Literal> known_; // what was asked for and is no constant
};

} // namespace tg::onnx
