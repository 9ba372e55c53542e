#include "compiler/egraph/cycle.h"

#include "compiler/egraph/topo_order.h"

#include <algorithm>
#include <cassert>

namespace tg {

// --- components: Tarjan's algorithm on an explicit stack
// ------------------------------------------

size_t Cycles::break_cycles() {
  uint32_t bound = egraph_.class_bound();
  index_.assign(bound, 0); // 0: not seen yet
  low_.assign(bound, 0);
  place_.assign(bound, kUnplaced);
  self_loop_.assign(bound, false);
  next_index_ = next_place_ = 0;
  filtered_ = 0;
  for (uint32_t id = 0; id < bound; ++id)
    if (egraph_.canonical({id}) && index_[id] == 0) explore(id);
  return filtered_;
}

void Cycles::enter(uint32_t id) {
  index_[id] = low_[id] = ++next_index_;
  open_.push_back(id);
  const EClass& c = egraph_.eclass({id});
  visits_.push_back({id, c.first_node, c.node_count, 0, 0});
}

void Cycles::explore(uint32_t root) {
  enter(root);
  while (!visits_.empty()) {
    if (step(visits_.back())) continue;
    uint32_t id = visits_.back().id;
    visits_.pop_back();
    if (!visits_.empty()) low_[visits_.back().id] = std::min(low_[visits_.back().id], low_[id]);
    if (low_[id] == index_[id]) leave(id);
  }
}

/// Follows edges of `v` until one leads to a class not seen yet. False at the end.
bool Cycles::step(Visit& v) {
  while (true) {
    while (v.edges_left == 0) {
      if (v.nodes_left == 0) return false;
      const ENode& n = egraph_.node({v.node});
      v.node = n.next;
      --v.nodes_left;
      if (n.state == 0) v.edge = n.first, v.edges_left = n.arity;
    }
    uint32_t child = egraph_.edge_child(v.edge++).index;
    --v.edges_left;
    if (index_[child] == 0) return enter(child), true;
    if (child == v.id) self_loop_[child] = true;
    if (place_[child] == kUnplaced) low_[v.id] = std::min(low_[v.id], index_[child]);
  }
}

/// A component is complete: it gets its places, and where it has a cycle that is broken.
void Cycles::leave(uint32_t id) {
  size_t first = open_.size();
  while (open_[--first] != id) {
  }
  llvm::ArrayRef<uint32_t> component = llvm::ArrayRef<uint32_t>(open_).drop_front(first);
  uint32_t place = next_place_;
  for (uint32_t member : component) place_[member] = next_place_++;
  if (component.size() > 1 || self_loop_[id]) break_component(component, place);
  open_.resize(first);
}

void Cycles::break_component(llvm::ArrayRef<uint32_t> component, uint32_t first_place) {
  auto vertex = [&](ClassId id) { return place_[id.index] - first_place; };
  auto inside = [&](ClassId id) {
    uint32_t place = place_[id.index];
    return place >= first_place && place < first_place + component.size();
  };
  std::vector<uint32_t> nodes;
  for (uint32_t id : component)
    for (ENodeId node : egraph_.nodes({id}))
      if (egraph_.node(node).state == 0 && llvm::any_of(egraph_.children(node), inside))
        nodes.push_back(node.index);
  std::sort(nodes.begin(), nodes.end()); // ids grow with time
  TopoOrder order(static_cast<uint32_t>(component.size()));
  for (uint32_t index : nodes) {
    ENodeId node{index};
    uint32_t user = vertex(egraph_.class_of(node));
    auto closes = [&](ClassId child) {
      return inside(child) && !order.can_add(user, vertex(child));
    };
    if (llvm::any_of(egraph_.children(node), closes)) {
      egraph_.filter(node);
      ++filtered_;
      continue;
    }
    for (ClassId child : egraph_.children(node))
      if (inside(child)) order.add(user, vertex(child));
  }
  std::vector<uint32_t> members(component.begin(), component.end()), places;
  for (uint32_t id : members) places.push_back(first_place + order.place(vertex({id})));
  for (size_t i = 0; i < members.size(); ++i) place_[members[i]] = places[i];
}

// --- reachability ------------------------------------------------------------------------------

bool Cycles::reaches(ClassId from, ClassId target, bool prune_by_order) {
  from = egraph_.find(from), target = egraph_.find(target);
  if (from == target) return true;
  auto place = [&](ClassId id) { return id.index < place_.size() ? place_[id.index] : kUnplaced; };
  uint32_t floor = prune_by_order ? place(target) : 0;
  if (prune_by_order && (floor == kUnplaced || place(from) <= floor)) return false;
  seen_.resize(egraph_.class_bound(), 0);
  ++generation_;
  todo_.assign(1, from.index);
  seen_[from.index] = generation_;
  while (!todo_.empty()) {
    ClassId id{todo_.back()};
    todo_.pop_back();
    for (ENodeId node : egraph_.nodes(id)) {
      if (egraph_.filtered(node)) continue;
      for (ClassId named : egraph_.children(node)) {
        ClassId child = egraph_.find(named);
        if (child == target) return true;
        if (seen_[child.index] == generation_) continue;
        seen_[child.index] = generation_;
        if (!prune_by_order || place(child) > floor) todo_.push_back(child.index);
      }
    }
  }
  return false;
}

size_t Cycles::memory_bytes() const {
  return (index_.capacity() + low_.capacity() + place_.capacity() + open_.capacity() +
          seen_.capacity() + todo_.capacity()) *
             sizeof(uint32_t) +
         visits_.capacity() * sizeof(Visit);
}

bool acyclic(const EGraph& egraph) {
  // Kahn: take away classes all of whose unfiltered nodes have only taken children.
  std::vector<uint32_t> open(egraph.class_bound()), todo;
  std::vector<std::vector<uint32_t>> users(egraph.class_bound());
  size_t classes = 0, taken = 0;
  for (uint32_t id = 0; id < egraph.class_bound(); ++id) {
    if (!egraph.canonical({id})) continue;
    ++classes;
    for (ENodeId node : egraph.nodes({id})) {
      if (egraph.filtered(node)) continue;
      for (ClassId child : egraph.children(node)) {
        ++open[id];
        users[child.index].push_back(id);
      }
    }
    if (open[id] == 0) todo.push_back(id);
  }
  while (!todo.empty()) {
    uint32_t id = todo.back();
    todo.pop_back();
    ++taken;
    for (uint32_t user : users[id])
      if (--open[user] == 0) todo.push_back(user);
  }
  return taken == classes;
}

} // namespace tg
