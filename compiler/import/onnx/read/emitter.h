// Writes nodes of the graph, on behalf of the forms of ONNX's operators. A small node that
// depends only on constants becomes a constant at once, so that shapes computed in a file are
// known when needed.
#pragma once

#include "compiler/import/onnx/file/model_file.h"
#include "compiler/import/onnx/read/import.h"
#include "compiler/import/onnx/read/literal.h"
#include "compiler/ir/node_builder.h"
#include "compiler/ir/whole_ranges.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

namespace tg::onnx {

/// Results up to this size are computed at import time; larger ones when the model is loaded.
inline constexpr int64_t kMostFolded = 4096;
/// Limit on the elements of a weight that may be read at import time.
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
  /// Adds a weight. Its path is the name, or the name with a number if another tensor has that
  /// path.
  NodeId weight(const schema::Tensor& tensor, llvm::StringRef name, const TensorType& type);
  /// Marks weights of the name as changing from run to run (compiler/ir/updated.h).
  void set_updated(llvm::StringRef name) { updated_.insert(name); }
  bool is_updated(llvm::StringRef name) const { return updated_.contains(name); }

  // --- known values ---
  /// Returns the elements if they depend only on constants and small weights.
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
  llvm::StringMap<const schema::Tensor*> paths_; // the tensors of the paths in weights_
  llvm::StringSet<> updated_;
  llvm::DenseMap<uint32_t, size_t> weight_; // node to index in weights_
  llvm::DenseMap<uint32_t, Literal> known_; // known values that are not constants
};

} // namespace tg::onnx
