#include "compiler/verify/counterexample/narrow.h"

#include "compiler/ir/to_text.h"
#include "compiler/verify/counterexample/float_comparison.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSet.h>

namespace tg {

namespace {

/// Hash of a node's type and values; nodes with equal prints are assumed equal. The error is 2^-64
/// per pair, and a narrowed pair is tested before it is used.
using Print = uint64_t;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

class Narrowing {
public:
  Narrowing(const Joined& joined, const Evaluation<Field>::Leaves& point)
      : joined_(joined), graph_(joined.graph), prints_(graph_.size()) {
    llvm::SmallVector<NodeId, 8> wanted(joined.a.begin(), joined.a.end());
    wanted.append(joined.b.begin(), joined.b.end());
    for (uint32_t i = 0; i < graph_.size(); ++i) // leaves are kept
      prints_[i] = mix(0x51ed270b, i);
    Evaluation<Field> evaluation(graph_, wanted);
    evaluation.observe([&](NodeId id, llvm::ArrayRef<Field> values) {
      Print print = mix(1, graph_.node(id).type.index);
      for (const Field& value : values)
        for (uint64_t lane : value.lane) print = mix(print, lane);
      prints_[id.index] = print;
    });
    auto values = evaluation.run(point);
    assert(values && "the point gives each leaf a value");
  }

  Joined run(size_t output) {
    NodeId a = joined_.a[output], b = joined_.b[output];
    descend(a, b);
    find_common(a, b);
    return build(a, b, a == joined_.a[output] ? joined_.names[output] : "y");
  }

private:
  bool is_leaf(NodeId id) const { return op_info(graph_.node(id).op).has(Trait::Leaf); }
  Print print(NodeId id) const { return prints_[id.index]; }

  /// Returns the nodes below a root, including it, that are not excluded by `stop`; descending.
  template <class Stop> std::vector<NodeId> cone(NodeId root, Stop stop) const {
    std::vector<bool> marked(root.index + 1);
    marked[root.index] = true;
    std::vector<NodeId> nodes;
    for (uint32_t i = root.index + 1; i-- > 0;) {
      if (!marked[i]) continue;
      nodes.push_back({i});
      if (i != root.index && stop(NodeId{i})) continue;
      for (NodeId operand : graph_.operands({i})) marked[operand.index] = true;
    }
    return nodes;
  }
  llvm::DenseSet<Print> prints_under(NodeId root) const {
    llvm::DenseSet<Print> prints;
    for (NodeId id : cone(root, [](NodeId) { return false; })) prints.insert(print(id));
    return prints;
  }

  /// Descends to the last pair that should be equal and is not.
  void descend(NodeId& a, NodeId& b) const {
    llvm::DenseSet<Print> under_a = prints_under(a), under_b = prints_under(b);
    for (bool deeper = true; deeper;) {
      deeper = false;
      const Node &x = graph_.node(a), &y = graph_.node(b);
      if (x.op != y.op || !(x.attrs == y.attrs) || x.operand_count != y.operand_count) return;
      for (size_t i = 0; i < x.operand_count && !deeper; ++i) {
        NodeId p = graph_.operands(a)[i], q = graph_.operands(b)[i];
        bool lost = !under_b.contains(print(p)) && !under_a.contains(print(q));
        if (!lost || is_leaf(p) || is_leaf(q) || !(graph_.node(p).type == graph_.node(q).type))
          continue;
        a = p;
        b = q;
        deeper = true;
      }
    }
  }

  /// Finds the values at which both sides can be cut, since no path on either side bypasses them.
  void find_common(NodeId a, NodeId b) {
    llvm::DenseSet<Print> under_a = prints_under(a), under_b = prints_under(b);
    for (Print print : under_a)
      if (under_b.contains(print)) common_.insert(print);
    for (size_t before = 0; before != common_.size();) {
      before = common_.size();
      llvm::DenseSet<Print> at_a = frontier(a), at_b = frontier(b);
      llvm::DenseSet<Print> both;
      for (Print print : at_a)
        if (at_b.contains(print)) both.insert(print);
      common_ = std::move(both);
    }
  }
  llvm::DenseSet<Print> frontier(NodeId root) const {
    llvm::DenseSet<Print> prints;
    for (NodeId id : cone(root, [&](NodeId n) { return common_.contains(print(n)); }))
      if (id != root && !is_leaf(id) && common_.contains(print(id))) prints.insert(print(id));
    return prints;
  }

