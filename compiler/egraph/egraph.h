// The e-graph: many equal forms of one tensor program at once. A class is a set of equal e-nodes;
// an e-node is an operator, its attributes and one class for each operand. E-nodes are hash-consed;
// after merges, congruence (equal operators over merged classes) is restored by rebuild(), deferred
// as in egg (Willsey et al., POPL 2021).
//
// Invariants between operations, checked by verify():
//  - every member of a class has the type of the class; what `infer` refuses never enters;
//  - after rebuild(), children of live nodes are canonical, no two live nodes are equal, and a
//  class
//    is weight-only if and only if a member is (a member whose children all are);
//  - of two nodes that became equal the older lives on, with its own filter flag: so the oldest
//  live
//    node of a class is never filtered, if filtering takes the newest node of a cycle (cycle.h).
//
// State is held in arrays of words and can be rolled back and forward (trail.h). Bytes for a node:
// 40 and 12 for each operand, about 12 in the hash table, 4 in the operator index, 4 in the change
// log; for a class 28.
#pragma once

#include "compiler/egraph/hashcons.h"
#include "compiler/egraph/memos.h"
#include "compiler/egraph/symbol_map.h"
#include "compiler/egraph/trail.h"
#include "compiler/ir/graph.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tg {

struct ENode {
  AttrsId attrs;
  uint32_t first = 0; // operand edges: first .. first + arity
  uint32_t arity = 0;
  ClassId home;   // the class it was put into; canonical name: EGraph::class_of
  ENodeId origin; // root of the match that made it
  OpKind op{};
  RuleId rule = kSourceRule;
  // Overwritten, hence logged on the trail:
  uint32_t state = 0;          // Dead | Filtered
  uint32_t stamp = 0;          // place of its latest change in the change log
  uint32_t next = 0, prev = 0; // ring of the class's live members
  enum : uint32_t { Dead = 1, Filtered = 2 };
};

struct EClass {
  uint32_t first_node = 0, node_count = 0; // ring of live members
  uint32_t first_edge = 0, edge_count = 0; // ring of operand edges that point here, dead ones too
  uint32_t flags = 0;
  TypeId type;
  enum : uint32_t { WeightOnly = 1, HasConstant = 2 };
};

/// `kept` and `absorbed` became one class because the nodes `a` and `b` are equal.
struct Union {
  ClassId kept, absorbed;
  Origin why;
};

struct EGraphRoot {
  std::string name;
  ClassId id; // as given; canonical name: find
};

/// A state to come back to; states nest like brackets.
struct Checkpoint {
  uint32_t depth = 0;
};

/// A change that was rolled back, to be done again from the same state without searching.
struct Delta {
  uint64_t base = 0, result = 0; // EGraph::version before and after
  Counters base_counters, result_counters;
  std::vector<ENode> nodes;
  std::vector<ClassId> edge_child, edge_born;
  std::vector<uint32_t> edge_next;
  std::vector<ENodeId> edge_owner;
  std::vector<EClass> classes;
  std::vector<ClassId> leaders;
  std::vector<ENodeId> changes;
  std::vector<Union> unions;
  std::vector<uint32_t> rule_seen, history;
  std::vector<WordWrite> words;
  std::vector<HashInsert> inserts;
  size_t memory_bytes() const;
};

class EGraph {
public:
  explicit EGraph(std::shared_ptr<Symbols> symbols);
  EGraph(EGraph&&) = default;
  EGraph& operator=(EGraph&&) = default;
  /// The nodes that the graph's outputs need; one root for each output, in their order.
  static EGraph from_graph(const Graph& graph);

  // --- building -----------------------------------------------------------------------------
  /// Attributes in normal form and type of the result, or not ok(): then no such node may exist.
  Typing type_of(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children);
  Typing type_of(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> types) {
    return infer_(op, attrs, types);
  }
  /// Class of the node, which is added where it is not there yet. Invalid if it is ill-typed.
  ClassId add(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<ClassId> children,
              Origin origin = {});
  /// The same for a node that type_of has passed.
  ClassId add_typed(OpKind op, Typing typing, llvm::ArrayRef<ClassId> children, Origin origin);
  /// States that the node equals the class: puts it there, or merges. True if that was news.
  /// Requires the type of the class.
  bool add_equal(ClassId target, OpKind op, Typing typing, llvm::ArrayRef<ClassId> children,
                 Origin origin);
  /// The node with these children, if it is there; invalid else. Attributes in normal form.
  ENodeId lookup(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) const;
  /// States that two classes are equal. True if that was news. Refused (false) between two types.
  bool merge(ClassId a, ClassId b, Origin why);
  /// Restores the invariants after merges.
  void rebuild();
  bool clean() const { return pending_.empty() && flag_queue_.empty(); }
  void add_root(std::string name, ClassId id) { roots_.push_back({std::move(name), id}); }
  /// Takes a node out of matching and extraction, for good (until rolled back).
  void filter(ENodeId node);

