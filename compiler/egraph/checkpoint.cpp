// Rolling an e-graph back and forward, and a replica of it along: the methods of EGraph over its
// trail (trail.h).
#include "compiler/egraph/egraph.h"

#include <cassert>
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

Sizes EGraph::sizes() const {
  return {node_bound(),
          static_cast<uint32_t>(edge_child_.size()),
          class_bound(),
          change_mark(),
          static_cast<uint32_t>(unions_.size()),
          static_cast<uint32_t>(rule_seen_.size()),
          static_cast<uint32_t>(history_.size())};
}

Checkpoint EGraph::checkpoint() {
  assert(clean() && "checkpoints are taken of rebuilt e-graphs");
  Frame frame;
  frame.sizes = sizes();
  frame.counters = counters_;
  frame.version = version_;
  trail_.push(frame);
  return {static_cast<uint32_t>(trail_.depth() - 1)};
}

void EGraph::rollback(Checkpoint to) { undo(to, nullptr); }

Delta EGraph::take_back(Checkpoint to) {
  assert(clean() && "only a rebuilt state can be redone");
  Delta delta;
  undo(to, &delta);
  return delta;
}

void EGraph::release(Checkpoint c) {
  while (trail_.depth() > c.depth) trail_.pop();
}

uint32_t& EGraph::word(Word which, uint32_t index) {
  switch (which) {
  case Word::NodeState: return nodes_[index].state;
  case Word::NodeStamp: return nodes_[index].stamp;
  case Word::NodeNext: return nodes_[index].next;
  case Word::NodePrev: return nodes_[index].prev;
  case Word::EdgeChild: return edge_child_[index].index;
  case Word::EdgeNext: return edge_next_[index];
  case Word::ClassLeader: return leaders_[index].index;
  case Word::ClassFirstNode: return classes_[index].first_node;
  case Word::ClassNodeCount: return classes_[index].node_count;
  case Word::ClassFirstEdge: return classes_[index].first_edge;
  case Word::ClassEdgeCount: return classes_[index].edge_count;
  case Word::ClassFlags: return classes_[index].flags;
  case Word::RuleSeen:
  case Word::Count: break;
  }
  return rule_seen_[index];
}

void EGraph::undo(Checkpoint to, Delta* kept) {
  pending_.clear();
  flag_queue_.clear();
  const Frame frame = trail_.frame(to.depth);
  auto& words = trail_.words();
  auto& inserts = trail_.inserts();
  for (size_t i = words.size(); i-- > frame.words;) {
    WordWrite& w = words[i];
    // Of an element that a later checkpoint knew, but this one does not: it goes with its tail.
    if (w.index >= frame.sizes[static_cast<size_t>(column_of(w.which))]) continue;
    std::swap(word(w.which, w.index), w.value);
  }
  for (size_t i = inserts.size(); i-- > frame.inserts;)
    table_.erase(inserts[i].hash, inserts[i].node);
  if (kept) {
    kept->base = frame.version, kept->result = version_;
    kept->base_counters = frame.counters, kept->result_counters = counters_;
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
  counters_ = frame.counters;
  version_ = frame.version;
  while (trail_.depth() > to.depth + 1) trail_.pop();
}

void EGraph::truncate(const Sizes& to, Delta* kept) {
  auto size = [&](Column column) { return to[static_cast<size_t>(column)]; };
  for (uint32_t i = node_bound(); i-- > size(Column::Nodes);)
    by_op_[static_cast<size_t>(nodes_[i].op)].pop_back();
  cut(nodes_, size(Column::Nodes), kept ? &kept->nodes : nullptr);
  cut(edge_child_, size(Column::Edges), kept ? &kept->edge_child : nullptr);
  cut(edge_next_, size(Column::Edges), kept ? &kept->edge_next : nullptr);
  cut(edge_owner_, size(Column::Edges), kept ? &kept->edge_owner : nullptr);
  cut(classes_, size(Column::Classes), kept ? &kept->classes : nullptr);
  cut(leaders_, size(Column::Classes), kept ? &kept->leaders : nullptr);
  cut(changes_, size(Column::Changes), kept ? &kept->changes : nullptr);
  cut(unions_, size(Column::Unions), kept ? &kept->unions : nullptr);
  cut(rule_seen_, size(Column::Rules), kept ? &kept->rule_seen : nullptr);
  cut(history_, size(Column::History), kept ? &kept->history : nullptr);
  if (recording_) cut(edge_born_, size(Column::Edges), kept ? &kept->edge_born : nullptr);
}

bool EGraph::redo(const Delta& delta) {
  if (!continues(delta)) return false;
  replay(delta);
  append_history(delta);
  for (const HashInsert& entry : delta.inserts) insert_hash(entry.hash, {entry.node});
  return true;
}

/// All of a change but history and hash table.
void EGraph::replay(const Delta& delta) {
  for (const WordWrite& w : delta.words) {
    uint32_t& slot = word(w.which, w.index);
    trail_.log(w.which, w.index, slot);
    slot = w.value;
  }
  append(delta);
  counters_ = delta.result_counters;
  version_ = delta.result;
}

void EGraph::append(const Delta& delta) {
  for (uint32_t i = 0; i < delta.nodes.size(); ++i)
    by_op_[static_cast<size_t>(delta.nodes[i].op)].push_back({node_bound() + i});
  extend(nodes_, delta.nodes);
  extend(edge_child_, delta.edge_child);
  extend(edge_next_, delta.edge_next);
  extend(edge_owner_, delta.edge_owner);
  extend(classes_, delta.classes);
  extend(leaders_, delta.leaders);
  extend(changes_, delta.changes);
  extend(unions_, delta.unions);
  extend(rule_seen_, delta.rule_seen);
}

void EGraph::append_history(const Delta& delta) {
  extend(history_, delta.history);
  extend(edge_born_, delta.edge_born);
}

// --- replicas ------------------------------------------------------------------------------------

EGraph EGraph::replica(std::shared_ptr<Symbols> symbols, SymbolMap& to) const {
  assert(clean() && "replicas are made of rebuilt e-graphs");
  EGraph copy = *this;
  copy.symbols_ = std::move(symbols);
  copy.infer_ = InferMemo(*copy.symbols_);
  copy.trail_ = {};
  copy.history_.clear(), copy.edge_born_.clear();
  copy.recording_ = false;
  copy.last_version_ |= kFirstReplicaVersion;
  copy.table_ = {};
  for (ENode& node : copy.nodes_) node.attrs = to(node.attrs);
  for (EClass& cls : copy.classes_) cls.type = to(cls.type);
  // Hashes are of numbers of symbols. Entries under old names are for rollbacks beyond this state.
  for (uint32_t i = 0; i < copy.node_bound(); ++i)
    if (copy.alive({i})) copy.insert_hash(copy.hash_of(copy.nodes_[i]), {i});
  return copy;
}

bool EGraph::feed(const Delta& delta, SymbolMap& from) {
  if (!continues(delta)) return false;
  uint32_t nodes = node_bound(), classes = class_bound();
  replay(delta);
  for (uint32_t i = nodes; i < node_bound(); ++i) nodes_[i].attrs = from(nodes_[i].attrs);
  for (uint32_t i = classes; i < class_bound(); ++i) classes_[i].type = from(classes_[i].type);
  // A node that was renamed within the change is entered as it is after it: nobody can ask for the
  // names between, since a rollback takes back the change as a whole.
  for (const HashInsert& entry : delta.inserts)
    if (alive({entry.node})) insert_hash(hash_of(nodes_[entry.node]), {entry.node});
  return true;
}

} // namespace tg