  Joined build(NodeId a, NodeId b, std::string name) {
    auto stop = [&](NodeId id) { return common_.contains(print(id)); };
    std::vector<NodeId> nodes = cone(a, stop);
    llvm::append_range(nodes, cone(b, stop));
    llvm::sort(nodes, [](NodeId x, NodeId y) { return x.index < y.index; });
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    Joined pair{Graph(graph_.shared_symbols(), "pair"), {}, {}, {std::move(name)}, joined_.ranges};
    std::vector<NodeId> made(graph_.size());
    llvm::StringSet<> names;
    for (NodeId id : graph_.inputs()) names.insert(graph_.attr(id, 0).text);
    llvm::DenseMap<Print, NodeId> inputs;
    for (NodeId id : nodes) {
      bool cut = id != a && id != b && !is_leaf(id) && stop(id);
      NodeId& input = inputs[print(id)];
      if (cut && !input.valid()) {
        size_t number = inputs.size();
        while (!names.insert("v" + std::to_string(number)).second) ++number;
        input = pair.graph.input("v" + std::to_string(number), graph_.type(id));
      }
      made[id.index] = cut ? input : copy(id, made, pair.graph);
    }
    pair.a.push_back(made[a.index]);
    pair.b.push_back(made[b.index]);
    return pair;
  }

  NodeId copy(NodeId id, const std::vector<NodeId>& made, Graph& to) const {
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : graph_.operands(id)) operands.push_back(made[operand.index]);
    NodeId node = to.add(graph_.node(id).op, graph_.attrs(id), operands);
    assert(node.valid() && "a copy of a well-typed node is well typed");
    return node;
  }

  const Joined& joined_;
  const Graph& graph_;
  std::vector<Print> prints_;
  llvm::DenseSet<Print> common_;
};

} // namespace

Joined narrow(const Joined& joined, size_t output, const Evaluation<Field>::Leaves& point) {
  return Narrowing(joined, point).run(output);
}

namespace {

/// Writes one side as a model, with all inputs of the pair in order.
std::string as_model(const Joined& pair, bool left) {
  const Graph& graph = pair.graph;
  Graph side(graph.shared_symbols(), left ? "left" : "right");
  std::vector<NodeId> made(graph.size());
  for (NodeId id : graph.inputs())
    made[id.index] = side.input(graph.attr(id, 0).text, graph.type(id));
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (made[i].valid()) continue;
    llvm::SmallVector<NodeId, 4> operands;
    for (NodeId operand : graph.operands({i})) operands.push_back(made[operand.index]);
    made[i] = side.add(graph.node({i}).op, graph.attrs({i}), operands);
  }
  const std::vector<NodeId>& roots = left ? pair.a : pair.b;
  for (size_t i = 0; i < roots.size(); ++i)
    side.add_output(pair.names[i], made[roots[i].index]); // to_text omits unused nodes
  return to_text(side);
}

} // namespace

std::string as_models(const Joined& pair) {
  return as_model(pair, true) + "\n" + as_model(pair, false);
}

namespace {

constexpr double kNarrowFlops = 1e10; // budget for evaluations at the shapes tried
constexpr size_t kAttempts = 300;

/// Returns the number of elements of all inputs and weights.
int64_t leaf_elements(const Graph& graph, const std::vector<bool>& needed) {
  int64_t elements = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    OpKind op = graph.node({i}).op;
    if (needed[i] && is_variable(op)) elements += graph.type({i}).elements();
  }
  return elements;
}

/// Returns the operators and leaf elements that output `output` needs on either side.
std::pair<size_t, int64_t> size_of(const Joined& joined, size_t output) {
  const Graph& graph = joined.graph;
  std::vector<bool> needed(graph.size());
  needed[joined.a[output].index] = needed[joined.b[output].index] = true;
  size_t operators = 0;
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;) {
    if (!needed[i]) continue;
    operators += !op_info(graph.node({i}).op).has(Trait::Leaf);
    for (NodeId operand : graph.operands({i})) needed[operand.index] = true;
  }
  return {operators, leaf_elements(graph, needed)};
}

} // namespace

std::optional<Equivalence::Part> find_part(const Joined& joined, size_t output,
                                           const Evaluation<Field>::Leaves& point,
                                           const EquivalenceOptions& options) {
  EquivalenceOptions quick = options;
  quick.minimise = false;
  double budget = kNarrowFlops;
  auto differs = [&](const Joined& pair) {
    if ((budget -= evaluation_flops(pair.graph)) < 0) return false;
    return find_counterexample(pair, quick).has_value();
  };
  Joined pair = narrow(joined, output, point);
  if (!differs(pair)) return std::nullopt;
  pair = shrink(std::move(pair), differs, kAttempts);
  if (size_of(pair, 0) == size_of(joined, output)) return std::nullopt;
  std::optional<Counterexample> example = find_counterexample(pair, options);
  if (!example) return std::nullopt;
  return Equivalence::Part{as_models(pair), std::move(*example)};
}

} // namespace tg
