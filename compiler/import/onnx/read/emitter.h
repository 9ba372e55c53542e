// Writes nodes of the graph, on behalf of the forms of ONNX's operators. A small node that
// depends only on constants becomes a constant at once, so that shapes computed in a file are
// known when needed.
#pragma once

#include "compiler/import/onnx/file/model_file.h"
#include "compiler/import/onnx/read/import.h"
#include "compiler/import/onnx/read/literal.h"
#include "compiler/ir/node_builder.h"
#include "compiler/ir/whole_ranges.h"

#include <llvm/ADT/DenseSet.h>
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
  /// `most_folded` is that of ImportOptions.
  Emitter(Graph& graph, const ModelFile& file, std::optional<int64_t> most_folded = {})
      : NodeBuilder(graph), file_(file), ranges_(graph),
        most_folded_(most_folded.value_or(kMostFolded)) {}

  // --- leaves ---
  NodeId literal(const Literal& literal);
  /// Writes a long list of steps of one width as an `iota`.
  NodeId indices(Ints values) override;
  /// Values of more elements than this should stay operators.
  int64_t most_folded() const { return most_folded_; }
  /// True for a value that may follow from open sizes.
  bool depends_on_sizes(NodeId x) const {
    bool computed = x.valid() && graph().node(x).op != OpKind::Constant;
    return most_folded_ < kMostFolded && (computed || sized_.contains(x.index));
  }
  /// Returns a constant of sizes of a tensor. If sizes are open, floats computed from it stay
  /// operators.
  NodeId sizes(const Literal& sizes) {
    NodeId made = literal(sizes);
    if (most_folded_ < kMostFolded) sized_.insert(made.index);
    return made;
  }
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

  /// Records a branch that a known condition decided.
  void decide(std::string decision) { decisions_.push_back(std::move(decision)); }
  const std::vector<std::string>& decisions() const { return decisions_; }

private:
  NodeId simplified(NodeId made) override;
  std::optional<Literal> read_weight(NodeId weight);
  std::optional<Literal> known_below(NodeId x);

  const ModelFile& file_;
  WholeRanges ranges_;
  int64_t most_folded_;
  std::vector<ImportedWeight> weights_;
  llvm::StringMap<const schema::Tensor*> paths_; // the tensors of the paths in weights_
  std::vector<std::string> decisions_;
  llvm::StringSet<> updated_;
  llvm::DenseSet<uint32_t> sized_;          // constants that follow from sizes
  llvm::DenseMap<uint32_t, size_t> weight_; // node to index in weights_
  llvm::DenseMap<uint32_t, Literal> known_; // known values that are not constants
};

} // namespace tg::onnx
