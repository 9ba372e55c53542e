#include "compiler/verify/sweep.h"

#include "compiler/verify/row_form.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>

#include <queue>

namespace tg {

namespace {

/// Levels of users by which tensors of both models are matched, from the most on.
constexpr int kUserLevels = 8;
/// Levels of operators below the nearest shared tensors at which unknowns are placed, in the order
/// of the attempts. Unknowns further down keep relations that a proof may need, and cost more.
constexpr uint8_t kDepths[] = {0, 3};

/// Limit on the operations of an attempt, as a multiple of those of the first.
constexpr double kDeeper = 8;

enum Side : uint8_t { kNeither = 0, kA = 1, kB = 2, kBoth = 3 };

/// Returns the sides that need each node.
std::vector<uint8_t> sides_of(const Joined& joined) {
  std::vector<uint8_t> sides(joined.graph.size(), kNeither);
  for (NodeId id : joined.a) sides[id.index] |= kA;
  for (NodeId id : joined.b) sides[id.index] |= kB;
  for (uint32_t i = static_cast<uint32_t>(sides.size()); i-- > 0;)
    for (NodeId operand : joined.graph.operands({i})) sides[operand.index] |= sides[i];
  return sides;
}

/// Guesses which tensors of one side are equal to which of the other: those that are used alike.
class Matches {
public:
  Matches(const Joined& joined, const std::vector<uint8_t>& sides)
      : joined_(joined), graph_(joined.graph), sides_(sides) {
    for (int levels = 0; levels < kUserLevels; ++levels) {
      digests_ = with_users();
      by_level_.push_back(digests_);
    }
    for (size_t i = 0; i < joined.a.size(); ++i) add(joined.a[i], joined.b[i]);
    for (const std::vector<uint64_t>& digests : llvm::reverse(by_level_)) match(digests);
  }

  /// Returns the match of a node of `b`, or an invalid id.
  NodeId of(NodeId id) const { return matches_.lookup(id.index).value_or(NodeId{}); }

private:
  /// Returns digests of each node's type and users, with the users' other operands that both sides
  /// share, and with the current digests of users of one side.
  std::vector<uint64_t> with_users() const {
    std::vector<std::vector<uint64_t>> uses(graph_.size());
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (sides_[i] != kA && sides_[i] != kB) continue;
      llvm::ArrayRef<NodeId> operands = graph_.operands({i});
      uint64_t user = scramble(static_cast<uint64_t>(graph_.node({i}).op) + 1);
      for (ValueId attr : graph_.attrs({i})) user = scramble(user + attr.index);
      for (NodeId operand : operands) // in any order, as commutative operators have it
        user += sides_[operand.index] == kBoth ? scramble(operand.index + 1) : 0;
      if (!digests_.empty()) user = scramble(user + digests_[i]);
      bool ordered = !op_info(graph_.node({i}).op).has(Trait::Commutes);
      for (size_t k = 0; k < operands.size(); ++k)
        uses[operands[k].index].push_back(scramble(user + (ordered ? k : 0)));
    }
    for (size_t i = 0; i < joined_.a.size(); ++i)
      for (NodeId output : {joined_.a[i], joined_.b[i]})
        uses[output.index].push_back(scramble(~static_cast<uint64_t>(i)));
    std::vector<uint64_t> digests(graph_.size());
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      llvm::sort(uses[i]);
      digests[i] = scramble(graph_.node({i}).type.index + 1);
      for (uint64_t use : uses[i]) digests[i] = scramble(digests[i] + use);
    }
    return digests;
  }

