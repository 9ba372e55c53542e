#include "compiler/egraph/egraph.h"

#include "compiler/ir/updated.h"

#include <cassert>

namespace tg {

EGraph::EGraph(std::shared_ptr<Symbols> symbols)
    : symbols_(std::move(symbols)), infer_(*symbols_) {}

EGraph EGraph::from_graph(const Graph& graph) {
  EGraph egraph(graph.shared_symbols());
  std::vector<bool> needed = graph.reachable();
  std::vector<ClassId> ids(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i]) continue;
    llvm::SmallVector<ClassId, 6> children;
    for (NodeId operand : graph.operands({i})) children.push_back(ids[operand.index]);
    ids[i] = egraph.add(graph.node({i}).op, graph.attrs({i}), children);
    assert(ids[i].valid() && "a graph holds only what infer accepts");
  }
  for (const GraphOutput& output : graph.outputs())
    egraph.add_root(output.name, ids[output.node.index]);
  return egraph;
}

// --- adding ----------------------------------------------------------------------------------

Typing EGraph::type_of(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) {
  llvm::SmallVector<TypeId, 6> types;
  for (ClassId child : children) types.push_back(type(child));
  return infer_(op, attrs, types);
}

ClassId EGraph::add(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<ClassId> children,
                    Origin origin) {
  Typing typing = type_of(op, symbols_->attrs(attrs), children);
  return typing.ok() ? add_typed(op, typing, children, origin) : ClassId{};
}

ClassId EGraph::add_typed(OpKind op, Typing typing, llvm::ArrayRef<ClassId> children,
                          Origin origin) {
  llvm::SmallVector<ClassId, 6> canonical;
  for (ClassId child : children) canonical.push_back(find(child));
  uint32_t hash = hash_of(op, typing.attrs, canonical);
  ENodeId found = lookup(hash, op, typing.attrs, canonical);
  if (found.valid()) return class_of(found);
  ClassId home = new_class(typing.type);
  insert_hash(hash, new_node(home, op, typing.attrs, canonical, origin));
  return home;
}

bool EGraph::add_equal(ClassId target, OpKind op, Typing typing, llvm::ArrayRef<ClassId> children,
                       Origin origin) {
  assert(type(target) == typing.type && "equal nodes have one type");
  target = find(target);
  llvm::SmallVector<ClassId, 6> canonical;
  for (ClassId child : children) canonical.push_back(find(child));
  uint32_t hash = hash_of(op, typing.attrs, canonical);
  ENodeId found = lookup(hash, op, typing.attrs, canonical);
  if (found.valid()) return merge(target, class_of(found), origin);
  insert_hash(hash, new_node(target, op, typing.attrs, canonical, origin));
  return true;
}

ENodeId EGraph::lookup(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) const {
  llvm::SmallVector<ClassId, 6> canonical;
  for (ClassId child : children) canonical.push_back(find(child));
  return lookup(hash_of(op, attrs, canonical), op, attrs, canonical);
}

ENodeId EGraph::lookup(uint32_t hash, OpKind op, AttrsId attrs,
                       llvm::ArrayRef<ClassId> children) const {
  return {table_.find(hash, [&](uint32_t index) {
    const ENode& n = nodes_[index];
    if (!(n.attrs == attrs) || n.op != op || n.arity != children.size()) return false;
    if (n.state & ENode::Dead) return false;
    for (uint32_t i = 0; i < n.arity; ++i)
      if (!(edge_child_[n.first + i] == children[i])) return false;
    return true;
  })};
}

uint32_t EGraph::hash_of(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) const {
  WordHash h(static_cast<uint64_t>(op) + 1);
  h.add(attrs.index);
  for (ClassId child : children) h.add(child.index);
  return h.finish();
}

void EGraph::insert_hash(uint32_t hash, ENodeId node) {
  if (table_.full()) grow_table();
  table_.insert(hash, node.index);
  trail_.log_insert(hash, node.index);
}

/// Drops entries under old names where they are many, unless a rollback may make them valid again.
void EGraph::grow_table() {
  bool keep_all = trail_.active() || table_.size() < counters_.live_nodes + table_.size() / 4;
  table_.grow([&](uint32_t hash, uint32_t index) {
    return keep_all || (alive({index}) && hash_of(nodes_[index]) == hash);
  });
}

ClassId EGraph::new_class(TypeId type) {
  ClassId id{class_bound()};
  EClass c;
  c.type = type;
  classes_.push_back(c);
  leaders_.push_back(id);
  ++counters_.live_classes;
  return id;
}

ENodeId EGraph::new_node(ClassId home, OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children,
                         Origin origin) {
  mutated();
  ENodeId id{node_bound()};
  ENode n;
  n.attrs = attrs;
  n.first = static_cast<uint32_t>(edge_child_.size());
  n.arity = static_cast<uint32_t>(children.size());
  n.home = home;
  n.origin = origin.node;
  n.op = op;
  n.rule = origin.rule;
  nodes_.push_back(n);
  by_op_[static_cast<size_t>(op)].push_back(id);
  ++counters_.live_nodes;
  for (ClassId child : children) {
    edge_child_.push_back(child);
    if (recording_) edge_born_.push_back(child);
    edge_next_.push_back(0);
    edge_owner_.push_back(id);
    link_edge(child, static_cast<uint32_t>(edge_child_.size() - 1));
  }
  link_member(home, id);
  touch(id);
  raise_flags(home, flags_of(id));
  return id;
}

