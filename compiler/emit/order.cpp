#include "compiler/emit/plan_from_graph.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

/// Counts bytes with an arena's rounding. Tensors too large for any machine are capped, so that
/// sums over a graph cannot overflow.
int64_t arena_bytes(const Graph& graph, NodeId id) {
  constexpr int64_t kAlignment = 64, kMost = int64_t{1} << 41;
  return std::min((graph.type(id).bytes() + kAlignment - 1) & ~(kAlignment - 1), kMost);
}

/// The data for evaluating and building orders: the run nodes, and the number of users of
/// each result.
struct Liveness {
  const Graph& graph;
  std::vector<bool> is_run;   // by node
  std::vector<uint32_t> uses; // by node: distinct users that run, plus one for an output

  explicit Liveness(const Graph& graph, llvm::ArrayRef<NodeId> nodes)
      : graph(graph), is_run(graph.size()), uses(graph.size(), 0) {
    for (NodeId id : nodes) is_run[id.index] = true;
    for (NodeId id : nodes)
      for (NodeId operand : distinct_operands(id)) ++uses[operand.index];
    for (const GraphOutput& output : graph.outputs()) ++uses[output.node.index];
  }

  /// Returns the run-time operands, each once.
  llvm::SmallVector<NodeId, 4> distinct_operands(NodeId id) const {
    llvm::SmallVector<NodeId, 4> result;
    for (NodeId operand : graph.operands(id))
      if (is_run[operand.index] && !llvm::is_contained(result, operand)) result.push_back(operand);
    return result;
  }

  /// Bytes that `id` adds while it runs, and that remain after its dying operands are freed.
  struct Change {
    int64_t during = 0, after = 0;
  };
  Change change(NodeId id) const {
    auto dies = [&](NodeId operand) { return is_run[operand.index] && uses[operand.index] == 1; };
    bool in_place = in_place_operand(graph, id, dies) >= 0;
    Change change;
    change.during = in_place ? 0 : arena_bytes(graph, id);
    change.after = arena_bytes(graph, id);
    for (NodeId operand : distinct_operands(id))
      if (dies(operand)) change.after -= arena_bytes(graph, operand);
    return change;
  }

  void done(NodeId id) {
    for (NodeId operand : distinct_operands(id)) --uses[operand.index];
  }
};

/// Depth first from the outputs; of a node's operands, the one with the larger demand first. Demand
/// is defined as by Sethi and Ullman: the peak of a subtree if it were a tree.
class DepthFirst {
public:
  DepthFirst(const Graph& graph, const Liveness& live, llvm::ArrayRef<NodeId> nodes)
      : live_(live), demand_(graph.size(), 0), seen_(graph.size()) {
    for (NodeId id : nodes) {
      int64_t held = 0, peak = 0;
      for (NodeId operand : by_demand(id)) {
        peak = std::max(peak, held + demand_[operand.index]);
        held += arena_bytes(graph, operand);
      }
      demand_[id.index] = std::max(peak, held + arena_bytes(graph, id));
    }
  }

  std::vector<NodeId> order() {
    for (const GraphOutput& output : live_.graph.outputs())
      if (live_.is_run[output.node.index]) visit(output.node);
    return std::move(order_);
  }

private:
  llvm::SmallVector<NodeId, 4> by_demand(NodeId id) const {
    llvm::SmallVector<NodeId, 4> operands = live_.distinct_operands(id);
    llvm::stable_sort(operands, [&](NodeId a, NodeId b) {
      return demand_[a.index] - arena_bytes(live_.graph, a) >
             demand_[b.index] - arena_bytes(live_.graph, b);
    });
    return operands;
  }

  void visit(NodeId root) {
    struct Frame {
      NodeId node;
      llvm::SmallVector<NodeId, 4> operands;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    auto enter = [&](NodeId id) {
      if (seen_[id.index]) return;
      seen_[id.index] = true;
      stack.push_back({id, by_demand(id)});
    };
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.operands.size()) {
        enter(frame.operands[frame.next++]);
        continue;
      }
      order_.push_back(frame.node);
      stack.pop_back();
    }
  }

  const Liveness& live_;
  std::vector<int64_t> demand_;
  std::vector<bool> seen_;
  std::vector<NodeId> order_;
};