  // --- reading ------------------------------------------------------------------------------
  Symbols& symbols() const { return *symbols_; }
  const std::shared_ptr<Symbols>& shared_symbols() const { return symbols_; }
  /// Ids are below these; not all of them are canonical or live.
  uint32_t class_bound() const { return static_cast<uint32_t>(classes_.size()); }
  uint32_t node_bound() const { return static_cast<uint32_t>(nodes_.size()); }
  size_t class_count() const { return counters_.live_classes; }
  /// Live nodes, filtered ones included.
  size_t node_count() const { return counters_.live_nodes; }
  size_t filtered_count() const { return counters_.filtered_nodes; }

  ClassId find(ClassId id) const {
    while (!(leaders_[id.index] == id)) id = leaders_[id.index];
    return id;
  }
  bool canonical(ClassId id) const { return leaders_[id.index] == id; }
  const ENode& node(ENodeId id) const { return nodes_[id.index]; }
  llvm::ArrayRef<ClassId> children(ENodeId id) const {
    const ENode& n = nodes_[id.index];
    return {edge_child_.data() + n.first, n.arity};
  }
  /// The class at one edge; edges of a node are node.first .. node.first + node.arity.
  ClassId edge_child(uint32_t edge) const { return edge_child_[edge]; }
  ClassId class_of(ENodeId id) const { return find(nodes_[id.index].home); }
  bool alive(ENodeId id) const { return !(nodes_[id.index].state & ENode::Dead); }
  bool filtered(ENodeId id) const { return nodes_[id.index].state & ENode::Filtered; }
  TypeId type(ClassId id) const { return classes_[find(id).index].type; }
  bool weight_only(ClassId id) const { return classes_[find(id).index].flags & EClass::WeightOnly; }
  bool has_constant(ClassId id) const {
    return classes_[find(id).index].flags & EClass::HasConstant;
  }
  /// Whether all operands of a node are weight-only and it is no input.
  bool weight_only_node(ENodeId id) const;
  const EClass& eclass(ClassId canonical) const { return classes_[canonical.index]; }

  /// Live members of a canonical class, oldest class first; filtered ones included.
  class NodeIterator;
  struct NodeRange;
  NodeRange nodes(ClassId canonical) const;

  /// All nodes with an operator, in the order of their making; dead ones too.
  llvm::ArrayRef<ENodeId> with_op(OpKind op) const { return by_op_[static_cast<size_t>(op)]; }
  /// Calls `visit(ENodeId)` for each live user of a
  /// canonical class, once for each operand position.
  template <class Visit> void for_users(ClassId canonical, Visit visit) const {
    const EClass& c = classes_[canonical.index];
    uint32_t edge = c.first_edge;
    for (uint32_t i = 0; i < c.edge_count; ++i, edge = edge_next_[edge])
      if (alive(edge_owner_[edge])) visit(edge_owner_[edge]);
  }
  const std::vector<EGraphRoot>& roots() const { return roots_; }
  const std::vector<Union>& unions() const { return unions_; }

  // --- what changed -------------------------------------------------------------------------
  /// Length of the change log. A node whose stamp is at least an earlier length has since been
  /// made, renamed, moved to another class, or has an operand whose flags changed; every new match
  /// of a pattern contains such a node.
  uint32_t change_mark() const { return static_cast<uint32_t>(changes_.size()); }
  llvm::ArrayRef<ENodeId> changes_since(uint32_t mark) const {
    return llvm::ArrayRef<ENodeId>(changes_).drop_front(mark);
  }
  uint32_t stamp(ENodeId id) const { return nodes_[id.index].stamp; }
  /// The mark up to which a rule's matches were searched; part of the state.
  uint32_t rule_seen(RuleId rule) const { return rule < rule_seen_.size() ? rule_seen_[rule] : 0; }
  void set_rule_seen(RuleId rule, uint32_t mark);

  // --- why ----------------------------------------------------------------------------------
  /// From now on keeps what an explanation needs (explain.h): each application that changed
  /// something, with what it bound, and the operands that nodes were made with. Part of the state:
  /// rolled back and redone with it. Requires that nothing was merged yet.
  void record_history();
  bool recording() const { return recording_; }
  /// Notes an application: the rule and what it bound. Requires recording().
  void note_application(RuleId rule, llvm::ArrayRef<uint32_t> words);
  /// Applications in their order, one row each: rule | length << 16, and so many words. Class and
  /// value variables under the rule's numbering; of native rules see fuse.h.
  llvm::ArrayRef<uint32_t> history() const { return history_; }
  /// The class at an edge when its node was made. Requires recording().
  ClassId born_child(uint32_t edge) const { return edge_born_[edge]; }

  // --- back and forth -----------------------------------------------------------------------
  /// Requires clean(). Nothing is logged while there is no checkpoint.
  Checkpoint checkpoint();
  /// Back to the state of the checkpoint, which stays. Later checkpoints vanish.
  void rollback(Checkpoint to);
  /// The same, and what was undone.
  Delta take_back(Checkpoint to);
  /// Does a change again. False, and nothing happens, unless this is the state that it came from.
  [[nodiscard]] bool redo(const Delta& delta);
  /// Forgets the checkpoint and later ones, keeps the state.
  void release(Checkpoint c);
  /// Names a state: equal for two equal histories of checkpoints, rollbacks and redos.
  uint64_t version() const { return version_; }

