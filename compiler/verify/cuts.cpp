#include "compiler/verify/equivalent.h"

#include "compiler/verify/field/check.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringExtras.h>

namespace tg {

namespace {

constexpr size_t kInputs = 8; // limit of inputs whose paths are followed

/// Modulus for counting paths, each with its own weight. It is prime, since even counts from each
/// block would end in zeros modulo a power of two.
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 31;
uint64_t times(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<WideProduct>(a) * b % kPrime);
}

/// Returns the nodes through which every path from the input to the roots goes, in order. A node
/// that is wrongly included can cost an answer but cannot make one wrong.
std::vector<NodeId> necks(const Graph& graph, NodeId input, llvm::ArrayRef<NodeId> roots) {
  std::vector<uint64_t> to(graph.size()), from(graph.size());
  to[input.index] = 1;
  auto edge = [](uint32_t node, size_t k) { return scramble(scramble(node) + k) % kPrime; };
  for (uint32_t i = 0; i < graph.size(); ++i)
    for (size_t k = 0; k < graph.operands({i}).size(); ++k)
      to[i] = (to[i] + times(to[graph.operands({i})[k].index], edge(i, k))) % kPrime;
  uint64_t all = 0;
  for (NodeId root : roots) {
    all = (all + to[root.index]) % kPrime;
    ++from[root.index];
  }
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;)
    for (size_t k = 0; k < graph.operands({i}).size(); ++k) {
      uint64_t& sum = from[graph.operands({i})[k].index];
      sum = (sum + times(from[i], edge(i, k))) % kPrime;
    }
  std::vector<NodeId> found;
  for (uint32_t i = 0; i < graph.size() && all != 0; ++i)
    if (!op_info(graph.node({i}).op).has(Trait::Leaf) && times(to[i], from[i]) == all)
      found.push_back({i});
  return found;
}

/// Returns the necks of the input that has the most.
std::vector<NodeId> most_necks(const Graph& graph, llvm::ArrayRef<NodeId> roots) {
  std::vector<NodeId> most;
  for (NodeId input : graph.inputs().take_front(kInputs))
    if (std::vector<NodeId> found = necks(graph, input, roots); found.size() > most.size())
      most = std::move(found);
  return most;
}

/// Returns digests of the nodes' values at one point; empty if the evaluation was stopped.
llvm::DenseMap<uint32_t, uint64_t> values_of(const Joined& joined, const FieldPoint& point,
                                             llvm::ArrayRef<NodeId> nodes,
                                             const EquivalenceOptions& options) {
  FieldScope scope(point);
  Evaluation<Field> evaluation(joined.graph, nodes);
  evaluation.stop_when(options.stop);
  llvm::DenseMap<uint32_t, uint64_t> digests;
  evaluation.observe([&](NodeId id, llvm::ArrayRef<Field> values) {
    FieldHash hash(values.size());
    for (const Field& value : values) hash.add(value);
    digests[id.index] = hash.bits();
  });
  auto done = evaluation.run(FieldCheck::leaves());
  if (!done || evaluation.stopped()) digests.clear();
  return digests;
}

/// Returns pairs of nodes of `a` and `b` that are equal at the point and in the same order.
std::vector<std::pair<NodeId, NodeId>> matches(const Joined& joined, llvm::ArrayRef<NodeId> a,
                                               llvm::ArrayRef<NodeId> b,
                                               const llvm::DenseMap<uint32_t, uint64_t>& digests) {
  std::vector<std::pair<NodeId, NodeId>> found;
  auto like = [&](NodeId x, NodeId y) {
    return joined.graph.type(x) == joined.graph.type(y) &&
           digests.lookup(x.index) == digests.lookup(y.index);
  };
  size_t next = 0;
  for (NodeId x : a)
    for (size_t j = next; j < b.size(); ++j)
      if (like(x, b[j])) {
        found.emplace_back(x, b[j]);
        next = j + 1;
        break;
      }
  return found;
}

class Cutter {
public:
  Cutter(const Joined& joined, llvm::ArrayRef<std::pair<NodeId, NodeId>> cuts)
      : from_(joined.graph), unknown_(unused_prefix(from_, "cut")), cut_(from_.size()),
        copies_(from_.size()), uses_(from_.size()),
        made_{Graph(std::make_shared<Symbols>(), from_.name()), {}, {}, {}, joined.ranges} {
    for (size_t i = 0; i < cuts.size(); ++i)
      cut_[cuts[i].first.index] = cut_[cuts[i].second.index] = static_cast<uint32_t>(i + 1);
    leaves_.resize(cuts.size() + 1);
    for (uint32_t i = 0; i < from_.size(); ++i) copy({i});
    auto compare = [&](NodeId a, NodeId b, std::string name) {
      made_.a.push_back(copies_[a.index]);
      made_.b.push_back(copies_[b.index]);
      made_.names.push_back(std::move(name));
    };
    for (size_t i = 0; i < cuts.size(); ++i)
      compare(cuts[i].first, cuts[i].second, leaf_name(i + 1));
    for (size_t i = 0; i < joined.a.size(); ++i) compare(joined.a[i], joined.b[i], joined.names[i]);
  }

  Joined take() { return std::move(made_); }

private:
  std::string leaf_name(size_t cut) const { return unknown_ + " " + std::to_string(cut); }

  /// Copies a node to the new graph. Its users read the copy, or an unknown at a cut.
  void copy(NodeId id) {
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : from_.operands(id)) operands.push_back(uses_[operand.index]);
    NodeId made = copies_[id.index] = copy_node(from_, id, operands, made_.graph);
    uses_[id.index] = made;
    uint32_t cut = cut_[id.index];
    if (cut == 0) return;
    if (!leaves_[cut].valid()) leaves_[cut] = made_.graph.input(leaf_name(cut), from_.type(id));
    uses_[id.index] = leaves_[cut];
  }

  const Graph& from_;
  std::string unknown_;       // prefix of the names of unknowns
  std::vector<uint32_t> cut_; // by node: the number of its cut, from 1
  std::vector<NodeId> copies_, uses_, leaves_;
  Joined made_;
};

} // namespace

std::optional<Joined> cut_at_necks(const Joined& joined, const EquivalenceOptions& options) {
  std::vector<NodeId> a = most_necks(joined.graph, joined.a);
  std::vector<NodeId> b = most_necks(joined.graph, joined.b);
  if (a.empty() || b.empty()) return std::nullopt;
  llvm::SmallVector<NodeId, 4> roots(joined.a.begin(), joined.a.end());
  roots.append(joined.b.begin(), joined.b.end());
  FieldCheck check(joined, roots, options);
  auto digests = values_of(joined, check.drawn(0), roots, options);
  auto cuts = matches(joined, a, b, digests);
  if (digests.empty() || cuts.empty()) return std::nullopt;
  return Cutter(joined, cuts).take();
}

} // namespace tg
