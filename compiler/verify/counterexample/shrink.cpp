// Shrinks the shapes of a pair of models; see narrow.h.
#include "compiler/verify/counterexample/narrow.h"

#include <algorithm>
#include <functional>
#include <set>

namespace tg {

namespace {

/// A change of leaf types: of every axis with one size, or of one axis of one leaf.
struct Change {
  int64_t from = 0, to = 0;
  NodeId leaf; // invalid: all leaves, and all shapes in attributes
  size_t axis = 0;
  /// Sizes that are multiples of this one change with it: a width with its heads.
  bool multiples = false;

  int64_t size(int64_t old) const {
    if (multiples && old % from == 0) return old / from * to;
    return old == from ? to : old;
  }
};

/// Rebuilds the pair under a change. Reshapes keep as much of their shape as fits.
class Rebuild {
public:
  Rebuild(const Joined& pair, const Change& change)
      : from_(pair.graph), change_(change), made_(pair.graph.size()),
        to_{Graph(pair.graph.shared_symbols(), "pair"), {}, {}, pair.names, pair.ranges} {}

  /// Returns nullopt if a node is no longer well typed, or both sides have different types.
  std::optional<Joined> run(const Joined& pair) {
    for (uint32_t i = 0; i < from_.size(); ++i) {
      made_[i] = op_info(from_.node({i}).op).has(Trait::Leaf) ? leaf({i}) : node({i});
      if (!made_[i].valid()) return std::nullopt;
    }
    for (size_t i = 0; i < pair.a.size(); ++i) {
      to_.a.push_back(made_[pair.a[i].index]);
      to_.b.push_back(made_[pair.b[i].index]);
      if (!(to_.graph.node(to_.a[i]).type == to_.graph.node(to_.b[i]).type)) return std::nullopt;
    }
    return std::move(to_);
  }

private:
  TensorType changed(TensorType type, NodeId leaf) const {
    for (size_t axis = 0; axis < type.shape.size(); ++axis)
      if (!change_.leaf.valid() || (change_.leaf == leaf && change_.axis == axis))
        type.shape[axis] = change_.size(type.shape[axis]);
    return type;
  }

  NodeId leaf(NodeId id) {
    const TensorType type = changed(from_.type(id), id);
    switch (from_.node(id).op) {
    case OpKind::Input: return to_.graph.input(from_.attr(id, 0).text, type);
    case OpKind::Weight: return to_.graph.weight(from_.attr(id, 0).text, type);
    case OpKind::Constant:
      if (from_.attr(id, 0).reals.size() == 1)
        return to_.graph.constant(from_.attr(id, 0).reals, type);
      if (!(type == from_.type(id))) return {};
      break;
    default: break;
    }
    return to_.graph.add(from_.node(id).op, from_.attrs(id), {});
  }

  NodeId node(NodeId id) {
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : from_.operands(id)) operands.push_back(made_[operand.index]);
    llvm::SmallVector<ValueId, 4> attrs(from_.attrs(id).begin(), from_.attrs(id).end());
    OpKind op = from_.node(id).op;
    if (op == OpKind::Reshape && !reshape(id, to_.graph.type(operands[0]), attrs[0])) return {};
    if (op == OpKind::Slice && !slice(id, to_.graph.type(operands[0]), attrs)) return {};
    return to_.graph.add(op, attrs, operands);
  }

  /// Returns the old shape with the change applied, or with one axis adjusted to fit the elements.
  bool reshape(NodeId id, const TensorType& x, ValueId& attr) {
    Shape shape(from_.type(id).shape);
    if (!change_.leaf.valid())
      for (int64_t& size : shape) size = change_.size(size);
    TensorType wanted = from_.type(id);
    wanted.shape = shape;
    if (wanted.elements() != x.elements()) {
      size_t largest =
          static_cast<size_t>(std::max_element(shape.begin(), shape.end()) - shape.begin());
      if (shape.empty()) return false;
      int64_t others = wanted.elements() / shape[largest];
      if (x.elements() % others != 0) return false;
      shape[largest] = x.elements() / others;
    }
    attr = to_.graph.symbols().value(Value::of_ints(shape));
    return true;
  }

  /// Returns a slice of the same kind: the whole axis, its beginning or its end, or the interior.
  bool slice(NodeId id, const TensorType& x, llvm::SmallVectorImpl<ValueId>& attrs) {
    size_t axis = static_cast<size_t>(from_.attr(id, 0).number);
    int64_t before = from_.type(from_.operands(id)[0])[axis], size = x[axis];
    int64_t start = from_.attr(id, 1).number, stop = from_.attr(id, 2).number;
    if (size == before) return true;
    start = start * size / before;
    stop = (stop * size + before - 1) / before;
    if (start >= stop || stop > size) return false;
    attrs[1] = to_.graph.symbols().value(Value::of_int(start));
    attrs[2] = to_.graph.symbols().value(Value::of_int(stop));
    return true;
  }

  const Graph& from_;
  const Change& change_;
  std::vector<NodeId> made_;
  Joined to_;
};

class Shrinking {
public:
  Shrinking(Joined pair, llvm::function_ref<bool(const Joined&)> differs, size_t attempts)
      : pair_(std::move(pair)), differs_(differs), attempts_(attempts) {}

  Joined run() {
    while (attempts_ > 0 && (by_size() || by_axis())) {
    }
    return std::move(pair_);
  }

private:
  /// Shrinks sizes, the largest first. Returns true if any became smaller.
  bool by_size() {
    std::set<int64_t, std::greater<>> sizes;
    for_each_axis([&](NodeId, size_t, int64_t size) { sizes.insert(size); });
    for (bool multiples : {false, true})
      for (int64_t size : sizes)
        if (replace({size, 0, {}, 0, multiples})) return true;
    return false;
  }

  bool by_axis() {
    std::vector<Change> changes;
    for_each_axis([&](NodeId leaf, size_t axis, int64_t size) {
      changes.push_back({size, 0, leaf, axis, false});
    });
    return llvm::any_of(changes, [&](const Change& change) { return replace(change); });
  }

  template <class F> void for_each_axis(F f) const {
    for (uint32_t i = 0; i < pair_.graph.size(); ++i) {
      OpKind op = pair_.graph.node({i}).op;
      if (!is_variable(op)) continue;
      const Shape& shape = pair_.graph.type({i}).shape;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (shape[axis] > 1) f(NodeId{i}, axis, shape[axis]);
    }
  }

  /// Tries 1, 2, 3, 4, a quarter and a half of the size. Returns true if the sides differ at one.
  bool replace(Change change) {
    llvm::SmallVector<int64_t, 8> sizes = {1, 2, 3, 4};
    for (int64_t half : {change.from / 4, change.from / 2}) sizes.push_back(half);
    for (int64_t size : sizes) {
      change.to = size;
      if (size < 1 || size >= change.from || attempts_ == 0) continue;
      std::optional<Joined> smaller = Rebuild(pair_, change).run(pair_);
      if (!smaller) continue;
      --attempts_;
      if (!differs_(*smaller)) continue;
      pair_ = std::move(*smaller);
      return true;
    }
    return false;
  }

  Joined pair_;
  llvm::function_ref<bool(const Joined&)> differs_;
  size_t attempts_;
};

} // namespace

Joined shrink(Joined pair, llvm::function_ref<bool(const Joined&)> differs, size_t attempts) {
  return Shrinking(std::move(pair), differs, attempts).run();
}

} // namespace tg