  /// Room for that many nodes without moving; costs address space, not memory.
  void reserve(size_t nodes);
  size_t memory_bytes() const;
  /// Copy for tests; the search uses checkpoints.
  EGraph clone() const;

  // --- replicas -----------------------------------------------------------------------------
  /// This state for another thread, over symbols of its own: nodes and classes have the same
  /// numbers. Keeps no history and no checkpoints. Requires clean(). `to`: from this table to that.
  EGraph replica(std::shared_ptr<Symbols> symbols, SymbolMap& to) const;
  /// Does a change that was taken back from the e-graph of which this is a replica, as redo() does
  /// there: the words as they were written, nothing is searched. False, and nothing happens, unless
  /// this is the state that it came from.
  [[nodiscard]] bool feed(const Delta& delta, SymbolMap& from);

private:
  friend std::string verify(const EGraph&);
  friend bool same_state(const EGraph&, const EGraph&, std::string*);
  EGraph(const EGraph&) = default;

  uint32_t hash_of(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) const;
  uint32_t hash_of(const ENode& n) const {
    return hash_of(n.op, n.attrs, {edge_child_.data() + n.first, n.arity});
  }
  ENodeId lookup(uint32_t hash, OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) const;
  void insert_hash(uint32_t hash, ENodeId node);
  void grow_table();
  ClassId new_class(TypeId type);
  ENodeId new_node(ClassId home, OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children,
                   Origin origin);
  void link_member(ClassId home, ENodeId node);
  void unlink_member(ClassId home, ENodeId node);
  void link_edge(ClassId child, uint32_t edge);
  void splice(ClassId kept, ClassId absorbed);
  void touch(ENodeId node);
  uint32_t flags_of(ENodeId node) const;
  void raise_flags(ClassId id, uint32_t flags);
  void repair(ENodeId node);
  void drain_flags();
  void kill(ENodeId node);

  Sizes sizes() const;
  uint32_t& word(Word which, uint32_t index);
  void truncate(const Sizes& to, Delta* kept);
  void undo(Checkpoint to, Delta* kept);
  bool continues(const Delta& delta) const { return version_ == delta.base && clean(); }
  void replay(const Delta& delta);
  void append(const Delta& delta);
  void append_history(const Delta& delta);

  void set(Word which, uint32_t index, uint32_t& slot, uint32_t value) {
    trail_.log(which, index, slot);
    slot = value;
  }
  void mutated() { version_ = ++last_version_; }

  std::shared_ptr<Symbols> symbols_;
  InferMemo infer_;
  std::vector<ENode> nodes_;
  // Edges: operand positions of nodes, laid out node after node.
  std::vector<ClassId> edge_child_;
  std::vector<uint32_t> edge_next_; // ring of the edges that point to one class
  std::vector<ENodeId> edge_owner_;
  std::vector<EClass> classes_;
  std::vector<ClassId> leaders_; // union-find, by weight, paths not compressed
  std::vector<ENodeId> changes_;
  std::vector<Union> unions_;
  std::vector<uint32_t> rule_seen_;
  // Empty unless recording_.
  std::vector<ClassId> edge_born_; // by edge
  std::vector<uint32_t> history_;
  bool recording_ = false;
  std::array<std::vector<ENodeId>, kOpCount> by_op_;
  Hashcons table_;
  std::vector<EGraphRoot> roots_;
  Counters counters_;
  Trail trail_;
  uint64_t version_ = 0, last_version_ = 0;
  // Work of rebuild(); empty when clean.
  std::vector<ENodeId> pending_;
  std::vector<ClassId> flag_queue_;
};

class EGraph::NodeIterator {
public:
  NodeIterator(const EGraph& egraph, uint32_t node, uint32_t left)
      : egraph_(&egraph), node_(node), left_(left) {}
  ENodeId operator*() const { return {node_}; }
  NodeIterator& operator++() {
    node_ = egraph_->nodes_[node_].next;
    --left_;
    return *this;
  }
  bool operator!=(const NodeIterator& other) const { return left_ != other.left_; }

private:
  const EGraph* egraph_;
  uint32_t node_, left_;
};

struct EGraph::NodeRange {
  NodeIterator first, last;
  NodeIterator begin() const { return first; }
  NodeIterator end() const { return last; }
};

inline EGraph::NodeRange EGraph::nodes(ClassId canonical) const {
  const EClass& c = classes_[canonical.index];
  return {{*this, c.first_node, c.node_count}, {*this, c.first_node, 0}};
}

/// Checks what the comments above promise.
/// Empty if all is well, else what is wrong. Requires clean().
std::string verify(const EGraph& egraph);

/// Whether two e-graphs are in the same state, number by number; else `why` names a difference.
bool same_state(const EGraph& a, const EGraph& b, std::string* why = nullptr);

/// Text for tests and logs: a line for each class with its type and members.
std::string dump(const EGraph& egraph);

} // namespace tg
