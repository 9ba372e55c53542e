#include "compiler/egraph/cycle.h"

#include "compiler/egraph/topo_order.h"

#include <algorithm>
#include <cassert>

namespace tg {

// --- components: Tarjan's algorithm on an explicit stack -----------------------------------------

size_t Cycles::break_cycles() {
  uint32_t bound = egraph_.class_bound();
  index_.assign(bound, 0); // 0: unvisited
  low_.assign(bound, 0);
  finish_.assign(bound, 0);
  place_.assign(bound, kUnplaced);
  self_loop_.assign(bound, false);
  next_index_ = next_place_ = next_finish_ = 0;
  filtered_ = 0;
  for (uint32_t id = 0; id < bound; ++id)
    if (canonical(egraph_, {id}) && index_[id] == 0) explore(id);
  snapshot_nodes_ = egraph_.node_bound();
  descendants_.clear();
  answers_.clear();
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
    finish_[id] = ++next_finish_;
    if (!visits_.empty()) low_[visits_.back().id] = std::min(low_[visits_.back().id], low_[id]);
    if (low_[id] == index_[id]) leave(id);
  }
}

/// Follows edges of `v` until one leads to an unvisited class. Returns false at the end.
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

/// Completes a component: assigns its places, and breaks its cycles if it has any.
void Cycles::leave(uint32_t id) {
  size_t first = open_.size();
  while (open_[--first] != id) {
  }
  bool cyclic = open_.size() - first > 1 || self_loop_[id];
  if (cyclic) sort_by_finish(first);
  llvm::ArrayRef<uint32_t> component = llvm::ArrayRef<uint32_t>(open_).drop_front(first);
  uint32_t place = next_place_;
  for (uint32_t member : component) place_[member] = next_place_++;
  if (cyclic) break_component(component, place);
  open_.resize(first);
}

/// Sorts classes by finish time. In this order only edges that close a cycle of the search point
/// backwards, so break_component() has little to reorder.
void Cycles::sort_by_finish(size_t first) {
  std::sort(open_.begin() + static_cast<std::ptrdiff_t>(first), open_.end(),
            [&](uint32_t a, uint32_t b) { return finish_[a] < finish_[b]; });
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
  std::sort(nodes.begin(), nodes.end()); // ids increase with age
  TopoOrder order(static_cast<uint32_t>(component.size()));
  for (uint32_t index : nodes) {
    ENodeId node{index};
    uint32_t user = vertex(class_of(egraph_, node));
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

bool Cycles::reaches(ClassId from, ClassId target) {
  return search(from, target, 0, egraph_.node_bound());
}

bool Cycles::descends(ClassId from, ClassId target) {
  from = egraph_.find(from), target = egraph_.find(target);
  if (from == target) return true;
  uint32_t high = place(from), low = place(target);
  if (high == kUnplaced || low == kUnplaced || high <= low) return false;
  if (static_cast<size_t>(next_place_) * next_place_ <= kMaxBits) {
    if (descendants_.empty()) collect_descendants();
    return (descendants_[high * row_words_ + low / 64] >> (low % 64)) & 1;
  }
  if (answers_.empty()) answers_.resize(kAnswers);
  Answer& answer = answers_[(high * 0x9e3779b9u + low * 0x85ebca6bu) >> 18];
  if (answer.from != high || answer.target != low)
    answer = {high, low, search(from, target, low, snapshot_nodes_)};
  return answer.yes;
}

/// Computes rows from low places to high ones, each as the union of its children's rows.
void Cycles::collect_descendants() {
  std::vector<uint32_t> order(next_place_);
  for (uint32_t id = 0; id < place_.size(); ++id)
    if (place_[id] != kUnplaced) order[place_[id]] = id;
  row_words_ = (next_place_ + 63) / 64;
  descendants_.assign(next_place_ * row_words_ + 1, 0);
  for (uint32_t at = 0; at < next_place_; ++at) {
    if (!canonical(egraph_, {order[at]})) continue; // merged since
    uint64_t* row = descendants_.data() + at * row_words_;
    for (ENodeId node : egraph_.nodes({order[at]})) {
      if (node.index >= snapshot_nodes_ || egraph_.node(node).state != 0) continue;
      for (ClassId child : egraph_.children(node)) {
        uint32_t below = place(egraph_.find(child));
        if (below >= at) continue; // added by a merge since
        row[below / 64] |= uint64_t{1} << (below % 64);
        const uint64_t* other = descendants_.data() + below * row_words_;
        for (size_t word = 0; word <= below / 64; ++word) row[word] |= other[word];
      }
    }
  }
}

/// Searches down from `from` over nodes below `node_bound`, through classes placed above `floor`.
bool Cycles::search(ClassId from, ClassId target, uint32_t floor, uint32_t node_bound) {
  from = egraph_.find(from), target = egraph_.find(target);
  if (from == target) return true;
  seen_.resize(egraph_.class_bound(), 0);
  ++generation_;
  worklist_.assign(1, from.index);
  seen_[from.index] = generation_;
  while (!worklist_.empty()) {
    ClassId id{worklist_.back()};
    worklist_.pop_back();
    for (ENodeId node : egraph_.nodes(id)) {
      if (node.index >= node_bound || egraph_.node(node).filtered()) continue;
      for (ClassId named : egraph_.children(node)) {
        ClassId child = egraph_.find(named);
        if (child == target) return true;
        if (seen_[child.index] == generation_) continue;
        seen_[child.index] = generation_;
        if (floor == 0 || place(child) > floor) worklist_.push_back(child.index);
      }
    }
  }
  return false;
}

size_t Cycles::memory_bytes() const {
  return (index_.capacity() + low_.capacity() + finish_.capacity() + place_.capacity() +
          open_.capacity() + seen_.capacity() + worklist_.capacity()) *
             sizeof(uint32_t) +
         visits_.capacity() * sizeof(Visit) + descendants_.capacity() * sizeof(uint64_t) +
         answers_.capacity() * sizeof(Answer);
}

bool acyclic(const EGraph& egraph) {
  // Kahn's algorithm: remove classes all of whose unfiltered nodes have only removed children.
  std::vector<uint32_t> open(egraph.class_bound()), worklist;
  std::vector<std::vector<uint32_t>> users(egraph.class_bound());
  size_t classes = 0, taken = 0;
  for (uint32_t id = 0; id < egraph.class_bound(); ++id) {
    if (!canonical(egraph, {id})) continue;
    ++classes;
    for (ENodeId node : egraph.nodes({id})) {
      if (egraph.node(node).filtered()) continue;
      for (ClassId child : egraph.children(node)) {
        ++open[id];
        users[child.index].push_back(id);
      }
    }
    if (open[id] == 0) worklist.push_back(id);
  }
  while (!worklist.empty()) {
    uint32_t id = worklist.back();
    worklist.pop_back();
    ++taken;
    for (uint32_t user : users[id])
      if (--open[user] == 0) worklist.push_back(user);
  }
  return taken == classes;
}

} // namespace tg