  /// Matches nodes with equal digests in their order, if both sides have the same number of them.
  void match(const std::vector<uint64_t>& digests) {
    llvm::DenseMap<uint64_t, std::pair<std::vector<NodeId>, std::vector<NodeId>>> alike;
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (graph_.node({i}).weight_only || is_matched_.count(i)) continue;
      if (sides_[i] == kA) alike[digests[i] >> 1].first.push_back({i});
      if (sides_[i] == kB) alike[digests[i] >> 1].second.push_back({i});
    }
    for (auto& [digest, nodes] : alike)
      if (nodes.first.size() == nodes.second.size())
        for (size_t k = 0; k < nodes.first.size(); ++k) add(nodes.first[k], nodes.second[k]);
  }

  void add(NodeId a, NodeId b) {
    if (a == b || is_matched_.count(a.index) || is_matched_.count(b.index)) return;
    matches_[b.index] = a;
    is_matched_[a.index] = is_matched_[b.index] = true;
  }

  const Joined& joined_;
  const Graph& graph_;
  const std::vector<uint8_t>& sides_;
  std::vector<uint64_t> digests_;
  std::vector<std::vector<uint64_t>> by_level_;
  llvm::DenseMap<uint32_t, std::optional<NodeId>> matches_;
  llvm::DenseMap<uint32_t, bool> is_matched_;
};

/// Cuts two nodes of a graph out, with what only one of them needs. Below are unknowns, `depth`
/// operators under the nearest tensors that both need. Tensors without an input remain, because
/// values are folded there.
class PartCutter {
public:
  PartCutter(const Graph& from, uint8_t depth)
      : from_(from), unknown_(unused_prefix(from, "shared")), depth_(depth) {}

  Joined cut(NodeId a, NodeId b, const InputRanges& ranges) {
    reach(a, kA, depth_), reach(b, kB, depth_);
    for (; !heap_.empty(); heap_.pop()) open({heap_.top()});
    Joined part{Graph(std::make_shared<Symbols>(), from_.name()), {}, {}, {"result"}, ranges};
    llvm::DenseMap<uint32_t, NodeId> copies;
    for (NodeId id : llvm::reverse(order_)) { // operands first
      llvm::SmallVector<NodeId, 4> operands;
      for (NodeId operand : from_.operands(id)) operands.push_back(copies.lookup(operand.index));
      copies[id.index] = is_unknown(id) ? part.graph.input(unknown_name(id), from_.type(id))
                                        : copy_node(from_, id, operands, part.graph);
    }
    part.a = {copies.lookup(a.index)}, part.b = {copies.lookup(b.index)};
    return part;
  }

private:
  struct Reached {
    uint8_t sides = kNeither;
    uint8_t depth = 0; // levels that are kept below, if both sides need the node
  };

  std::string unknown_name(NodeId id) const { return unknown_ + " " + std::to_string(id.index); }

  void reach(NodeId id, uint8_t sides, uint8_t depth) {
    auto [at, fresh] = reached_.try_emplace(id.index);
    if (fresh) heap_.push(id.index);
    at->second.sides |= sides;
    at->second.depth = std::max(at->second.depth, depth);
  }

  bool is_unknown(NodeId id) const {
    const Node& node = from_.node(id);
    Reached reached = reached_.lookup(id.index);
    return reached.sides == kBoth && reached.depth == 0 && !node.weight_only &&
           !op_info(node.op).has(Trait::Leaf);
  }

  /// Called in descending order, so that all users were opened before.
  void open(NodeId id) {
    order_.push_back(id);
    if (is_unknown(id)) return;
    Reached reached = reached_.lookup(id.index);
    uint8_t below = reached.sides != kBoth ? depth_ : reached.depth ? reached.depth - 1 : 0;
    for (NodeId operand : from_.operands(id)) reach(operand, reached.sides, below);
  }

  const Graph& from_;
  std::string unknown_; // prefix of their names
  uint8_t depth_;
  llvm::DenseMap<uint32_t, Reached> reached_;
  std::priority_queue<uint32_t> heap_;
  std::vector<NodeId> order_;
};

class Sweep {
public:
  Sweep(Joined joined, double operations, const ProveEqual& prove)
      : joined_(std::move(joined)), from_(joined_.graph), sides_(sides_of(joined_)),
        matches_(joined_, sides_), merged_(from_.shared_symbols(), from_.name()),
        copies_(from_.size()), operations_(operations), prove_(prove) {}

