#include "compiler/verify/row_form.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

namespace tg {

namespace {

class RowForm {
public:
  explicit RowForm(const Joined& joined)
      : joined_(joined), from_(joined.graph), made_{Graph(from_.shared_symbols(), from_.name()),
                                                    {},
                                                    {},
                                                    joined.names,
                                                    joined.ranges},
        to_(made_.graph), copies_(from_.size()) {}

  Joined run() {
    for (uint32_t i = 0; i < from_.size(); ++i) copies_[i] = copy({i});
    for (NodeId id : joined_.a) made_.a.push_back(copies_[id.index]);
    for (NodeId id : joined_.b) made_.b.push_back(copies_[id.index]);
    return std::move(made_);
  }

private:
  NodeId copy(NodeId id) {
    const Node& node = from_.node(id);
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : from_.operands(id)) operands.push_back(copies_[operand.index]);
    if (node.op == OpKind::Reshape) return reshape(operands[0], from_.type(id).shape);
    if (!works_by_rows(id)) {
      if (op_info(node.op).has(Trait::Leaf)) return copy_node(from_, id, operands, to_);
      return to_.add(node.op, from_.attrs(id), operands);
    }
    for (NodeId& operand : operands)
      if (to_.type(operand).rank() > 2) operand = as_matrix(operand);
    NodeId rows = to_.add(node.op, from_.attrs(id), operands);
    assert(rows.valid() && "an operator on rows accepts matrices");
    return reshape(rows, from_.type(id).shape);
  }

  /// Returns true if the rows of the result, along the last axis, depend on the same rows of the
  /// wide operands, and on other operands as a whole.
  bool works_by_rows(NodeId id) const {
    const TensorType& type = from_.type(id);
    llvm::ArrayRef<NodeId> operands = from_.operands(id);
    if (type.is_none() || type.rank() <= 2 || type.elements() == 0 || from_.node(id).weight_only)
      return false;
    auto is_vector = [&](NodeId x) { return from_.type(x).is_none() || from_.type(x).rank() < 2; };
    auto has_rows = [&](NodeId x) {
      const Shape& shape = from_.type(x).shape;
      return shape.size() == type.shape.size() &&
             llvm::makeArrayRef(shape).drop_back() == llvm::makeArrayRef(type.shape).drop_back();
    };
    auto fits = [&](NodeId x) {
      return is_vector(x) || (has_rows(x) && from_.type(x).shape == type.shape);
    };
    switch (from_.node(id).op) {
    case OpKind::Matmul:
      return !from_.type(operands[0]).is_none() && has_rows(operands[0]) &&
             from_.type(operands[1]).rank() == 2 && is_vector(operands[2]) && fits(operands[3]);
    case OpKind::LayerNorm: return true;
    default: return is_pointwise(from_.node(id).op) && llvm::all_of(operands, fits);
    }
  }

  NodeId as_matrix(NodeId id) {
    int64_t columns = to_.type(id).shape.back();
    return reshape(id, {to_.type(id).elements() / columns, columns});
  }

  NodeId reshape(NodeId x, llvm::ArrayRef<int64_t> shape) {
    if (to_.node(x).op == OpKind::Reshape) x = to_.operands(x)[0];
    if (to_.type(x).shape == Shape(shape.begin(), shape.end())) return x;
    return to_.add(OpKind::Reshape, {to_.symbols().value(Value::of_ints(shape))}, {x});
  }

  const Joined& joined_;
  const Graph& from_;
  Joined made_;
  Graph& to_;
  std::vector<NodeId> copies_;
};

} // namespace

Joined with_row_form(const Joined& joined) { return RowForm(joined).run(); }

} // namespace tg
