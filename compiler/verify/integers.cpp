#include "compiler/verify/integers.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <set>

namespace tg {

namespace {

constexpr size_t kMostNodes = 64; // of an expression that is written anew
constexpr int kMostDepth = 24;    // of rewrites within rewrites

using ReplacedNodes = llvm::DenseMap<uint32_t, NodeId>;

class Simplifier {
public:
  explicit Simplifier(const Joined& joined)
      : joined_(joined), from_(joined.graph), to_(from_.shared_symbols(), from_.name()),
        ranges_(to_, &joined.ranges), at_(from_.size()) {}

  std::optional<Joined> run() {
    for (NodeId input : from_.inputs()) at_[input.index] = copy(input);
    std::vector<bool> needed(from_.size());
    for (const auto* side : {&joined_.a, &joined_.b})
      for (NodeId id : *side) needed[id.index] = true;
    for (uint32_t i = from_.size(); i-- > 0;)
      if (needed[i])
        for (NodeId operand : from_.operands({i})) needed[operand.index] = true;
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (needed[i] && !at_[i].valid()) at_[i] = copy({i});
    if (!changed_) return std::nullopt;
    Joined made{std::move(to_), {}, {}, joined_.names, joined_.ranges};
    for (NodeId id : joined_.a) made.a.push_back(at_[id.index]);
    for (NodeId id : joined_.b) made.b.push_back(at_[id.index]);
    return made;
  }

private:
  NodeId copy(NodeId id) {
    llvm::SmallVector<NodeId, 5> operands;
    for (NodeId operand : from_.operands(id)) operands.push_back(at_[operand.index]);
    return make(from_.node(id).op, from_.attrs(id), operands);
  }

  NodeId make(OpKind op, llvm::ArrayRef<NodeId> operands) { return make(op, {}, operands); }
  NodeId make(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<NodeId> operands);
  NodeId simpler(NodeId id);
  NodeId number(int64_t x, const TensorType& type) { return to_.whole_constant({x}, type); }
  NodeId fitted(NodeId id, const TensorType& type);
  NodeId index(NodeId indices, int64_t size);

  NodeId compare(NodeId id);
  NodeId logical(NodeId id);
  NodeId arithmetic(NodeId id);
  NodeId modulo(NodeId id);
  NodeId select(NodeId id);
  NodeId cast(NodeId id);
  NodeId of_selected_divisor(NodeId id);
  NodeId without_remainders(NodeId x, int64_t divisor);
  bool equal_under_condition(NodeId condition, NodeId x, NodeId y);
  NodeId assuming(NodeId id, NodeId condition, bool holds);
  NodeId rewritten(NodeId id, ReplacedNodes became);

  OpKind op(NodeId id) const { return to_.node(id).op; }
  NodeId operand(NodeId id, size_t i) const { return to_.operands(id)[i]; }
  DType dtype(NodeId id) const { return to_.type(id).dtype; }
  bool is_whole(NodeId id) const { return is_integer(dtype(id)) || dtype(id) == DType::Bool; }
  std::optional<int64_t> known(NodeId id) {
    if (!is_whole(id)) return std::nullopt;
    WholeRange range = ranges_.of(id);
    return range.is_single() ? std::optional(range.low) : std::nullopt;
  }
  bool is(NodeId id, int64_t x) { return known(id) == x; }

