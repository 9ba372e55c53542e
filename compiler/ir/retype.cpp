#include "compiler/ir/retype.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// Returns the largest finite number of a narrow float.
double largest(DType dtype) { return dtype == DType::F16 ? 65504.0 : 0x1.FEp127; }

double saturated(double x, double most) {
  return std::isfinite(x) ? std::clamp(x, -most, most) : x;
}

class Retyping {
public:
  Retyping(const Graph& from, DType dtype)
      : from_(from), dtype_(dtype), to_(from.shared_symbols(), from.name()), made_(from.size()),
        literal_(from.size()) {}

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
    return error(Code::bad_attribute, "{0} does not support {1}: {2}", name, dtype_name(dtype_),
                 why);
  }

  /// Casts are hash-consed, so all readers of the value share one.
  Result<NodeId> as(NodeId id, DType dtype) {
    if (to_.type(id).is_none() || to_.type(id).dtype == dtype) return id;
    ValueId name = to_.symbols().value(Value::of_enum(dtype_name(dtype)));
    return add(OpKind::Cast, {name}, {id});
  }

  /// Returns true if only finite literals are below, and no weight.
  bool is_literal(NodeId id) const {
    const Node& node = from_.node(id);
    if (node.op == OpKind::Constant)
      return llvm::all_of(from_.attr(id, 0).reals, [](double x) { return std::isfinite(x); });
    if (op_info(node.op).has(Trait::Leaf)) return node.op == OpKind::None;
    return llvm::all_of(from_.operands(id), [&](NodeId o) { return literal_[o.index]; });
  }

  /// Rounds a literal to a finite number of the narrow dtype. If a mask's 1e9 became infinite, its
  /// product with zeros would be NaN.
  Result<NodeId> narrowed_literal(NodeId literal) {
    double most = largest(dtype_);
    Symbols& symbols = to_.symbols();
    if (from_.node(literal).op != OpKind::Constant)
      return add(OpKind::Clip,
                 {symbols.value(Value::of_float(-most)), symbols.value(Value::of_float(most))},
                 {made_[literal.index]});
    std::vector<double> values = from_.attr(literal, 0).reals;
    for (double& x : values) x = saturated(x, most);
    return to_.constant(std::move(values), from_.type(literal));
  }

  /// Converts the f32 operand to the dtype that its reader expects.
  Result<NodeId> as_read(NodeId operand, bool narrow) {
    NodeId made = made_[operand.index];
    if (!narrow) return as(made, DType::F32);
    if (literal_[operand.index]) {
      TG_TRY(made, narrowed_literal(operand));
    }
    return as(made, dtype_);
  }

  llvm::SmallVector<ValueId, 4> retyped_attrs(NodeId id) {
    llvm::SmallVector<ValueId, 4> attrs(from_.attrs(id).begin(), from_.attrs(id).end());
    if (from_.type(id).dtype != DType::F32) return attrs;
    Symbols& symbols = to_.symbols();
    OpKind op = from_.node(id).op;
    if (op == OpKind::Cast) attrs[0] = symbols.value(Value::of_enum(dtype_name(dtype_)));
    if (op == OpKind::Pad) {
      double value = saturated(from_.attr(id, 2).real, largest(dtype_));
      attrs[2] = symbols.value(Value::of_float(value));
    }
    return attrs;
  }

  Result<void> copy(NodeId id) {
    literal_[id.index] = is_literal(id);
    const Node& node = from_.node(id);
    bool leaf = op_info(node.op).has(Trait::Leaf);
    // Narrows floats computed in a run. Leaves and values computed from weights alone stay
    // unchanged.
    bool narrow = !leaf && !node.weight_only && !stays_wide(node.op);
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : from_.operands(id)) {
      NodeId made = made_[operand.index];
      if (from_.type(operand).dtype == DType::F32) {
        TG_TRY(made, as_read(operand, narrow));
      }
      operands.push_back(made);
    }
    llvm::SmallVector<ValueId, 4> attrs(from_.attrs(id).begin(), from_.attrs(id).end());
    if (narrow) attrs = retyped_attrs(id);
    TG_TRY(made_[id.index], add(node.op, attrs, operands));
    return {};
  }

  const Graph& from_;
  DType dtype_;
  Graph to_;
  std::vector<NodeId> made_;
  std::vector<bool> literal_; // by copied node: the result of is_literal
};

} // namespace

bool stays_wide(OpKind op) {
  return op == OpKind::WinogradConv2d || op == OpKind::Extern; // has fixed types
}

Result<Graph> retype(const Graph& graph, DType dtype) {
  if (dtype == DType::F32) return graph;
  return Retyping(graph, dtype).run();
}

} // namespace tg