/// Always takes the ready operator that leaves the fewest bytes; among equals, the earliest
/// in the graph.
std::vector<NodeId> greedy_order(const Graph& graph, Liveness live, llvm::ArrayRef<NodeId> nodes) {
  std::vector<uint32_t> missing(graph.size(), 0);
  std::vector<llvm::SmallVector<NodeId, 2>> users(graph.size());
  std::vector<NodeId> ready, order; // ready: sorted by index
  for (NodeId id : nodes) {
    for (NodeId operand : live.distinct_operands(id)) {
      ++missing[id.index];
      users[operand.index].push_back(id);
    }
    if (missing[id.index] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    auto best = ready.begin();
    int64_t best_after = INT64_MAX;
    for (auto it = ready.begin(); it != ready.end(); ++it)
      if (int64_t after = live.change(*it).after; after < best_after) {
        best = it;
        best_after = after;
      }
    NodeId id = *best;
    ready.erase(best);
    order.push_back(id);
    live.done(id);
    for (NodeId user : users[id.index])
      if (--missing[user.index] == 0)
        ready.insert(
            llvm::upper_bound(ready, user, [](NodeId a, NodeId b) { return a.index < b.index; }),
            user);
  }
  return order;
}

/// Limit on operators for the quadratic greedy order.
constexpr size_t kGreedyLimit = 4000;

int64_t peak(Liveness live, llvm::ArrayRef<NodeId> order) {
  int64_t now = 0, highest = 0;
  for (NodeId id : order) {
    Liveness::Change change = live.change(id);
    highest = std::max(highest, now + change.during);
    now += change.after;
    live.done(id);
  }
  return highest;
}

/// Positions of the operands that may be overwritten, lifetimes apart.
llvm::SmallVector<size_t, 4> replaceable(OpKind op, size_t operand_count) {
  const OpInfo& info = op_info(op);
  bool elementwise = info.has(Trait::Pointwise | Trait::Fused);
  llvm::SmallVector<size_t, 4> found;
  for (size_t i = 0; i < operand_count; ++i)
    if (elementwise || (!info.variadic() && info.operands()[i].overwritable)) found.push_back(i);
  return found;
}

} // namespace

int in_place_operand(const Graph& graph, NodeId id, llvm::function_ref<bool(NodeId)> dies) {
  OpKind op = graph.node(id).op;
  llvm::ArrayRef<NodeId> operands = graph.operands(id);
  bool elementwise = op_info(op).has(Trait::Pointwise | Trait::Fused);
  for (size_t i : replaceable(op, operands.size())) {
    NodeId operand = operands[i];
    if (!(graph.node(operand).type == graph.node(id).type) || !dies(operand)) continue;
    // Other operators may still read it as another operand after overwriting part of it.
    if (elementwise || llvm::count(operands, operand) == 1) return static_cast<int>(i);
  }
  return -1;
}

std::vector<NodeId> run_nodes(const Graph& graph) {
  std::vector<bool> needed = graph.reachable();
  std::vector<NodeId> nodes;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node({i});
    if (needed[i] && !n.weight_only && !op_info(n.op).has(Trait::Leaf)) nodes.push_back({i});
  }
  return nodes;
}

std::vector<NodeId> best_order(const Graph& graph) {
  std::vector<NodeId> best = run_nodes(graph);
  Liveness live(graph, best);
  int64_t lowest = peak(live, best);
  auto consider = [&](std::vector<NodeId> order) {
    int64_t its_peak = peak(live, order);
    if (its_peak >= lowest) return;
    lowest = its_peak;
    best = std::move(order);
  };
  std::vector<NodeId> natural = best;
  consider(DepthFirst(graph, live, natural).order());
  if (natural.size() <= kGreedyLimit) consider(greedy_order(graph, live, natural));
  return best;
}

} // namespace tg
