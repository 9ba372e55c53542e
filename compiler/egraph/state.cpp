#include "compiler/egraph/state.h"

#include <utility>

namespace tg {

namespace {

/// A replica's own changes have versions that its original never gives out.
constexpr uint64_t kFirstReplicaVersion = uint64_t{1} << 63;

template <class T> void cut(std::vector<T>& column, uint32_t size, std::vector<T>* kept) {
  if (kept) kept->assign(column.begin() + size, column.end());
  column.resize(size);
}

template <class T> void extend(std::vector<T>& column, const std::vector<T>& tail) {
  column.insert(column.end(), tail.begin(), tail.end());
}

template <class T> size_t bytes(const std::vector<T>& column) {
  return column.capacity() * sizeof(T);
}

} // namespace

size_t Delta::memory_bytes() const {
  return sizeof(*this) + bytes(nodes) + bytes(edge_child) + bytes(edge_next) + bytes(edge_owner) +
         bytes(classes) + bytes(leaders) + bytes(changes) + bytes(unions) + bytes(rule_seen) +
         bytes(edge_born) + bytes(history) + bytes(words) + bytes(inserts);
}

uint32_t hash_of(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) {
  WordHash h(static_cast<uint64_t>(op) + 1);
  h.add(attrs.index);
  for (ClassId child : children) h.add(child.index);
  return h.finish();
}

// --- writing ------------------------------------------------------------------------------------

void EGraphState::touch(ENodeId node) {
  ENode& n = nodes[node.index];
  set(Word::NodeStamp, node.index, n.stamp, static_cast<uint32_t>(changes.size()));
  changes.push_back(node);
}

void EGraphState::insert_hash(uint32_t hash, ENodeId node) {
  if (table.full()) grow_table();
  table.insert(hash, node.index);
  trail_.log_insert(hash, node.index);
}

/// Drops entries under old names where they are many, unless a rollback may make them valid again.
void EGraphState::grow_table() {
  bool keep_all = trail_.active() || table.size() < counters.live_nodes + table.size() / 4;
  table.grow([&](uint32_t hash, uint32_t index) {
    const ENode& n = nodes[index];
    return keep_all || (n.alive() && hash_of(n.op, n.attrs, children(n)) == hash);
  });
}

// --- rings --------------------------------------------------------------------------------------

void EGraphState::link_member(ClassId home, ENodeId node) {
  EClass& c = classes[home.index];
  ENode& n = nodes[node.index];
  if (c.node_count == 0) {
    n.next = n.prev = node.index;
    set(Word::ClassFirstNode, home.index, c.first_node, node.index);
  } else {
    ENode& first = nodes[c.first_node];
    n.next = c.first_node;
    n.prev = first.prev;
    set(Word::NodeNext, first.prev, nodes[first.prev].next, node.index);
    set(Word::NodePrev, c.first_node, first.prev, node.index);
  }
  set(Word::ClassNodeCount, home.index, c.node_count, c.node_count + 1);
}

void EGraphState::unlink_member(ClassId home, ENodeId node) {
  EClass& c = classes[home.index];
  const ENode& n = nodes[node.index];
  set(Word::NodeNext, n.prev, nodes[n.prev].next, n.next);
  set(Word::NodePrev, n.next, nodes[n.next].prev, n.prev);
  if (c.first_node == node.index) set(Word::ClassFirstNode, home.index, c.first_node, n.next);
  set(Word::ClassNodeCount, home.index, c.node_count, c.node_count - 1);
}

void EGraphState::link_edge(ClassId child, uint32_t edge) {
  EClass& c = classes[child.index];
  if (c.edge_count == 0) {
    edge_next[edge] = edge;
    set(Word::ClassFirstEdge, child.index, c.first_edge, edge);
  } else {
    edge_next[edge] = edge_next[c.first_edge];
    set(Word::EdgeNext, c.first_edge, edge_next[c.first_edge], edge);
  }
  set(Word::ClassEdgeCount, child.index, c.edge_count, c.edge_count + 1);
}

void EGraphState::splice(ClassId kept, ClassId absorbed) {
  EClass& k = classes[kept.index];
  EClass& a = classes[absorbed.index];
  uint32_t k_last = nodes[k.first_node].prev, a_last = nodes[a.first_node].prev;
  set(Word::NodeNext, k_last, nodes[k_last].next, a.first_node);
  set(Word::NodePrev, a.first_node, nodes[a.first_node].prev, k_last);
  set(Word::NodeNext, a_last, nodes[a_last].next, k.first_node);
  set(Word::NodePrev, k.first_node, nodes[k.first_node].prev, a_last);
  set(Word::ClassNodeCount, kept.index, k.node_count, k.node_count + a.node_count);
  if (a.edge_count == 0) return;
  if (k.edge_count == 0) {
    set(Word::ClassFirstEdge, kept.index, k.first_edge, a.first_edge);
  } else {
    uint32_t k_next = edge_next[k.first_edge], a_next = edge_next[a.first_edge];
    set(Word::EdgeNext, k.first_edge, edge_next[k.first_edge], a_next);
    set(Word::EdgeNext, a.first_edge, edge_next[a.first_edge], k_next);
  }
  set(Word::ClassEdgeCount, kept.index, k.edge_count, k.edge_count + a.edge_count);
}

// --- back and forth -----------------------------------------------------------------------------

Sizes EGraphState::sizes() const {
  Sizes sizes;
  size_t at = 0;
  for (size_t size : {nodes.size(), edge_child.size(), classes.size(), changes.size(),
                      unions.size(), rule_seen.size(), history.size()})
    sizes[at++] = static_cast<uint32_t>(size);
  return sizes;
}

Checkpoint EGraphState::checkpoint() {
  Frame frame;
  frame.sizes = sizes();
  frame.counters = counters;
  frame.version = version_;
  trail_.push(frame);
  return {static_cast<uint32_t>(trail_.depth() - 1)};
}

void EGraphState::release(Checkpoint c) {
  while (trail_.depth() > c.depth) trail_.pop();
}

uint32_t& EGraphState::word(Word which, uint32_t index) {
  switch (which) {
  case Word::NodeState: return nodes[index].state;
  case Word::NodeStamp: return nodes[index].stamp;
  case Word::NodeNext: return nodes[index].next;
  case Word::NodePrev: return nodes[index].prev;
  case Word::EdgeChild: return edge_child[index].index;
  case Word::EdgeNext: return edge_next[index];
  case Word::ClassLeader: return leaders[index].index;
  case Word::ClassFirstNode: return classes[index].first_node;
  case Word::ClassNodeCount: return classes[index].node_count;
  case Word::ClassFirstEdge: return classes[index].first_edge;
  case Word::ClassEdgeCount: return classes[index].edge_count;
  case Word::ClassFlags: return classes[index].flags;
  case Word::RuleSeen:
  case Word::Count: break;
  }
  return rule_seen[index];
}

void EGraphState::undo(Checkpoint to, Delta* kept) {
  const Frame frame = trail_.frame(to.depth);
  auto& words = trail_.words();
  auto& inserts = trail_.inserts();
  for (size_t i = words.size(); i-- > frame.words;) {
    WordWrite& w = words[i];
    // Skips an element that was added after this checkpoint: it is removed with the tail.
    if (w.index >= frame.sizes[static_cast<size_t>(column_of(w.which))]) continue;
    std::swap(word(w.which, w.index), w.value);
  }
  for (size_t i = inserts.size(); i-- > frame.inserts;)
    table.erase(inserts[i].hash, inserts[i].node);
  if (kept) {
    kept->base = frame.version, kept->result = version_;
    kept->base_counters = frame.counters, kept->result_counters = counters;
    kept->words.reserve(words.size() - frame.words);
    for (size_t i = frame.words; i < words.size(); ++i)
      if (words[i].index < frame.sizes[static_cast<size_t>(column_of(words[i].which))])
        kept->words.push_back(words[i]);
    kept->inserts.assign(inserts.begin() + static_cast<std::ptrdiff_t>(frame.inserts),
                         inserts.end());
  }
  words.resize(frame.words);
  inserts.resize(frame.inserts);
  truncate(frame.sizes, kept);
  counters = frame.counters;
  version_ = frame.version;
  while (trail_.depth() > to.depth + 1) trail_.pop();
}

void EGraphState::truncate(const Sizes& to, Delta* kept) {
  auto size = [&](Column column) { return to[static_cast<size_t>(column)]; };
  for (uint32_t i = static_cast<uint32_t>(nodes.size()); i-- > size(Column::Nodes);)
    by_op[static_cast<size_t>(nodes[i].op)].pop_back();
  cut(nodes, size(Column::Nodes), kept ? &kept->nodes : nullptr);
  cut(edge_child, size(Column::Edges), kept ? &kept->edge_child : nullptr);
  cut(edge_next, size(Column::Edges), kept ? &kept->edge_next : nullptr);
  cut(edge_owner, size(Column::Edges), kept ? &kept->edge_owner : nullptr);
  cut(classes, size(Column::Classes), kept ? &kept->classes : nullptr);
  cut(leaders, size(Column::Classes), kept ? &kept->leaders : nullptr);
  cut(changes, size(Column::Changes), kept ? &kept->changes : nullptr);
  cut(unions, size(Column::Unions), kept ? &kept->unions : nullptr);
  cut(rule_seen, size(Column::Rules), kept ? &kept->rule_seen : nullptr);
  cut(history, size(Column::History), kept ? &kept->history : nullptr);
  if (recording) cut(edge_born, size(Column::Edges), kept ? &kept->edge_born : nullptr);
}

bool EGraphState::redo(const Delta& delta) {
  if (version_ != delta.base) return false;
  replay(delta);
  extend(history, delta.history);
  extend(edge_born, delta.edge_born);
  for (const HashInsert& entry : delta.inserts) insert_hash(entry.hash, {entry.node});
  return true;
}

/// All of a change but history and hash table.
void EGraphState::replay(const Delta& delta) {
  for (const WordWrite& w : delta.words) {
    uint32_t& slot = word(w.which, w.index);
    trail_.log(w.which, w.index, slot);
    slot = w.value;
  }
  for (uint32_t i = 0; i < delta.nodes.size(); ++i)
    by_op[static_cast<size_t>(delta.nodes[i].op)].push_back(
        {static_cast<uint32_t>(nodes.size()) + i});
  extend(nodes, delta.nodes);
  extend(edge_child, delta.edge_child);
  extend(edge_next, delta.edge_next);
  extend(edge_owner, delta.edge_owner);
  extend(classes, delta.classes);
  extend(leaders, delta.leaders);
  extend(changes, delta.changes);
  extend(unions, delta.unions);
  extend(rule_seen, delta.rule_seen);
  counters = delta.result_counters;
  version_ = delta.result;
}

// --- replicas ------------------------------------------------------------------------------------

EGraphState EGraphState::replica(SymbolMap& to) const {
  EGraphState copy = *this;
  copy.trail_ = {};
  copy.history.clear(), copy.edge_born.clear();
  copy.recording = false;
  copy.last_version_ |= kFirstReplicaVersion;
  copy.table = {};
  for (ENode& node : copy.nodes) node.attrs = to(node.attrs);
  for (EClass& cls : copy.classes) cls.type = to(cls.type);
  // Hashes are of numbers of symbols. Entries under old names are for rollbacks beyond this state.
  for (uint32_t i = 0; i < copy.nodes.size(); ++i)
    if (const ENode& node = copy.nodes[i]; node.alive())
      copy.insert_hash(hash_of(node.op, node.attrs, copy.children(node)), {i});
  return copy;
}

bool EGraphState::feed(const Delta& delta, SymbolMap& from) {
  if (version_ != delta.base) return false;
  size_t old_nodes = nodes.size(), old_classes = classes.size();
  replay(delta);
  for (size_t i = old_nodes; i < nodes.size(); ++i) nodes[i].attrs = from(nodes[i].attrs);
  for (size_t i = old_classes; i < classes.size(); ++i) classes[i].type = from(classes[i].type);
  // A node that was renamed within the change is entered with its final name. The intermediate
  // names are never looked up, because a rollback undoes the change as a whole.
  for (const HashInsert& entry : delta.inserts)
    if (const ENode& node = nodes[entry.node]; node.alive())
      insert_hash(hash_of(node.op, node.attrs, children(node)), {entry.node});
  return true;
}

void EGraphState::reserve(size_t count) {
  nodes.reserve(count);
  edge_child.reserve(count * 3);
  edge_next.reserve(count * 3);
  edge_owner.reserve(count * 3);
  classes.reserve(count);
  leaders.reserve(count);
  changes.reserve(count * 2);
}

size_t EGraphState::memory_bytes() const {
  size_t index = 0;
  for (const auto& list : by_op) index += list.size() * sizeof(ENodeId);
  return nodes.size() * sizeof(ENode) + edge_child.size() * 12 +
         classes.size() * (sizeof(EClass) + sizeof(ClassId)) + changes.size() * sizeof(ENodeId) +
         unions.size() * sizeof(Union) + (edge_born.size() + history.size()) * 4 + index +
         table.memory_bytes() + trail_.memory_bytes();
}

} // namespace tg
