#include "compiler/ir/node_builder.h"

#include <llvm/ADT/STLExtras.h>

#include <numeric>

namespace tg {

/// Longer axes cannot be reversed, because the indices are a constant.
static constexpr int64_t kMostReversed = int64_t{1} << 20;

NodeId NodeMaker::fail(const llvm::Twine& why) {
  if (fault_.empty()) fault_ = why.str();
  return {};
}

NodeId NodeMaker::op(OpKind kind, Nodes operands, Attributes attributes) {
  for (NodeId x : operands)
    if (!x.valid()) return fail("an operand is missing");
  const OpInfo& info = op_info(kind);
  llvm::SmallVector<ValueId, 4> values;
  for (const AttrInfo& row : info.attrs()) {
    auto given = llvm::find_if(attributes, [&](const NodeAttribute& a) {
      return a.name == llvm::StringRef(row.name.data(), row.name.size());
    });
    values.push_back(
        graph_.symbols().value(given != attributes.end() ? given->value : default_value(row)));
  }
  std::string why;
  NodeId made = graph_.add(kind, values, operands, &why);
  if (!made.valid()) return fail(why);
  return simplified(made);
}

NodeId NodeMaker::named(llvm::StringRef name, Nodes operands, Attributes attributes) {
  std::optional<OpKind> kind = find_op(name);
  return kind ? op(*kind, operands, attributes) : fail("unknown operator `" + name + "`");
}

// --- leaves --------------------------------------------------------------------------------------

NodeId NodeMaker::scalar(double value, DType dtype) {
  return graph_.constant({value}, {dtype, {}});
}

NodeId NodeMaker::filled(double value, const TensorType& type) {
  Symbols& symbols = graph_.symbols();
  std::vector<double> values = {value};
  if (llvm::is_contained(type.shape, 0)) values.clear(); // as Graph::constant
  std::string why;
  NodeId made = graph_.add(
      OpKind::Constant,
      {symbols.value(Value::of_floats(values)), symbols.value(Value::of_type(type))}, {}, &why);
  return made.valid() ? made : fail(why);
}

// --- element by element --------------------------------------------------------------------------

NodeId NodeBuilder::cast(NodeId x, DType to) {
  if (!x.valid() || dtype(x) == to) return x;
  return op(OpKind::Cast, {x}, {{"dtype", Value::of_enum(dtype_name(to))}});
}

NodeId NodeBuilder::clip(NodeId x, double low, double high) {
  return op(OpKind::Clip, {x}, {{"low", Value::of_float(low)}, {"high", Value::of_float(high)}});
}

// --- moves ---------------------------------------------------------------------------------------

NodeId NodeBuilder::reshape(NodeId x, Ints to) {
  if (x.valid() && shape(x) == to) return x;
  return op(OpKind::Reshape, {x}, {{"shape", Value::of_ints(to)}});
}

NodeId NodeBuilder::transpose(NodeId x, Ints perm) {
  if (llvm::is_sorted(perm)) return x;
  return op(OpKind::Transpose, {x}, {{"perm", Value::of_ints(perm)}});
}

NodeId NodeBuilder::swap_axes(NodeId x, int64_t a, int64_t b) {
  if (!x.valid()) return x;
  Shape perm(static_cast<size_t>(rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return transpose(x, perm);
}

NodeId NodeBuilder::slice(NodeId x, int64_t axis, int64_t start, int64_t stop) {
  if (x.valid() && start == 0 && stop == shape(x)[static_cast<size_t>(axis)]) return x;
  return op(OpKind::Slice, {x},
            {{"axis", Value::of_int(axis)},
             {"start", Value::of_int(start)},
             {"stop", Value::of_int(stop)}});
}

NodeId NodeBuilder::concat(Nodes xs, int64_t axis) {
  if (xs.size() == 1) return xs[0];
  return op(OpKind::Concat, xs, {{"axis", Value::of_int(axis)}});
}

NodeId NodeBuilder::gather(NodeId x, NodeId indices, int64_t axis) {
  return op(OpKind::Gather, {x, indices}, {{"axis", Value::of_int(axis)}});
}

NodeId NodeBuilder::take(NodeId x, int64_t axis, Ints places) {
  if (!x.valid()) return x;
  bool run = true;
  for (size_t i = 1; i < places.size(); ++i) run &= places[i] == places[i - 1] + 1;
  if (run) return slice(x, axis, places.front(), places.back() + 1);
  return gather(x, indices(places), axis);
}

NodeId NodeBuilder::reverse(NodeId x, int64_t axis) {
  if (!x.valid()) return x;
  int64_t size = shape(x)[static_cast<size_t>(axis)];
  if (size > kMostReversed)
    return fail("it reverses an axis of more than " + llvm::Twine(kMostReversed) + " elements");
  Shape places;
  for (int64_t i = size; i-- > 0;) places.push_back(i);
  return take(x, axis, places);
}

NodeId NodeBuilder::pad(NodeId x, Ints before, Ints after, const Value& value) {
  auto zero = [](int64_t n) { return n == 0; };
  if (llvm::all_of(before, zero) && llvm::all_of(after, zero)) return x;
  return op(
      OpKind::Pad, {x},
      {{"before", Value::of_ints(before)}, {"after", Value::of_ints(after)}, {"value", value}});
}

NodeId NodeBuilder::expand(NodeId x, Ints to) {
  if (!x.valid() || shape(x) == to) return x;
  return op(OpKind::Broadcast, {x}, {{"shape", Value::of_ints(to)}});
}

NodeId NodeBuilder::unsqueeze(NodeId x, int64_t axis) {
  if (!x.valid()) return x;
  Shape to(shape(x).begin(), shape(x).end());
  to.insert(to.begin() + axis, 1);
  return reshape(x, to);
}

NodeId NodeBuilder::squeeze(NodeId x, int64_t axis) {
  if (!x.valid()) return x;
  Shape to(shape(x).begin(), shape(x).end());
  to.erase(to.begin() + axis);
  return reshape(x, to);
}

NodeId NodeBuilder::iota(const TensorType& type, int64_t axis) {
  return op(OpKind::Iota, {}, {{"type", Value::of_type(type)}, {"axis", Value::of_int(axis)}});
}

// --- sums and products ---------------------------------------------------------------------------

NodeId NodeBuilder::reduce(OpKind kind, NodeId x, Ints axes, bool keepdims) {
  return op(kind, {x}, {{"axes", Value::of_ints(axes)}, {"keepdims", Value::of_bool(keepdims)}});
}

NodeId NodeBuilder::softmax(NodeId x, int64_t axis) {
  return op(OpKind::Softmax, {x}, {{"axis", Value::of_int(axis)}});
}

NodeId NodeBuilder::log_softmax(NodeId x, int64_t axis) {
  NodeId below = sub(x, reduce(OpKind::ReduceMax, x, {axis}, true));
  return sub(below, unary(OpKind::Log, sum(unary(OpKind::Exp, below), {axis})));
}

NodeId NodeBuilder::layer_norm(NodeId x, NodeId scale, NodeId bias, double eps) {
  return op(OpKind::LayerNorm, {x, scale, bias}, {{"eps", Value::of_float(eps)}});
}

} // namespace tg
