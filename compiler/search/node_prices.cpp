#include "compiler/search/node_prices.h"

#include <deque>

namespace tg {

namespace {

using TypeList = llvm::SmallVector<TypeId, 5>;

OpInstance instance_of(const EGraph& egraph, ENodeId id, TypeList& types) {
  const ENode& node = egraph.node(id);
  OpInstance instance{node.op, node.attrs, {}, class_at(egraph, node.home).type, 0};
  for (ClassId child : egraph.children(id)) {
    if (class_at(egraph, child).weight_only() && types.size() < 32)
      instance.weight_operands |= uint32_t{1} << types.size();
    types.push_back(class_at(egraph, child).type);
  }
  instance.operands = types;
  return instance;
}

bool has_price(const EGraph& egraph, ENodeId id) {
  return !op_info(egraph.node(id).op).has(Trait::Leaf) && !is_weight_only(egraph, id);
}

} // namespace

double NodePrices::compute_price(ENodeId node) {
  if (!has_price(egraph_, node)) return 0;
  TypeList types;
  return prices_.price(instance_of(egraph_, node, types));
}

void NodePrices::announce() {
  if (!prices_.needs_preparation()) return;
  std::deque<TypeList> types;
  std::vector<OpInstance> instances;
  for (uint32_t n = 0; n < egraph_.node_bound(); ++n)
    if (usable(egraph_, {n}) && !knows({n}) && has_price(egraph_, {n}))
      instances.push_back(instance_of(egraph_, {n}, types.emplace_back()));
  prices_.prepare(instances);
}

// --- order ------------------------------------------------------------------------------------

void ClassOrder::enter(const EGraph& egraph, ClassId id) {
  if (seen_[id.index] == pass_) return;
  seen_[id.index] = pass_;
  const EClass& row = egraph.eclass(id);
  visits_.push_back({id, {row.first_node}, row.node_count, 0, 0});
}

/// Advances to the next child of the class's nodes. Returns false if none is left.
bool ClassOrder::advance(const EGraph& egraph, Visit& visit) {
  while (visit.edges_left == 0) {
    if (visit.nodes_left == 0) return false;
    const ENode& node = egraph.node(visit.node);
    if (usable(egraph, visit.node)) visit.edge = node.first, visit.edges_left = node.arity;
    visit.node = {node.next};
    --visit.nodes_left;
  }
  --visit.edges_left;
  enter(egraph, egraph.find(egraph.edge_child(visit.edge++)));
  return true;
}

const std::vector<ClassId>& ClassOrder::compute(const EGraph& egraph) {
  order_.clear();
  seen_.resize(egraph.class_bound(), 0);
  ++pass_;
  for (const EGraphRoot& root : egraph.roots()) {
    enter(egraph, egraph.find(root.id));
    while (!visits_.empty()) {
      // `enter` may reallocate the stack, so the visit is copied first.
      size_t at = visits_.size() - 1;
      Visit visit = visits_[at];
      ClassId id = visit.id;
      bool more = advance(egraph, visit);
      if (more)
        visits_[at] = visit;
      else
        order_.push_back(id), visits_.pop_back();
    }
  }
  return order_;
}

} // namespace tg