  const Joined& joined_;
  const Graph& from_;
  Graph to_;
  WholeRanges ranges_;
  std::vector<NodeId> at_;           // nodes of the pair, in to_
  std::vector<NodeId> simpler_ = {}; // by node of to_; invalid where that is not known yet
  int depth_ = 0;
  bool changed_ = false;
};

/// Adds a node, or a simpler equal one.
NodeId Simplifier::make(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<NodeId> given) {
  llvm::SmallVector<NodeId, 5> operands(given.begin(), given.end());
  if (op == OpKind::Gather || op == OpKind::Scatter) {
    auto axis = static_cast<size_t>(to_.symbols().value(attrs[0]).number);
    operands[1] = index(operands[1], to_.type(operands[0])[axis]);
  }
  if (op_info(op).has(Trait::Commutes) && operands.size() == 2 && is_whole(operands[0]) &&
      operands[1].index < operands[0].index)
    std::swap(operands[0], operands[1]);
  NodeId id = to_.add(op, attrs, operands);
  assert(id.valid() && "a copy of a well-typed node is well typed");
  if (simpler_.size() <= id.index) simpler_.resize(id.index + 1);
  if (simpler_[id.index].valid()) return simpler_[id.index];
  bool is_leaf = op_info(op).has(Trait::Leaf);
  if (is_leaf || !is_whole(id) || depth_ >= kMostDepth) return id;
  simpler_[id.index] = id; // while it is looked for
  ++depth_;
  NodeId found = simpler(id);
  --depth_;
  if (!found.valid() || found == id) return id;
  changed_ = true;
  NodeId made = fitted(found, to_.type(id));
  simpler_[id.index] = made;
  return made;
}

/// Indices mean the same in each dtype that holds them, and one is out of range as well as another:
/// select(i < 0, n, i) is i if the axis ends before n.
NodeId Simplifier::index(NodeId indices, int64_t size) {
  for (;;) {
    NodeId next;
    if (op(indices) == OpKind::Cast) {
      NodeId x = operand(indices, 0);
      if (is_integer(dtype(x)) && ranges_.of(x).is_within(range_of_dtype(dtype(indices)))) next = x;
    } else if (op(indices) == OpKind::Select) {
      NodeId below = operand(indices, 0), beyond = operand(indices, 1), i = operand(indices, 2);
      bool is_guard = op(below) == OpKind::Less && operand(below, 0) == i &&
                      is(operand(below, 1), 0) && to_.type(i) == to_.type(indices);
      if (is_guard && ranges_.of(beyond).low >= size) next = i;
    }
    if (!next.valid()) return indices;
    indices = next;
    changed_ = true;
  }
}

NodeId Simplifier::fitted(NodeId id, const TensorType& type) {
  if (to_.type(id) == type) return id;
  if (std::optional<int64_t> x = known(id)) return number(*x, type);
  assert(dtype(id) == type.dtype);
  ValueId shape = to_.symbols().value(Value::of_ints(type.shape));
  return to_.add(OpKind::Broadcast, {shape}, {id});
}

/// An invalid id where there is none.
NodeId Simplifier::simpler(NodeId id) {
  if (std::optional<int64_t> x = known(id)) return number(*x, to_.type(id));
  OpKind kind = op(id);
  if (op_info(kind).shape == ShapeRule::compare) return compare(id);
  switch (kind) {
  case OpKind::LogicalAnd:
  case OpKind::LogicalOr:
  case OpKind::LogicalNot: return logical(id);
  case OpKind::Identity: return operand(id, 0);
  case OpKind::Mod: return modulo(id);
  case OpKind::Select: return select(id);
  case OpKind::Cast: return cast(id);
  default: return arithmetic(id);
  }
}

/// x <= y, x > y and x >= y by x < y, x != y by x == y; bools that are compared with constants.
NodeId Simplifier::compare(NodeId id) {
  NodeId x = operand(id, 0), y = operand(id, 1);
  if (!is_whole(x)) return {};
  auto inverse = [&](NodeId one) { return make(OpKind::LogicalNot, {one}); };
  switch (op(id)) {
  case OpKind::LessEqual: return inverse(make(OpKind::Less, {y, x}));
  case OpKind::Greater: return make(OpKind::Less, {y, x});
  case OpKind::GreaterEqual: return inverse(make(OpKind::Less, {x, y}));
  case OpKind::NotEqual: return inverse(make(OpKind::Equal, {x, y}));
  case OpKind::Equal: {
    if (dtype(x) != DType::Bool) return {};
    if (known(x)) std::swap(x, y);
    std::optional<int64_t> wanted = known(y);
    if (!wanted) return {};
    return *wanted ? x : inverse(x);
  }
  default: return {};
  }
}

NodeId Simplifier::logical(NodeId id) {
  NodeId x = operand(id, 0);
  if (op(id) == OpKind::LogicalNot) return op(x) == OpKind::LogicalNot ? operand(x, 0) : NodeId{};
  NodeId y = operand(id, 1);
  int64_t neutral = op(id) == OpKind::LogicalAnd;
  if (x == y || is(y, neutral)) return x;
  return is(x, neutral) ? y : NodeId{};
}

NodeId Simplifier::arithmetic(NodeId id) {
  llvm::ArrayRef<NodeId> operands = to_.operands(id);
  if (operands.empty()) return {};
  NodeId x = operands[0], y = operands.size() > 1 ? operands[1] : NodeId{};
  switch (op(id)) {
  case OpKind::Add: return is(y, 0) ? x : is(x, 0) ? y : NodeId{};
  case OpKind::Sub: // x + y - y, also where the sum wraps around
    if (is(y, 0)) return x;
    if (op(x) != OpKind::Add) return {};
    return operand(x, 1) == y ? operand(x, 0) : operand(x, 0) == y ? operand(x, 1) : NodeId{};
  case OpKind::Mul: return is(y, 1) ? x : is(x, 1) ? y : NodeId{};
  case OpKind::Div:
    if (is(y, 1)) return x;
    return is(y, -1) ? make(OpKind::Neg, {x}) : of_selected_divisor(id);
  case OpKind::Maximum:
  case OpKind::Minimum: {
    bool least = op(id) == OpKind::Minimum;
    WholeRange a = ranges_.of(x), b = ranges_.of(y);
    if (x == y || (least ? a.high <= b.low : b.high <= a.low)) return x;
    return (least ? b.high <= a.low : a.high <= b.low) ? y : NodeId{};
  }
  case OpKind::Abs:
  case OpKind::Relu: return ranges_.of(x).low >= 0 ? x : NodeId{};
  default: return {};
  }
}

/// x / select(c, 1, y) is select(c, x / 1, x / y): so divisors are guarded.
NodeId Simplifier::of_selected_divisor(NodeId id) {
  NodeId x = operand(id, 0), divisor = operand(id, 1);
  if (op(divisor) != OpKind::Select) return {};
  llvm::SmallVector<NodeId, 3> parts(to_.operands(divisor).begin(), to_.operands(divisor).end());
  if (!known(parts[1]) && !known(parts[2])) return {};
  NodeId first = make(op(id), {x, parts[1]}), second = make(op(id), {x, parts[2]});
  return make(OpKind::Select, {parts[0], first, second});
}

/// A remainder that is taken once more by the same divisor, or by one that divides it, and
/// remainders within sums, of powers of two: there overflows change nothing.
NodeId Simplifier::modulo(NodeId id) {
  NodeId x = operand(id, 0), y = operand(id, 1);
  if (op(x) == OpKind::Mod && operand(x, 1) == y) return x;
  WholeRange range = ranges_.of(x);
  std::optional<int64_t> divisor = known(y);
  if (!divisor) return of_selected_divisor(id);
  if (*divisor > 0 && range.is_within({0, *divisor - 1})) return x;
  if (*divisor <= 0) return {};
  if (llvm::isPowerOf2_64(static_cast<uint64_t>(*divisor))) {
    NodeId inner = without_remainders(x, *divisor);
    return inner == x ? NodeId{} : make(OpKind::Mod, {inner, y});
  }
  if (op(x) != OpKind::Mod) return {};
  std::optional<int64_t> other = known(operand(x, 1));
  return other && *other % *divisor == 0 && *other != 0 ? make(OpKind::Mod, {operand(x, 0), y})
                                                        : NodeId{};
}

/// Sums, differences, products and selects without the remainders in them by multiples of the
/// divisor, a power of two: the same modulo the divisor.
NodeId Simplifier::without_remainders(NodeId x, int64_t divisor) {
  std::set<uint32_t> nodes;
  llvm::SmallVector<NodeId, 16> open{x};
  auto is_multiple = [&](NodeId id) {
    if (op(id) != OpKind::Mod) return false;
    std::optional<int64_t> by = known(operand(id, 1));
    return by && *by > 0 && *by % divisor == 0;
  };
  auto is_ring = [&](NodeId id) {
    OpKind kind = op(id);
    return kind == OpKind::Add || kind == OpKind::Sub || kind == OpKind::Mul ||
           kind == OpKind::Neg || kind == OpKind::Select;
  };
  while (!open.empty()) {
    NodeId id = open.pop_back_val();
    if ((!is_ring(id) && !is_multiple(id)) || !nodes.insert(id.index).second) continue;
    if (nodes.size() > kMostNodes) return x;
    llvm::ArrayRef<NodeId> operands = to_.operands(id);
    if (op(id) == OpKind::Select) operands = operands.drop_front();
    if (is_multiple(id)) operands = operands.take_front();
    open.append(operands.begin(), operands.end());
  }
  ReplacedNodes became;
  for (uint32_t i : nodes) {
    llvm::SmallVector<NodeId, 3> operands(to_.operands({i}).begin(), to_.operands({i}).end());
    const TensorType type = to_.type({i});
    for (size_t k = op({i}) == OpKind::Select; k < operands.size(); ++k)
      if (auto made = became.find(operands[k].index); made != became.end())
        operands[k] = made->second;
    became[i] = is_multiple({i}) ? fitted(operands[0], type) : make(op({i}), operands);
  }
  auto made = became.find(x.index);
  return made == became.end() ? x : made->second;
}

NodeId Simplifier::select(NodeId id) {
  NodeId condition = operand(id, 0), x = operand(id, 1), y = operand(id, 2);
  if (std::optional<int64_t> which = known(condition)) return *which ? x : y;
  if (x == y) return x;
  if (op(condition) == OpKind::LogicalNot)
    return make(OpKind::Select, {operand(condition, 0), y, x});
  NodeId in_x = assuming(x, condition, true), in_y = assuming(y, condition, false);
  if (in_x != x || in_y != y) return make(OpKind::Select, {condition, in_x, in_y});
  return equal_under_condition(condition, x, y) ? y : NodeId{};
}

/// True if y is x wherever the condition, one or several equations with numbers, holds.
bool Simplifier::equal_under_condition(NodeId condition, NodeId x, NodeId y) {
  llvm::SmallVector<NodeId, 4> open{condition};
  while (!open.empty()) {
    NodeId id = open.pop_back_val();
    if (op(id) == OpKind::LogicalOr) {
      open.append(to_.operands(id).begin(), to_.operands(id).end());
      continue;
    }
    if (op(id) != OpKind::Equal) return false;
    NodeId one = operand(id, 0), other = operand(id, 1);
    if (known(one)) std::swap(one, other);
    std::optional<int64_t> value = known(other);
    if (!value) return false;
    const ReplacedNodes there({{one.index, number(*value, to_.type(one))}});
    NodeId in_x = rewritten(x, there), in_y = rewritten(y, there);
    std::optional<int64_t> number_x = known(in_x);
    if (in_x != in_y && !(number_x && number_x == known(in_y))) return false;
  }
  return true;
}

/// The node where the condition holds, or does not.
NodeId Simplifier::assuming(NodeId id, NodeId condition, bool holds) {
  ReplacedNodes became;
  llvm::SmallVector<std::pair<NodeId, bool>, 8> open{{condition, holds}};
  while (!open.empty()) {
    auto [one, is] = open.pop_back_val();
    became[one.index] = number(is, to_.type(one));
    if (op(one) == OpKind::LogicalNot) open.push_back({operand(one, 0), !is});
    if ((op(one) == OpKind::LogicalAnd && is) || (op(one) == OpKind::LogicalOr && !is))
      for (NodeId side : to_.operands(one)) open.push_back({side, is});
  }
  return rewritten(id, std::move(became));
}

/// The node with others in the place of some, as far as it depends on their elements at its own
/// places.
NodeId Simplifier::rewritten(NodeId id, ReplacedNodes became) {
  uint32_t first = UINT32_MAX;
  for (const auto& [index, made] : became) first = std::min(first, index);
  if (auto at = became.find(id.index); at != became.end()) return fitted(at->second, to_.type(id));
  std::set<uint32_t> nodes;
  llvm::SmallVector<uint32_t, 16> open{id.index};
  while (!open.empty()) {
    uint32_t i = open.pop_back_val();
    bool counts = i > first && !became.count(i) && is_whole({i}) && is_element_by_element(op({i}));
    if (!counts || !nodes.insert(i).second) continue;
    if (nodes.size() > kMostNodes) return id;
    for (NodeId operand : to_.operands({i})) open.push_back(operand.index);
  }
  for (uint32_t i : nodes) {
    llvm::SmallVector<NodeId, 3> operands(to_.operands({i}).begin(), to_.operands({i}).end());
    bool differs = false;
    for (NodeId& operand : operands)
      if (auto made = became.find(operand.index); made != became.end()) {
        differs |= made->second != operand;
        operand = made->second;
      }
    llvm::SmallVector<ValueId, 2> attrs(to_.attrs({i}).begin(), to_.attrs({i}).end());
    if (differs) became[i] = make(op({i}), attrs, operands);
  }
  auto made = became.find(id.index);
  return made == became.end() ? id : made->second;
}

/// Between integers, where nothing is cut off.
NodeId Simplifier::cast(NodeId id) {
  NodeId x = operand(id, 0);
  if (!is_integer(dtype(x)) || !is_integer(dtype(id))) return {};
  if (dtype(x) == dtype(id)) return x;
  if (op(x) != OpKind::Cast) return {};
  NodeId inner = operand(x, 0);
  bool is_exact = is_whole(inner) && ranges_.of(inner).is_within(range_of_dtype(dtype(x)));
  if (!is_exact) return {};
  return make(OpKind::Cast, to_.attrs(id), {inner});
}

} // namespace

std::optional<Joined> with_simple_integers(const Joined& joined) {
  return Simplifier(joined).run();
}

} // namespace tg
