#include "compiler/import/onnx/write/flatten_rows.h"

#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>
#include <set>

namespace tg::onnx {

namespace {

/// The connected parts of the graph that work row by row, and the gain of flattening each.
class RowParts {
public:
  explicit RowParts(const Graph& graph)
      : graph_(graph), needed_(graph.reachable()), users_(graph.size()),
        is_output_(graph.size(), false), rows_(graph.size(), false) {
    for (const GraphOutput& output : graph.outputs()) is_output_[output.node.index] = true;
    for (uint32_t i = 0; i < graph.size(); ++i) {
      if (!needed_[i]) continue;
      for (NodeId operand : graph.operands({i})) users_[operand.index].push_back({i});
      rows_[i] = is_computed_by_rows({i});
    }
    shrink();
    decide();
  }

  /// Returns true if the node is written over matrices.
  bool flattened(NodeId id) const { return rows_[id.index]; }

private:
  bool is_wide(NodeId id) const { return graph_.type(id).rank() > 2; }
  OpKind op(NodeId id) const { return graph_.node(id).op; }
  bool is_reshape(NodeId id) const { return op(id) == OpKind::Reshape; }
  bool is_computed_by_rows(NodeId id) const;
  void shrink();
  void join(NodeId id);
  void decide();
  bool is_biased_product(NodeId id) const;
  int gain(NodeId id) const;
  int gain_of_reading(NodeId id) const;
  int gain_with_neighbours(NodeId id) const;
  bool is_matrix_of(NodeId matrix, NodeId wide) const {
    const TensorType& type = graph_.type(matrix);
    return type.rank() == 2 && type[1] == graph_.type(wide).shape.back();
  }

  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<llvm::SmallVector<NodeId, 2>> users_; // that are needed
  std::vector<bool> is_output_, rows_;
  llvm::EquivalenceClasses<uint32_t> parts_;
};

bool RowParts::is_computed_by_rows(NodeId id) const {
  const Node& node = graph_.node(id);
  const TensorType& type = graph_.type(id);
  if (!is_wide(id) || !is_float(type.dtype) || node.weight_only) return false;
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  // Other operands may have numbers for each row, or one row or number for all rows.
  auto fits = [&](NodeId operand) {
    const Shape& shape = graph_.type(operand).shape;
    if (shape.size() < 2) return true;
    return shape.size() == type.shape.size() &&
           (shape.back() == type.shape.back() || shape.back() == 1) &&
           llvm::makeArrayRef(shape).drop_back() == llvm::makeArrayRef(type.shape).drop_back();
  };
  switch (node.op) {
  case OpKind::Matmul:
    return is_wide(operands[0]) && graph_.type(operands[1]).rank() == 2 && fits(operands[2]) &&
           graph_.type(operands[2]).rank() < 2 && fits(operands[3]);
  case OpKind::LayerNorm: return true;
  case OpKind::Slice: return graph_.attr(id, 0).number == type.rank() - 1;
  case OpKind::ReduceMean:
    return graph_.attr(id, 0).ints == Shape{type.rank() - 1} && graph_.attr(id, 1).number != 0;
  default: return is_pointwise(node.op) && llvm::all_of(operands, fits);
  }
}

void RowParts::join(NodeId id) {
  parts_.insert(id.index);
  for (NodeId operand : graph_.operands(id))
    if (rows_[operand.index]) parts_.unionSets(id.index, operand.index);
}

/// Returns true for a product with a bias, as one operator or as the second of two.
bool RowParts::is_biased_product(NodeId id) const {
  llvm::ArrayRef<NodeId> operands = graph_.operands(id);
  if (op(id) == OpKind::Matmul) return op(operands[2]) != OpKind::None;
  auto is_product = [&](NodeId x) { return op(x) == OpKind::Matmul && rows_[x.index]; };
  return op(id) == OpKind::Add &&
         ((is_product(operands[0]) && graph_.type(operands[1]).rank() == 1) ||
          (is_product(operands[1]) && graph_.type(operands[0]).rank() == 1));
}

/// Returns the number of operators saved, minus those added, where a part reads a node that is not
/// flattened: one reshape, however many nodes of the part read it.
int RowParts::gain_of_reading(NodeId id) const {
  if (!is_wide(id) || rows_[id.index]) return 0;
  if (llvm::none_of(users_[id.index], [&](NodeId user) { return rows_[user.index]; })) return 0;
  return is_reshape(id) ? is_matrix_of(graph_.operands(id)[0], id) : -1;
}

/// Returns the same for a flattened node.
int RowParts::gain(NodeId id) const {
  if (!rows_[id.index]) return 0;
  int gain = 0;
  if (is_biased_product(id)) gain += 2;
  bool is_asked_for = is_output_[id.index];
  for (NodeId user : users_[id.index]) {
    if (is_reshape(user)) gain += is_matrix_of(user, id);
    is_asked_for |= !rows_[user.index] && !is_reshape(user);
  }
  if (is_asked_for) --gain;
  // ONNX Runtime fuses an addition into a norm of three axes.
  if (op(id) == OpKind::LayerNorm && graph_.type(id).rank() == 3) {
    NodeId sum = graph_.operands(id)[0];
    bool adds = op(sum) == OpKind::Add ||
                (op(sum) == OpKind::Matmul && op(graph_.operands(sum)[3]) != OpKind::None);
    if (adds && users_[sum.index].size() == 1) --gain;
  }
  return gain;
}

/// Returns all gains that depend on whether the node is flattened.
int RowParts::gain_with_neighbours(NodeId id) const {
  llvm::SmallVector<NodeId, 8> near(graph_.operands(id).begin(), graph_.operands(id).end());
  near.push_back(id);
  llvm::append_range(near, users_[id.index]);
  llvm::sort(near, [](NodeId a, NodeId b) { return a.index < b.index; });
  near.erase(std::unique(near.begin(), near.end()), near.end());
  int sum = 0;
  for (NodeId one : near) sum += gain(one) + gain_of_reading(one);
  return sum;
}

/// Removes nodes without gain at the ends of parts, such as sums of several values before a norm:
/// after them one value is reshaped, before them several.
void RowParts::shrink() {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!rows_[i]) continue;
      int with = gain_with_neighbours({i});
      rows_[i] = false;
      if (gain_with_neighbours({i}) >= with)
        changed = true;
      else
        rows_[i] = true;
    }
  }
  for (uint32_t i = 0; i < graph_.size(); ++i)
    if (rows_[i]) join({i});
}

