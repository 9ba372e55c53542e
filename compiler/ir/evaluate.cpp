#include "compiler/ir/evaluate.h"

#include "lang/core/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tg {

namespace {

/// One pass over the needed nodes; a node's values are dropped after the last use.
class Evaluation {
public:
  Evaluation(const Graph& graph, llvm::ArrayRef<NodeId> wanted)
      : graph_(graph), values_(graph.size()), uses_(graph.size(), 0) {
    for (NodeId id : wanted) ++uses_[id.index];
    for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;) {
      if (uses_[i] == 0) continue;
      for (NodeId operand : graph.operands({i})) ++uses_[operand.index];
    }
  }

  Result<void> run(const LeafSource& leaves) {
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (uses_[i] == 0 || graph_.node({i}).op == OpKind::None) continue;
      bool leaf = op_info(graph_.node({i}).op).has(Trait::Leaf);
      if (!leaf) compute({i});
      if (leaf && !fill_leaf({i}, leaves))
        return error(Code::not_constant, "the leaf {0} has {1} values where {2} are needed",
                     graph_.attr({i}, 0).text_form(), values_[i].size(),
                     graph_.type({i}).elements());
      for (NodeId operand : graph_.operands({i}))
        if (--uses_[operand.index] == 0) values_[operand.index] = {};
    }
    return {};
  }

  const NodeValues& values(NodeId id) const { return values_[id.index]; }

private:
  bool fill_leaf(NodeId id, const LeafSource& leaves) {
    NodeValues& values = values_[id.index];
    size_t elements = static_cast<size_t>(graph_.type(id).elements());
    if (graph_.node(id).op == OpKind::Constant) {
      values = graph_.attr(id, 0).reals;
      if (values.size() == 1) values.assign(elements, values[0]);
    } else {
      values = leaves(graph_, id);
    }
    return values.size() == elements;
  }

  void compute(NodeId id) {
    llvm::SmallVector<ConstView<double>, 4> operands;
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
    for (NodeId operand : graph_.operands(id)) {
      bool absent = graph_.type(operand).is_none();
      operands.push_back(
          {absent ? nullptr : values_[operand.index].data(), graph_.type(operand).shape});
      shapes.push_back(graph_.type(operand).shape);
    }
    llvm::SmallVector<const Value*, 4> attrs;
    for (size_t slot = 0; slot < graph_.attrs(id).size(); ++slot)
      attrs.push_back(&graph_.attr(id, slot));
    const TensorType& type = graph_.type(id);
    OpKind op = graph_.node(id).op;
    scratch_.resize(static_cast<size_t>(scratch_elements(op, attrs, shapes, type.shape)));
    NodeValues& result = values_[id.index];
    result.resize(static_cast<size_t>(type.elements()));
    evaluate_op<double>(op, attrs, operands, {result.data(), type.shape}, scratch_);
  }

  const Graph& graph_;
  std::vector<NodeValues> values_;
  std::vector<uint32_t> uses_; // by needed nodes that are still to come, and by the caller
  std::vector<double> scratch_;
};

} // namespace

LeafSource random_leaves(uint64_t seed, std::function<bool(llvm::StringRef)> positive) {
  return [seed, positive = std::move(positive)](const Graph& graph, NodeId id) {
    const std::string& name = graph.attr(id, 0).text;
    bool above_zero = positive && positive(name);
    RandomStream stream(seed, name);
    NodeValues values(static_cast<size_t>(graph.type(id).elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      double u = above_zero ? stream.uniform(i) : 2 * stream.uniform(i) - 1;
      values[i] = std::copysign(std::max(std::abs(u), 0x1p-10), u);
    }
    return values;
  };
}

Result<std::vector<NodeValues>> evaluate(const Graph& graph, const LeafSource& leaves,
                                         llvm::ArrayRef<NodeId> wanted) {
  Evaluation evaluation(graph, wanted);
  TG_CHECK(evaluation.run(leaves));
  std::vector<NodeValues> results;
  for (NodeId id : wanted) results.push_back(evaluation.values(id));
  return results;
}

Result<std::vector<NodeValues>> evaluate(const Graph& graph, const LeafSource& leaves) {
  llvm::SmallVector<NodeId, 4> wanted;
  for (const GraphOutput& output : graph.outputs()) wanted.push_back(output.node);
  return evaluate(graph, leaves, wanted);
}

double max_rel_diff(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinity;
  double distance = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return kInfinity;
    distance = std::max(distance, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return distance == 0 ? 0 : distance / scale; // b all zero: infinity
}

} // namespace tg
