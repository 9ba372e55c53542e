#include "compiler/import/onnx/read/emitter.h"

#include "compiler/ir/updated.h"

namespace tg::onnx {

/// Replaces a small node that depends only on constants by a constant.
NodeId Emitter::simplified(NodeId made) {
  if (!graph().node(made).weight_only || type(made).elements() > most_folded_) return made;
  std::vector<Literal> operands;
  bool sized = false;
  for (NodeId x : graph().operands(made)) {
    bool absent = type(x).is_none();
    sized |= sized_.contains(x.index);
    if (!absent && graph().node(x).op != OpKind::Constant) return made;
    if (!absent && type(x).elements() > kMostKnown) return made;
    operands.push_back(absent ? Literal{} : literal_of(graph(), x));
  }
  const Node& node = graph().node(made);
  // Only integer expressions of sizes are found from their values.
  if (sized && is_float(dtype(made)) && node.op != OpKind::Cast) return made;
  std::optional<Literal> result =
      evaluate(graph(), node.op, graph().attrs(made), type(made), operands);
  if (!result) return made;
  NodeId folded = literal(*result);
  if (sized) sized_.insert(folded.index);
  return folded;
}

// --- leaves --------------------------------------------------------------------------------------

/// Returns true if the number of elements of a shape in a file does not overflow.
static bool is_countable(const Shape& shape) {
  int64_t elements = 1;
  return llvm::all_of(shape,
                      [&](int64_t n) { return !__builtin_mul_overflow(elements, n, &elements); });
}

NodeId Emitter::literal(const Literal& literal) {
  NodeId made = is_countable(literal.type.shape) ? constant_of(graph(), literal) : NodeId();
  return made.valid() ? made : filled(0, literal.type);
}

NodeId Emitter::indices(Ints values) {
  auto size = static_cast<int64_t>(values.size());
  constexpr int64_t kShort = 4;
  if (size <= std::max(most_folded_, kShort)) return NodeBuilder::indices(values);
  int64_t step = values[1] - values[0];
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] - values[i - 1] != step) return NodeBuilder::indices(values);
  NodeId places = iota({DType::I64, {size}}, 0);
  if (step != 1) places = mul(places, static_cast<double>(step));
  return values[0] == 0 ? places : add(places, static_cast<double>(values[0]));
}

NodeId Emitter::weight(const schema::Tensor& tensor, llvm::StringRef name, const TensorType& type) {
  std::string path = name.str();
  for (int i = 2;; ++i) { // nested graphs and functions may reuse names
    const schema::Tensor* owner = paths_.try_emplace(path, &tensor).first->second;
    if (owner == &tensor) break;
    path = (name + "_" + llvm::Twine(i)).str();
  }
  NodeId node = graph().weight(path, type, is_updated(path) ? updated_init("") : "");
  if (weight_.try_emplace(node.index, weights_.size()).second)
    weights_.push_back({std::move(path), &tensor});
  return node;
}

// --- known values --------------------------------------------------------------------------------

std::optional<Literal> Emitter::read_weight(NodeId weight) {
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

/// Evaluates an operator whose operands are known.
std::optional<Literal> Emitter::known_below(NodeId x) {
  std::vector<Literal> operands;
  for (NodeId operand : graph().operands(x)) {
    auto found = known_.find(operand.index);
    operands.push_back(type(operand).is_none()                        ? Literal{}
                       : graph().node(operand).op == OpKind::Constant ? literal_of(graph(), operand)
                                                                      : found->second);
  }
  return evaluate(graph(), graph().node(x).op, graph().attrs(x), type(x), operands);
}

std::optional<Literal> Emitter::known(NodeId x) {
  if (!x.valid() || !graph().node(x).weight_only) return std::nullopt;
  if (graph().node(x).op == OpKind::Constant) return literal_of(graph(), x);
  llvm::SmallVector<NodeId, 16> worklist = {x};
  while (!worklist.empty()) {
    NodeId at = worklist.back();
    const Node& node = graph().node(at);
    bool at_hand = node.op == OpKind::Constant || node.op == OpKind::None || known_.count(at.index);
    if (at_hand) {
      worklist.pop_back();
      continue;
    }
    if (type(at).elements() > kMostKnown) return std::nullopt;
    size_t before = worklist.size();
    for (NodeId operand : graph().operands(at)) {
      OpKind op = graph().node(operand).op;
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

} // namespace tg::onnx
