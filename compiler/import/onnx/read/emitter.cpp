#include "compiler/import/onnx/read/emitter.h"

#include <numeric>

namespace tg::onnx {

NodeId NodeEmitter::fail(const llvm::Twine& why) {
  if (fault_.empty()) fault_ = why.str();
  return {};
}

NodeId NodeEmitter::op(OpKind kind, Nodes operands, Attributes attributes) {
  for (NodeId x : operands)
    if (!x.valid()) return fail("an operand is missing");
  const OpInfo& info = op_info(kind);
  llvm::SmallVector<ValueId, 4> values;
  for (const AttrInfo& row : info.attrs()) {
    auto given = llvm::find_if(attributes, [&](const Attribute& a) {
      return a.name == llvm::StringRef(row.name.data(), row.name.size());
    });
    values.push_back(
        graph_.symbols().value(given != attributes.end() ? given->value : default_value(row)));
  }
  std::string why;
  NodeId made = graph_.add(kind, values, operands, &why);
  if (!made.valid()) return fail(why);
  return fold(made);
}

NodeId NodeEmitter::named(llvm::StringRef name, Nodes operands, Attributes attributes) {
  std::optional<OpKind> kind = find_op(name);
  return kind ? op(*kind, operands, attributes) : fail("there is no operator `" + name + "` here");
}

/// The constant that a node is, where all it depends on is constant and it is small.
NodeId NodeEmitter::fold(NodeId made) {
  if (!graph_.node(made).weight_only || type(made).elements() > kMostFolded) return made;
  std::vector<Literal> operands;
  for (NodeId x : graph_.operands(made)) {
    bool absent = type(x).is_none();
    if (!absent && graph_.node(x).op != OpKind::Constant) return made;
    if (!absent && type(x).elements() > kMostKnown) return made;
    operands.push_back(absent ? Literal{} : literal_of(graph_, x));
  }
  const Node& node = graph_.node(made);
  std::optional<Literal> result =
      evaluate(graph_, node.op, graph_.attrs(made), type(made), operands);
  return result ? literal(*result) : made;
}

// --- leaves --------------------------------------------------------------------------------------

/// Whether the elements of a shape that a file gives can be counted at all.
static bool is_countable(const Shape& shape) {
  int64_t elements = 1;
  return llvm::all_of(shape,
                      [&](int64_t n) { return !__builtin_mul_overflow(elements, n, &elements); });
}

NodeId NodeEmitter::literal(const Literal& literal) {
  NodeId made = is_countable(literal.type.shape) ? constant_of(graph_, literal) : NodeId();
  return made.valid() ? made : filled(0, literal.type);
}

NodeId NodeEmitter::scalar(double value, DType dtype) {
  return graph_.constant({value}, {dtype, {}});
}

NodeId NodeEmitter::filled(double value, const TensorType& type) {
  Symbols& symbols = graph_.symbols();
  std::string why;
  NodeId made = graph_.add(
      OpKind::Constant,
      {symbols.value(Value::of_floats({value})), symbols.value(Value::of_type(type))}, {}, &why);
  return made.valid() ? made : fail(why);
}

NodeId NodeEmitter::indices(Ints values) {
  return graph_.whole_constant(values, {DType::I64, {static_cast<int64_t>(values.size())}});
}

NodeId NodeEmitter::weight(const schema::Tensor& tensor, llvm::StringRef name,
                           const TensorType& type) {
  std::string path = name.str();
  for (int i = 2;; ++i) { // bodies and functions may have names of their own that are others', too
    const schema::Tensor* owner = paths_.try_emplace(path, &tensor).first->second;
    if (owner == &tensor) break;
    path = (name + "_" + llvm::Twine(i)).str();
  }
  NodeId node = graph_.weight(path, type);
  if (weight_.try_emplace(node.index, weights_.size()).second)
    weights_.push_back({std::move(path), &tensor});
  return node;
}

// --- what is known -------------------------------------------------------------------------------

std::optional<Literal> NodeEmitter::read_weight(NodeId weight) {
  auto place = weight_.find(weight.index);
  if (place == weight_.end()) return std::nullopt;
  const schema::Tensor& tensor = *weights_[place->second].tensor;
  Literal literal{type(weight), {}, {}};
  if (literal.is_whole()) {
    auto values = file_.integers(tensor);
    if (!values) return std::nullopt;
    literal.ints = std::move(*values);
  } else {
    auto values = file_.doubles(tensor);
    if (!values) return std::nullopt;
    literal.reals = std::move(*values);
  }
  return literal;
}

/// Of an operator whose operands are known.
std::optional<Literal> NodeEmitter::known_below(NodeId x) {
  std::vector<Literal> operands;
  for (NodeId operand : graph_.operands(x)) {
    auto found = known_.find(operand.index);
    operands.push_back(type(operand).is_none()                       ? Literal{}
                       : graph_.node(operand).op == OpKind::Constant ? literal_of(graph_, operand)
                                                                     : found->second);
  }
  return evaluate(graph_, graph_.node(x).op, graph_.attrs(x), type(x), operands);
}

std::optional<Literal> NodeEmitter::known(NodeId x) {
  if (!x.valid() || !graph_.node(x).weight_only) return std::nullopt;
  if (graph_.node(x).op == OpKind::Constant) return literal_of(graph_, x);
  llvm::SmallVector<NodeId, 16> worklist = {x};
  while (!worklist.empty()) {
    NodeId at = worklist.back();
    const Node& node = graph_.node(at);
    bool at_hand = node.op == OpKind::Constant || node.op == OpKind::None || known_.count(at.index);
    if (at_hand) {
      worklist.pop_back();
      continue;
    }
    if (type(at).elements() > kMostKnown) return std::nullopt;
    size_t before = worklist.size();
    for (NodeId operand : graph_.operands(at)) {
      OpKind op = graph_.node(operand).op;
      if (op != OpKind::Constant && op != OpKind::None && !known_.count(operand.index))
        worklist.push_back(operand);
    }
    if (worklist.size() > before) continue;
    std::optional<Literal> literal = node.op == OpKind::Weight ? read_weight(at) : known_below(at);
    if (!literal) return std::nullopt;
    known_[at.index] = std::move(*literal);
    worklist.pop_back();
  }
  return known_[x.index];
}

// --- element by element --------------------------------------------------------------------------

NodeId Emitter::cast(NodeId x, DType to) {
  if (!x.valid() || dtype(x) == to) return x;
  return op(OpKind::Cast, {x}, {{"dtype", Value::of_enum(dtype_name(to))}});
}

NodeId Emitter::clip(NodeId x, double low, double high) {
  return op(OpKind::Clip, {x}, {{"low", Value::of_float(low)}, {"high", Value::of_float(high)}});
}

// --- moves ---------------------------------------------------------------------------------------

NodeId Emitter::reshape(NodeId x, Ints to) {
  if (x.valid() && shape(x) == to) return x;
  return op(OpKind::Reshape, {x}, {{"shape", Value::of_ints(to)}});
}

NodeId Emitter::transpose(NodeId x, Ints perm) {
  if (llvm::is_sorted(perm)) return x;
  return op(OpKind::Transpose, {x}, {{"perm", Value::of_ints(perm)}});
}

NodeId Emitter::swap_axes(NodeId x, int64_t a, int64_t b) {
  if (!x.valid()) return x;
  Shape perm(static_cast<size_t>(rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  return transpose(x, perm);
}

NodeId Emitter::slice(NodeId x, int64_t axis, int64_t start, int64_t stop) {
  if (x.valid() && start == 0 && stop == shape(x)[static_cast<size_t>(axis)]) return x;
  return op(OpKind::Slice, {x},
            {{"axis", Value::of_int(axis)},
             {"start", Value::of_int(start)},
             {"stop", Value::of_int(stop)}});
}

NodeId Emitter::concat(Nodes xs, int64_t axis) {
  if (xs.size() == 1) return xs[0];
  return op(OpKind::Concat, xs, {{"axis", Value::of_int(axis)}});
}

NodeId Emitter::gather(NodeId x, NodeId indices, int64_t axis) {
  return op(OpKind::Gather, {x, indices}, {{"axis", Value::of_int(axis)}});
}

NodeId Emitter::take(NodeId x, int64_t axis, Ints places) {
  if (!x.valid()) return x;
  bool run = true;
  for (size_t i = 1; i < places.size(); ++i) run &= places[i] == places[i - 1] + 1;
  if (run) return slice(x, axis, places.front(), places.back() + 1);
  return gather(x, indices(places), axis);
}

NodeId Emitter::reverse(NodeId x, int64_t axis) {
  if (!x.valid()) return x;
  int64_t size = shape(x)[static_cast<size_t>(axis)];
  if (size > kMostKnown)
    return fail("it turns round an axis of more than " + llvm::Twine(kMostKnown) + " elements");
  Shape places;
  for (int64_t i = size; i-- > 0;) places.push_back(i);
  return take(x, axis, places);
}

NodeId Emitter::pad(NodeId x, Ints before, Ints after, double value) {
  auto zero = [](int64_t n) { return n == 0; };
  if (llvm::all_of(before, zero) && llvm::all_of(after, zero)) return x;
  return op(OpKind::Pad, {x},
            {{"before", Value::of_ints(before)},
             {"after", Value::of_ints(after)},
             {"value", Value::of_float(value)}});
}

NodeId Emitter::expand(NodeId x, Ints to) {
  if (!x.valid() || shape(x) == to) return x;
  return op(OpKind::Broadcast, {x}, {{"shape", Value::of_ints(to)}});
}

NodeId Emitter::unsqueeze(NodeId x, int64_t axis) {
  if (!x.valid()) return x;
  Shape to(shape(x).begin(), shape(x).end());
  to.insert(to.begin() + axis, 1);
  return reshape(x, to);
}

NodeId Emitter::squeeze(NodeId x, int64_t axis) {
  if (!x.valid()) return x;
  Shape to(shape(x).begin(), shape(x).end());
  to.erase(to.begin() + axis);
  return reshape(x, to);
}

NodeId Emitter::iota(const TensorType& type, int64_t axis) {
  return op(OpKind::Iota, {}, {{"type", Value::of_type(type)}, {"axis", Value::of_int(axis)}});
}

// --- sums and products ---------------------------------------------------------------------------

NodeId Emitter::reduce(OpKind kind, NodeId x, Ints axes, bool keepdims) {
  return op(kind, {x}, {{"axes", Value::of_ints(axes)}, {"keepdims", Value::of_bool(keepdims)}});
}

NodeId Emitter::softmax(NodeId x, int64_t axis) {
  return op(OpKind::Softmax, {x}, {{"axis", Value::of_int(axis)}});
}

NodeId Emitter::log_softmax(NodeId x, int64_t axis) {
  NodeId below = sub(x, reduce(OpKind::ReduceMax, x, {axis}, true));
  return sub(below, unary(OpKind::Log, sum(unary(OpKind::Exp, below), {axis})));
}

NodeId Emitter::layer_norm(NodeId x, NodeId scale, NodeId bias, double eps) {
  return op(OpKind::LayerNorm, {x, scale, bias}, {{"eps", Value::of_float(eps)}});
}

} // namespace tg::onnx