  bool run() {
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (sides_[i] & kA) copy({i});
    size_of_a_ = merged_.size();
    for (uint32_t i = 0; i < from_.size(); ++i) {
      if (sides_[i] != kB) continue;
      copy({i});
      if (!merge({i})) return false;
    }
    for (size_t i = 0; i < joined_.a.size(); ++i)
      if (copies_[joined_.a[i].index] != copies_[joined_.b[i].index]) return false;
    return true;
  }

private:
  /// The operands of commutative operators get the order of the merged graph.
  void copy(NodeId id) {
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : from_.operands(id)) operands.push_back(copies_[operand.index]);
    if (op_info(from_.node(id).op).has(Trait::Commutes))
      llvm::sort(operands, [](NodeId a, NodeId b) { return a.index < b.index; });
    copies_[id.index] = copy_node(from_, id, operands, merged_);
  }

  /// Merges a node of `b` with its match if they are equal. A node that is also one of `a` was
  /// matched wrongly, unless it is an output. Returns false if the operations ended.
  bool merge(NodeId id) {
    NodeId match = matches_.of(id);
    if (!match.valid()) return true;
    NodeId a = copies_[match.index], b = copies_[id.index];
    bool is_merged = b.index < size_of_a_ && !llvm::is_contained(joined_.b, id);
    if (a == b || is_merged) return true;
    double first = 0;
    for (uint8_t depth : kDepths) {
      Joined part = PartCutter(merged_, depth).cut(a, b, joined_.ranges);
      double operations = check_operations(part.graph, {part.a[0], part.b[0]});
      if (first > 0 && operations > kDeeper * first) break;
      first = operations;
      operations_ -= operations;
      if (operations_ < 0) return false;
      if (!prove_(part)) continue;
      copies_[id.index] = a;
      return true;
    }
    return true;
  }

  const Joined joined_;
  const Graph& from_;
  std::vector<uint8_t> sides_;
  Matches matches_;
  Graph merged_;
  size_t size_of_a_ = 0;       // of `merged_` without nodes that only `b` has
  std::vector<NodeId> copies_; // of the nodes in `merged_`
  double operations_;
  const ProveEqual& prove_;
};

} // namespace

namespace {

/// Returns the products of slices with their shares, if the indices are unknown
/// (field/semantics.cpp).
double moves_by_data(const Graph& graph, NodeId id) {
  llvm::ArrayRef<NodeId> operands = graph.operands(id);
  if (graph.node(operands[1]).weight_only) return 0;
  auto axis = static_cast<size_t>(graph.attr(id, 0).number);
  NodeId moved = graph.node(id).op == OpKind::Gather ? id : operands[2];
  return static_cast<double>(graph.type(operands[0])[axis] * graph.type(moved).elements());
}

} // namespace

double check_operations(const Graph& graph, llvm::ArrayRef<NodeId> wanted) {
  std::vector<bool> needed(graph.size());
  for (NodeId id : wanted) needed[id.index] = true;
  double sum = 0;
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = graph.node({i});
    llvm::SmallVector<TypeId, 4> operands;
    for (NodeId operand : graph.operands({i})) {
      needed[operand.index] = true;
      operands.push_back(graph.node(operand).type);
    }
    if (graph.type({i}).is_none()) continue;
    auto elements = static_cast<double>(graph.type({i}).elements());
    sum += elements + op_work(graph.symbols(), node.op, node.attrs, operands, node.type).flops;
    if (node.op == OpKind::Gather || node.op == OpKind::Scatter) sum += moves_by_data(graph, {i});
  }
  return sum;
}

bool merge_outputs(const Joined& joined, double operations, const ProveEqual& prove) {
  return Sweep(with_row_form(joined), operations, prove).run();
}

} // namespace tg
