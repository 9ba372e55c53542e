// Prices of an e-graph's nodes and an order of its classes, without building an extraction problem:
// the queries that searches make after every step. Prices are cached by node and are valid as long
// as the node's stamp is unchanged. `forget` must be called before a rollback with the nodes that
// it undoes, because their numbers and stamps will be reused.
#pragma once

#include "compiler/egraph/egraph.h"
#include "compiler/extract/cost/cost.h"
#include "compiler/extract/problem.h"

namespace tg {

class NodePrices {
public:
  NodePrices(const EGraph& egraph, PriceCache& prices) : egraph_(egraph), prices_(prices) {}

  /// Returns the price of one run of the node's operator, in microseconds. It is 0 for leaves and
  /// for nodes computed at load, and infinite if no backend can run the operator.
  double price(ENodeId node) {
    if (node.index >= known_.size()) known_.resize(egraph_.node_bound());
    Entry& entry = known_[node.index];
    if (entry.stamp != egraph_.node(node).stamp)
      entry = {egraph_.node(node).stamp, compute_price(node)};
    return entry.price;
  }
  bool knows(ENodeId node) const {
    return node.index < known_.size() && known_[node.index].stamp == egraph_.node(node).stamp;
  }
  /// Announces the prices of all usable nodes without a cached price to the cost model, so that a
  /// measuring model can measure them together.
  void announce();
  void forget(llvm::ArrayRef<ENodeId> changed) {
    for (ENodeId node : changed)
      if (node.index < known_.size()) known_[node.index].stamp = UINT32_MAX;
  }
  size_t memory_bytes() const { return known_.capacity() * sizeof(Entry); }

private:
  struct Entry {
    uint32_t stamp = UINT32_MAX;
    double price = 0;
  };
  double compute_price(ENodeId node);

  const EGraph& egraph_;
  PriceCache& prices_;
  std::vector<Entry> known_; // by node
};

/// Returns true if extraction may use the node.
inline bool usable(const EGraph& egraph, ENodeId node) {
  return egraph.node(node).alive() && !egraph.node(node).filtered();
}

/// The canonical classes reachable from the roots through usable nodes, children before users.
/// Requires an e-graph that is rebuilt and free of cycles.
class ClassOrder {
public:
  const std::vector<ClassId>& compute(const EGraph& egraph);

private:
  struct Visit {
    ClassId id;
    ENodeId node;
    uint32_t nodes_left = 0, edge = 0, edges_left = 0;
  };
  void enter(const EGraph& egraph, ClassId id);
  bool advance(const EGraph& egraph, Visit& visit);

  std::vector<ClassId> order_;
  std::vector<uint32_t> seen_; // by class: the last pass that visited it
  std::vector<Visit> visits_;
  uint32_t pass_ = 0;
};

} // namespace tg
