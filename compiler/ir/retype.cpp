#include "compiler/ir/retype.h"

namespace tg {

namespace {

class Retyping {
public:
  Retyping(const Graph& from, DType dtype)
      : from_(from), dtype_(dtype), to_(from.shared_symbols(), from.name()), made_(from.size()) {}

  Result<Graph> run() {
    std::vector<bool> needed = from_.reachable();
    for (NodeId input : from_.inputs()) needed[input.index] = true;
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (needed[i]) TG_CHECK(copy({i}));
    for (const GraphOutput& output : from_.outputs()) {
      TG_TRY(NodeId node, as(made_[output.node.index], from_.type(output.node).dtype));
      to_.add_output(output.name, node);
    }
    return std::move(to_);
  }

private:
  Result<NodeId> add(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<NodeId> operands) {
    std::string why;
    NodeId id = to_.add(op, attrs, operands, &why);
    if (id.valid()) return id;
    llvm::StringRef name(op_info(op).name.data(), op_info(op).name.size());
    return error(Code::bad_attribute, "{0} cannot work in {1}: {2}", name, dtype_name(dtype_), why);
  }

  /// Casts are hash-consed: one for all who read the value.
  Result<NodeId> as(NodeId id, DType dtype) {
    if (to_.type(id).is_none() || to_.type(id).dtype == dtype) return id;
    ValueId name = to_.symbols().value(Value::of_enum(dtype_name(dtype)));
    return add(OpKind::Cast, {name}, {id});
  }

  Result<void> copy(NodeId id) {
    const Node& node = from_.node(id);
    bool leaf = op_info(node.op).has(Trait::Leaf);
    // A run's floats; what a leaf, or weights alone, give stays what it is.
    bool kept = node.op == OpKind::WinogradConv2d || node.op == OpKind::Extern; // types as declared
    bool narrow = !leaf && !node.weight_only && !kept;
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : from_.operands(id)) {
      NodeId made = made_[operand.index];
      bool is_f32 = from_.type(operand).dtype == DType::F32;
      if (!leaf && is_f32) {
        TG_TRY(made, as(made, narrow ? dtype_ : DType::F32));
      }
      operands.push_back(made);
    }
    llvm::SmallVector<ValueId, 4> attrs(from_.attrs(id).begin(), from_.attrs(id).end());
    if (node.op == OpKind::Cast && narrow && from_.type(id).dtype == DType::F32)
      attrs[0] = to_.symbols().value(Value::of_enum(dtype_name(dtype_)));
    TG_TRY(made_[id.index], add(node.op, attrs, operands));
    return {};
  }

  const Graph& from_;
  DType dtype_;
  Graph to_;
  std::vector<NodeId> made_;
};

} // namespace

Result<Graph> retype(const Graph& graph, DType dtype) { return Retyping(graph, dtype).run(); }

} // namespace tg