void RowParts::decide() {
  std::vector<uint32_t> lost;
  for (auto part = parts_.begin(); part != parts_.end(); ++part) {
    if (!part->isLeader()) continue;
    int sum = 0;
    std::set<uint32_t> read;
    for (auto member = parts_.member_begin(part); member != parts_.member_end(); ++member) {
      sum += gain({*member});
      for (NodeId operand : graph_.operands({*member}))
        if (read.insert(operand.index).second) sum += gain_of_reading(operand);
    }
    if (sum <= 0) lost.insert(lost.end(), parts_.member_begin(part), parts_.member_end());
  }
  for (uint32_t node : lost) rows_[node] = false;
}

class Flattener {
public:
  explicit Flattener(const Graph& from)
      : from_(from), to_(from.shared_symbols(), from.name()), parts_(from), as_it_was_(from.size()),
        flat_(from.size()) {}

  Graph run() {
    std::vector<bool> needed = from_.reachable();
    for (NodeId input : from_.inputs()) needed[input.index] = true;
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (needed[i]) add({i});
    for (const GraphOutput& output : from_.outputs())
      to_.add_output(output.name, copy_unchanged(output.node));
    return std::move(to_);
  }

private:
  void add(NodeId id) {
    const Node& node = from_.node(id);
    if (parts_.flattened(id)) {
      flat_[id.index] = over_matrices(id);
    } else if (node.op == OpKind::Reshape && flat_[from_.operands(id)[0].index].valid()) {
      as_it_was_[id.index] = reshape(flat_[from_.operands(id)[0].index], from_.type(id).shape);
    } else {
      llvm::SmallVector<NodeId, 5> operands;
      for (NodeId operand : from_.operands(id)) operands.push_back(copy_unchanged(operand));
      as_it_was_[id.index] = to_.add(node.op, from_.attrs(id), operands);
    }
  }

  NodeId over_matrices(NodeId id) {
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : from_.operands(id))
      operands.push_back(from_.type(operand).rank() > 2 ? flat(operand) : copy_unchanged(operand));
    llvm::SmallVector<ValueId, 4> attrs(from_.attrs(id).begin(), from_.attrs(id).end());
    if (from_.node(id).op == OpKind::Slice) attrs[0] = to_.symbols().value(Value::of_int(1));
    if (from_.node(id).op == OpKind::ReduceMean)
      attrs[0] = to_.symbols().value(Value::of_ints({1}));
    NodeId made = to_.add(from_.node(id).op, attrs, operands);
    assert(made.valid() && "an operator on rows accepts matrices");
    return made;
  }

  NodeId copy_unchanged(NodeId id) {
    NodeId& known = as_it_was_[id.index];
    if (!known.valid()) known = reshape(flat_[id.index], from_.type(id).shape);
    return known;
  }

  /// Returns the rows of a node that is not written over matrices; for a reshape, those of
  /// its operand.
  NodeId flat(NodeId id) {
    NodeId& known = flat_[id.index];
    if (known.valid()) return known;
    const TensorType& type = from_.type(id);
    int64_t columns = type.shape.back(), rows = type.elements() / columns;
    NodeId x = copy_unchanged(id);
    if (to_.node(x).op == OpKind::Reshape) x = to_.operands(x)[0];
    return known = reshape(x, {rows, columns});
  }

  NodeId reshape(NodeId x, llvm::ArrayRef<int64_t> shape) {
    if (to_.type(x).shape == Shape(shape.begin(), shape.end())) return x;
    return to_.add(OpKind::Reshape, {to_.symbols().value(Value::of_ints(shape))}, {x});
  }

  const Graph& from_;
  Graph to_;
  RowParts parts_;
  std::vector<NodeId> as_it_was_, flat_; // by node of `from_`, the two written forms
};

} // namespace

Graph flatten_rows(const Graph& graph) { return Flattener(graph).run(); }

} // namespace tg::onnx
