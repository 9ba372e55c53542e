#include "compiler/egraph/egraph.h"

#include "compiler/ir/updated.h"

#include <cassert>

namespace tg {

EGraph::EGraph(std::shared_ptr<Symbols> symbols)
    : symbols_(std::move(symbols)), infer_(*symbols_) {}

// --- adding ----------------------------------------------------------------------------------

ClassId EGraph::add(OpKind op, Typing typing, llvm::ArrayRef<ClassId> children, Origin origin) {
  llvm::SmallVector<ClassId, 6> canonical;
  for (ClassId child : children) canonical.push_back(find(child));
  uint32_t hash = hash_of(op, typing.attrs, canonical);
  ENodeId found = lookup(hash, op, typing.attrs, canonical);
  if (found.valid()) return class_of(*this, found);
  ClassId home = new_class(typing.type);
  state_.insert_hash(hash, new_node(home, op, typing.attrs, canonical, origin));
  return home;
}

bool EGraph::add_equal(ClassId target, OpKind op, Typing typing, llvm::ArrayRef<ClassId> children,
                       Origin origin) {
  assert(class_at(*this, target).type == typing.type && "equal nodes have one type");
  target = find(target);
  llvm::SmallVector<ClassId, 6> canonical;
  for (ClassId child : children) canonical.push_back(find(child));
  uint32_t hash = hash_of(op, typing.attrs, canonical);
  ENodeId found = lookup(hash, op, typing.attrs, canonical);
  if (found.valid()) return merge(target, class_of(*this, found), origin);
  state_.insert_hash(hash, new_node(target, op, typing.attrs, canonical, origin));
  return true;
}

ENodeId EGraph::lookup(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) const {
  llvm::SmallVector<ClassId, 6> canonical;
  for (ClassId child : children) canonical.push_back(find(child));
  return lookup(hash_of(op, attrs, canonical), op, attrs, canonical);
}

ENodeId EGraph::lookup(uint32_t hash, OpKind op, AttrsId attrs,
                       llvm::ArrayRef<ClassId> children) const {
  return {state_.table.find(hash, [&](uint32_t index) {
    const ENode& n = state_.nodes[index];
    if (!(n.attrs == attrs) || n.op != op || n.arity != children.size()) return false;
    if (n.state & ENode::Dead) return false;
    for (uint32_t i = 0; i < n.arity; ++i)
      if (!(state_.edge_child[n.first + i] == children[i])) return false;
    return true;
  })};
}

ClassId EGraph::new_class(TypeId type) {
  ClassId id{class_bound()};
  EClass c;
  c.type = type;
  state_.classes.push_back(c);
  state_.leaders.push_back(id);
  ++state_.counters.live_classes;
  return id;
}

ENodeId EGraph::new_node(ClassId home, OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children,
                         Origin origin) {
  state_.mutated();
  ENodeId id{node_bound()};
  ENode n;
  n.attrs = attrs;
  n.first = static_cast<uint32_t>(state_.edge_child.size());
  n.arity = static_cast<uint32_t>(children.size());
  n.home = home;
  n.origin = origin.node;
  n.op = op;
  n.rule = origin.rule;
  state_.nodes.push_back(n);
  state_.by_op[static_cast<size_t>(op)].push_back(id);
  ++state_.counters.live_nodes;
  for (ClassId child : children) {
    state_.edge_child.push_back(child);
    if (state_.recording) state_.edge_born.push_back(child);
    state_.edge_next.push_back(0);
    state_.edge_owner.push_back(id);
    state_.link_edge(child, static_cast<uint32_t>(state_.edge_child.size() - 1));
  }
  state_.link_member(home, id);
  state_.touch(id);
  raise_flags(home, flags_of(id));
  return id;
}

// --- merging and rebuilding --------------------------------------------------------------------

bool EGraph::merge(ClassId a, ClassId b, Origin why) {
  a = find(a), b = find(b);
  if (a == b) return false;
  EClass &ca = state_.classes[a.index], &cb = state_.classes[b.index];
  if (!(ca.type == cb.type)) return false;
  uint32_t weight_a = ca.node_count + ca.edge_count, weight_b = cb.node_count + cb.edge_count;
  if (weight_a < weight_b || (weight_a == weight_b && b.index < a.index)) std::swap(a, b);
  state_.mutated();
  uint32_t kept_flags = state_.classes[a.index].flags,
           absorbed_flags = state_.classes[b.index].flags;
  for (ENodeId member : nodes(b)) state_.touch(member);
  for_users(b, [&](ENodeId user) { pending_.push_back(user); });
  state_.splice(a, b);
  state_.set(Word::ClassLeader, b.index, state_.leaders[b.index].index, a.index);
  state_.unions.push_back({a, b, why});
  --state_.counters.live_classes;
  if (kept_flags != absorbed_flags) {
    EClass& kept = state_.classes[a.index];
    state_.set(Word::ClassFlags, a.index, kept.flags, kept_flags | absorbed_flags);
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

/// Makes a node's children canonical. If another live node has that form already, the younger of
/// the two dies and their classes merge.
void EGraph::repair(ENodeId id) {
  if (!node(id).alive()) return;
  ENode& n = state_.nodes[id.index];
  bool renamed = false;
  for (uint32_t edge = n.first; edge < n.first + n.arity; ++edge) {
    ClassId leader = find(state_.edge_child[edge]);
    if (leader == state_.edge_child[edge]) continue;
    state_.set(Word::EdgeChild, edge, state_.edge_child[edge].index, leader.index);
    renamed = true;
  }
  if (!renamed) return;
  uint32_t hash = hash_of(n.op, n.attrs, children(id));
  ENodeId twin{state_.table.find(hash, [&](uint32_t index) {
    const ENode& m = state_.nodes[index];
    if (index == id.index || !(m.attrs == n.attrs) || m.op != n.op || m.arity != n.arity ||
        (m.state & ENode::Dead))
      return false;
    return children({index}) == children(id);
  })};
  state_.touch(id);
  if (!twin.valid()) return state_.insert_hash(hash, id);
  ENodeId older = id.index < twin.index ? id : twin, younger = older == id ? twin : id;
  if (older == id) state_.insert_hash(hash, id);
  merge(class_of(*this, id), class_of(*this, twin), {kCongruence, older});
  kill(younger);
}

void EGraph::kill(ENodeId node) {
  ENode& n = state_.nodes[node.index];
  state_.unlink_member(class_of(*this, node), node);
  if (n.state & ENode::Filtered) --state_.counters.filtered_nodes;
  state_.set(Word::NodeState, node.index, n.state, n.state | ENode::Dead);
  --state_.counters.live_nodes;
}

void EGraph::filter(ENodeId node) {
  ENode& n = state_.nodes[node.index];
  if (n.state & (ENode::Filtered | ENode::Dead)) return;
  state_.mutated();
  state_.set(Word::NodeState, node.index, n.state, n.state | ENode::Filtered);
  ++state_.counters.filtered_nodes;
}

// --- flags -----------------------------------------------------------------------------------

uint32_t EGraph::flags_of(ENodeId id) const {
  uint32_t flags = 0;
  if (is_weight_only(*this, id)) flags |= EClass::WeightOnly;
  if (node(id).op == OpKind::Constant) flags |= EClass::HasConstant;
  return flags;
}

void EGraph::raise_flags(ClassId id, uint32_t flags) {
  EClass& c = state_.classes[id.index];
  if ((c.flags | flags) == c.flags) return;
  state_.set(Word::ClassFlags, id.index, c.flags, c.flags | flags);
  if (c.edge_count != 0) flag_queue_.push_back(id);
}

/// Notifies the users of classes that gained flags: they count as changed, and may become
/// weight-only.
void EGraph::drain_flags() {
  for (size_t i = 0; i < flag_queue_.size(); ++i) {
    ClassId id = find(flag_queue_[i]);
    for_users(id, [&](ENodeId user) {
      state_.touch(user);
      raise_flags(class_of(*this, user), flags_of(user));
    });
  }
  flag_queue_.clear();
}

// --- marks and records
// -----------------------------------------------------------------------------

void EGraph::set_rule_seen(RuleId rule, uint32_t mark) {
  if (rule >= state_.rule_seen.size()) state_.rule_seen.resize(rule + 1u, 0);
  if (state_.rule_seen[rule] == mark) return;
  state_.mutated();
  state_.set(Word::RuleSeen, rule, state_.rule_seen[rule], mark);
}

void EGraph::record_history() {
  assert(state_.unions.empty() && clean() && "history must be recorded before the first merge");
  state_.recording = true;
  state_.edge_born = state_.edge_child;
}

void EGraph::note_application(RuleId rule, llvm::ArrayRef<uint32_t> words) {
  assert(words.size() < 1u << 16 && "the length of a row is stored in 16 bits");
  state_.history.push_back(rule | static_cast<uint32_t>(words.size()) << 16);
  state_.history.insert(state_.history.end(), words.begin(), words.end());
}

// --- back and forth -----------------------------------------------------------------------------

Checkpoint EGraph::checkpoint() {
  assert(clean() && "a checkpoint requires a rebuilt e-graph");
  return state_.checkpoint();
}

void EGraph::rollback(Checkpoint to) {
  pending_.clear();
  flag_queue_.clear();
  state_.undo(to, nullptr);
}

Delta EGraph::take_back(Checkpoint to) {
  assert(clean() && "a delta requires a rebuilt e-graph");
  Delta delta;
  state_.undo(to, &delta);
  return delta;
}

EGraph EGraph::replica(std::shared_ptr<Symbols> symbols, SymbolMap& to) const {
  assert(clean() && "a replica requires a rebuilt e-graph");
  EGraph copy(std::move(symbols));
  copy.state_ = state_.replica(to);
  copy.roots_ = roots_;
  return copy;
}

// --- functions over the methods -----------------------------------------------------------------

EGraph egraph_of(const Graph& graph) {
  EGraph egraph(graph.shared_symbols());
  std::vector<bool> needed = graph.reachable();
  std::vector<ClassId> ids(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i]) continue;
    llvm::SmallVector<ClassId, 6> children;
    for (NodeId operand : graph.operands({i})) children.push_back(ids[operand.index]);
    ids[i] = add_node(egraph, graph.node({i}).op, graph.attrs({i}), children);
    assert(ids[i].valid() && "the nodes of a graph are well typed");
  }
  for (const GraphOutput& output : graph.outputs())
    egraph.add_root(output.name, ids[output.node.index]);
  return egraph;
}

Typing type_of(EGraph& egraph, OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) {
  llvm::SmallVector<TypeId, 6> types;
  for (ClassId child : children) types.push_back(class_at(egraph, child).type);
  return egraph.infer(op, attrs, types);
}

ClassId add_node(EGraph& egraph, OpKind op, llvm::ArrayRef<ValueId> attrs,
                 llvm::ArrayRef<ClassId> children, Origin origin) {
  Typing typing = type_of(egraph, op, egraph.symbols().attrs(attrs), children);
  return typing.ok() ? egraph.add(op, typing, children, origin) : ClassId{};
}

bool is_weight_only(const EGraph& egraph, ENodeId id) {
  const ENode& node = egraph.node(id);
  if (!is_known_at_load(egraph.symbols(), node.op, node.attrs)) return false;
  for (ClassId child : egraph.children(id))
    if (!class_at(egraph, child).weight_only()) return false;
  return true;
}

} // namespace tg