// --- rings -----------------------------------------------------------------------------------

void EGraph::link_member(ClassId home, ENodeId node) {
  EClass& c = classes_[home.index];
  ENode& n = nodes_[node.index];
  if (c.node_count == 0) {
    n.next = n.prev = node.index;
    set(Word::ClassFirstNode, home.index, c.first_node, node.index);
  } else {
    ENode& first = nodes_[c.first_node];
    n.next = c.first_node;
    n.prev = first.prev;
    set(Word::NodeNext, first.prev, nodes_[first.prev].next, node.index);
    set(Word::NodePrev, c.first_node, first.prev, node.index);
  }
  set(Word::ClassNodeCount, home.index, c.node_count, c.node_count + 1);
}

void EGraph::unlink_member(ClassId home, ENodeId node) {
  EClass& c = classes_[home.index];
  const ENode& n = nodes_[node.index];
  set(Word::NodeNext, n.prev, nodes_[n.prev].next, n.next);
  set(Word::NodePrev, n.next, nodes_[n.next].prev, n.prev);
  if (c.first_node == node.index) set(Word::ClassFirstNode, home.index, c.first_node, n.next);
  set(Word::ClassNodeCount, home.index, c.node_count, c.node_count - 1);
}

void EGraph::link_edge(ClassId child, uint32_t edge) {
  EClass& c = classes_[child.index];
  if (c.edge_count == 0) {
    edge_next_[edge] = edge;
    set(Word::ClassFirstEdge, child.index, c.first_edge, edge);
  } else {
    edge_next_[edge] = edge_next_[c.first_edge];
    set(Word::EdgeNext, c.first_edge, edge_next_[c.first_edge], edge);
  }
  set(Word::ClassEdgeCount, child.index, c.edge_count, c.edge_count + 1);
}

/// Joins the rings of two classes: four words for members, two for edges.
void EGraph::splice(ClassId kept, ClassId absorbed) {
  EClass& k = classes_[kept.index];
  EClass& a = classes_[absorbed.index];
  uint32_t k_last = nodes_[k.first_node].prev, a_last = nodes_[a.first_node].prev;
  set(Word::NodeNext, k_last, nodes_[k_last].next, a.first_node);
  set(Word::NodePrev, a.first_node, nodes_[a.first_node].prev, k_last);
  set(Word::NodeNext, a_last, nodes_[a_last].next, k.first_node);
  set(Word::NodePrev, k.first_node, nodes_[k.first_node].prev, a_last);
  set(Word::ClassNodeCount, kept.index, k.node_count, k.node_count + a.node_count);
  if (a.edge_count == 0) return;
  if (k.edge_count == 0) {
    set(Word::ClassFirstEdge, kept.index, k.first_edge, a.first_edge);
  } else {
    uint32_t k_next = edge_next_[k.first_edge], a_next = edge_next_[a.first_edge];
    set(Word::EdgeNext, k.first_edge, edge_next_[k.first_edge], a_next);
    set(Word::EdgeNext, a.first_edge, edge_next_[a.first_edge], k_next);
  }
  set(Word::ClassEdgeCount, kept.index, k.edge_count, k.edge_count + a.edge_count);
}

void EGraph::touch(ENodeId node) {
  ENode& n = nodes_[node.index];
  set(Word::NodeStamp, node.index, n.stamp, change_mark());
  changes_.push_back(node);
}

// --- merging and rebuilding --------------------------------------------------------------------

bool EGraph::merge(ClassId a, ClassId b, Origin why) {
  a = find(a), b = find(b);
  if (a == b) return false;
  EClass &ca = classes_[a.index], &cb = classes_[b.index];
  if (!(ca.type == cb.type)) return false;
  uint32_t weight_a = ca.node_count + ca.edge_count, weight_b = cb.node_count + cb.edge_count;
  if (weight_a < weight_b || (weight_a == weight_b && b.index < a.index)) std::swap(a, b);
  mutated();
  uint32_t kept_flags = classes_[a.index].flags, absorbed_flags = classes_[b.index].flags;
  for (ENodeId member : nodes(b)) touch(member);
  for_users(b, [&](ENodeId user) { pending_.push_back(user); });
  splice(a, b);
  set(Word::ClassLeader, b.index, leaders_[b.index].index, a.index);
  unions_.push_back({a, b, why});
  --counters_.live_classes;
  if (kept_flags != absorbed_flags) {
    EClass& kept = classes_[a.index];
    set(Word::ClassFlags, a.index, kept.flags, kept_flags | absorbed_flags);
    flag_queue_.push_back(a);
  }
  return true;
}

void EGraph::rebuild() {
  while (!clean()) {
    for (size_t i = 0; i < pending_.size(); ++i) repair(pending_[i]); // may grow
    pending_.clear();
    drain_flags();
  }
}

