// Nodes of the graph, as the forms of ONNX's operators write them. What depends on constants alone
// and is small is a constant at once, so that shapes that a file computes are known where they are
// needed.
//
// An operator that does not apply gives an invalid node and is remembered: forms go on, invalid
// operands give invalid results, and who asked for the form looks at `fault()` once.
#pragma once

#include "compiler/import/onnx/file/model_file.h"
#include "compiler/import/onnx/read/import.h"
#include "compiler/import/onnx/read/literal.h"

#include <llvm/ADT/StringMap.h>

namespace tg::onnx {

/// Results up to this are computed while the file is read; larger ones when the model is loaded.
inline constexpr int64_t kMostFolded = 4096;
/// Elements of a weight that may be asked for while the file is read.
inline constexpr int64_t kMostKnown = int64_t{1} << 20;

struct Attribute {
  llvm::StringRef name;
  Value value;
};
using Attributes = llvm::ArrayRef<Attribute>;
using Nodes = llvm::ArrayRef<NodeId>;
using Ints = llvm::ArrayRef<int64_t>;

/// Nodes, leaves, and what is known of them.
class NodeEmitter {
public:
  NodeEmitter(Graph& graph, const ModelFile& file) : graph_(graph), file_(file) {}

  Graph& graph() { return graph_; }
  /// Of a node that is not, because something failed: some type with all axes that there may be, so
  /// that forms may go on to their end.
  const TensorType& type(NodeId x) const { return x.valid() ? graph_.type(x) : no_type_; }
  Ints shape(NodeId x) const { return type(x).shape; }
  int64_t rank(NodeId x) const { return type(x).rank(); }
  DType dtype(NodeId x) const { return type(x).dtype; }

  /// The first thing that went wrong since it was asked for; empty if nothing did.
  std::string take_fault() { return std::exchange(fault_, {}); }
  bool failed() const { return !fault_.empty(); }
  /// Invalid, for the reason given.
  NodeId fail(const llvm::Twine& why);

  /// Attributes that are not given have their defaults.
  NodeId op(OpKind kind, Nodes operands, Attributes attributes = {});
  /// The same of an operator by its name in the table.
  NodeId named(llvm::StringRef name, Nodes operands, Attributes attributes = {});

  // --- leaves ---
  NodeId literal(const Literal& literal);
  NodeId scalar(double value, DType dtype);
  /// Of the dtype of another.
  NodeId like(NodeId x, double value) { return x.valid() ? scalar(value, dtype(x)) : NodeId(); }
  NodeId filled(double value, const TensorType& type);
  /// A vector of i64.
  NodeId indices(Ints values);
  /// Its path is the name, or where another tensor has that, the name with a number behind it.
  NodeId weight(const schema::Tensor& tensor, llvm::StringRef name, const TensorType& type);

  // --- what is known ---
  /// The elements of what constants and small weights alone decide.
  std::optional<Literal> known(NodeId x);

  NodeId none() { return graph_.none(); }

  const std::vector<ImportedWeight>& weights() const { return weights_; }

private:
  NodeId fold(NodeId made);
  std::optional<Literal> read_weight(NodeId weight);
  std::optional<Literal> known_below(NodeId x);

  Graph& graph_;
  const ModelFile& file_;
  const TensorType no_type_{DType::F32, Shape(kMaxRank, 1)};
  std::string fault_;
  std::vector<ImportedWeight> weights_;
  llvm::StringMap<const schema::Tensor*> paths_; // whose the paths of weights_ are
  llvm::DenseMap<uint32_t, size_t> weight_;      // node to place in weights_
  llvm::DenseMap<uint32_t, Literal> known_;      // what was asked for and is no constant
};

/// The words that forms are written with. A word that has nothing to do gives its operand.
class Emitter : public NodeEmitter {
public:
  using NodeEmitter::NodeEmitter;

  // --- element by element; dtypes have to agree, shapes broadcast ---
  NodeId add(NodeId x, NodeId y) { return op(OpKind::Add, {x, y}); }
  NodeId sub(NodeId x, NodeId y) { return op(OpKind::Sub, {x, y}); }
  NodeId mul(NodeId x, NodeId y) { return op(OpKind::Mul, {x, y}); }
  NodeId div(NodeId x, NodeId y) { return op(OpKind::Div, {x, y}); }
  NodeId add(NodeId x, double y) { return add(x, like(x, y)); }
  NodeId sub(NodeId x, double y) { return sub(x, like(x, y)); }
  NodeId mul(NodeId x, double y) { return mul(x, like(x, y)); }
  NodeId div(NodeId x, double y) { return div(x, like(x, y)); }
  NodeId less(NodeId x, NodeId y) { return op(OpKind::Less, {x, y}); }
  NodeId equal(NodeId x, NodeId y) { return op(OpKind::Equal, {x, y}); }
  NodeId select(NodeId condition, NodeId x, NodeId y) {
    return op(OpKind::Select, {condition, x, y});
  }
  NodeId unary(OpKind kind, NodeId x) { return op(kind, {x}); }
  NodeId neg(NodeId x) { return op(OpKind::Neg, {x}); }
  NodeId cast(NodeId x, DType to);
  NodeId clip(NodeId x, double low, double high);

  // --- moves ---
  NodeId reshape(NodeId x, Ints shape);
  NodeId transpose(NodeId x, Ints perm);
  NodeId swap_axes(NodeId x, int64_t a, int64_t b);
  NodeId slice(NodeId x, int64_t axis, int64_t start, int64_t stop);
  /// x itself where there is one.
  NodeId concat(Nodes xs, int64_t axis);
  NodeId gather(NodeId x, NodeId indices, int64_t axis);
  /// The elements of these places along the axis, each within it: as little work as that takes.
  NodeId take(NodeId x, int64_t axis, Ints places);
  NodeId reverse(NodeId x, int64_t axis);
  NodeId pad(NodeId x, Ints before, Ints after, double value = 0);
  /// NumPy's broadcast_to.
  NodeId expand(NodeId x, Ints shape);
  NodeId unsqueeze(NodeId x, int64_t axis);
  NodeId squeeze(NodeId x, int64_t axis);
  /// 0, 1, 2, .. along the axis of this type.
  NodeId iota(const TensorType& type, int64_t axis);

  // --- sums and products ---
  NodeId reduce(OpKind kind, NodeId x, Ints axes, bool keepdims);
  NodeId mean(NodeId x, Ints axes) { return reduce(OpKind::ReduceMean, x, axes, true); }
  NodeId sum(NodeId x, Ints axes) { return reduce(OpKind::ReduceSum, x, axes, true); }
  NodeId matmul(NodeId x, NodeId y) { return op(OpKind::Matmul, {x, y, none(), none()}); }
  NodeId softmax(NodeId x, int64_t axis);
  NodeId log_softmax(NodeId x, int64_t axis);
  NodeId layer_norm(NodeId x, NodeId scale, NodeId bias, double eps);
};

} // namespace tg::onnx