/// Gives a node's children their canonical names. Where another live node has that form already,
/// the younger of the two dies and their classes merge.
void EGraph::repair(ENodeId id) {
  if (!alive(id)) return;
  ENode& n = nodes_[id.index];
  bool renamed = false;
  for (uint32_t edge = n.first; edge < n.first + n.arity; ++edge) {
    ClassId leader = find(edge_child_[edge]);
    if (leader == edge_child_[edge]) continue;
    set(Word::EdgeChild, edge, edge_child_[edge].index, leader.index);
    renamed = true;
  }
  if (!renamed) return;
  uint32_t hash = hash_of(n);
  ENodeId twin{table_.find(hash, [&](uint32_t index) {
    const ENode& m = nodes_[index];
    if (index == id.index || !(m.attrs == n.attrs) || m.op != n.op || m.arity != n.arity ||
        (m.state & ENode::Dead))
      return false;
    return children({index}) == children(id);
  })};
  touch(id);
  if (!twin.valid()) return insert_hash(hash, id);
  ENodeId older = id.index < twin.index ? id : twin, younger = older == id ? twin : id;
  if (older == id) insert_hash(hash, id);
  merge(class_of(id), class_of(twin), {kCongruence, older});
  kill(younger);
}

void EGraph::kill(ENodeId node) {
  ENode& n = nodes_[node.index];
  unlink_member(class_of(node), node);
  if (n.state & ENode::Filtered) --counters_.filtered_nodes;
  set(Word::NodeState, node.index, n.state, n.state | ENode::Dead);
  --counters_.live_nodes;
}

void EGraph::filter(ENodeId node) {
  ENode& n = nodes_[node.index];
  if (n.state & (ENode::Filtered | ENode::Dead)) return;
  mutated();
  set(Word::NodeState, node.index, n.state, n.state | ENode::Filtered);
  ++counters_.filtered_nodes;
}

// --- flags -----------------------------------------------------------------------------------

bool EGraph::weight_only_node(ENodeId id) const {
  if (!is_known_at_load(symbols(), node(id).op, node(id).attrs)) return false;
  for (ClassId child : children(id))
    if (!weight_only(child)) return false;
  return true;
}

uint32_t EGraph::flags_of(ENodeId id) const {
  uint32_t flags = 0;
  if (weight_only_node(id)) flags |= EClass::WeightOnly;
  if (node(id).op == OpKind::Constant) flags |= EClass::HasConstant;
  return flags;
}

void EGraph::raise_flags(ClassId id, uint32_t flags) {
  EClass& c = classes_[id.index];
  if ((c.flags | flags) == c.flags) return;
  set(Word::ClassFlags, id.index, c.flags, c.flags | flags);
  if (c.edge_count != 0) flag_queue_.push_back(id);
}

/// Tells the users of classes whose flags rose: they count as changed, and may be weight-only now.
void EGraph::drain_flags() {
  for (size_t i = 0; i < flag_queue_.size(); ++i) {
    ClassId id = find(flag_queue_[i]);
    for_users(id, [&](ENodeId user) {
      touch(user);
      raise_flags(class_of(user), flags_of(user));
    });
  }
  flag_queue_.clear();
}

// --- odds and ends -----------------------------------------------------------------------------

void EGraph::set_rule_seen(RuleId rule, uint32_t mark) {
  if (rule >= rule_seen_.size()) rule_seen_.resize(rule + 1u, 0);
  if (rule_seen_[rule] == mark) return;
  mutated();
  set(Word::RuleSeen, rule, rule_seen_[rule], mark);
}

void EGraph::record_history() {
  assert(unions_.empty() && clean() && "what was merged before cannot be explained");
  recording_ = true;
  edge_born_ = edge_child_;
}

void EGraph::note_application(RuleId rule, llvm::ArrayRef<uint32_t> words) {
  assert(words.size() < 1u << 16 && "the length of a row has 16 bits");
  history_.push_back(rule | static_cast<uint32_t>(words.size()) << 16);
  history_.insert(history_.end(), words.begin(), words.end());
}

void EGraph::reserve(size_t nodes) {
  nodes_.reserve(nodes);
  edge_child_.reserve(nodes * 3);
  edge_next_.reserve(nodes * 3);
  edge_owner_.reserve(nodes * 3);
  classes_.reserve(nodes);
  leaders_.reserve(nodes);
  changes_.reserve(nodes * 2);
}

size_t EGraph::memory_bytes() const {
  size_t by_op = 0;
  for (const auto& list : by_op_) by_op += list.size() * sizeof(ENodeId);
  return nodes_.size() * sizeof(ENode) + edge_child_.size() * 12 +
         classes_.size() * (sizeof(EClass) + sizeof(ClassId)) + changes_.size() * sizeof(ENodeId) +
         unions_.size() * sizeof(Union) + (edge_born_.size() + history_.size()) * 4 + by_op +
         table_.memory_bytes() + infer_.memory_bytes() + trail_.memory_bytes();
}

EGraph EGraph::clone() const { return *this; }

} // namespace tg
