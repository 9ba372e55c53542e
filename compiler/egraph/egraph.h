// The e-graph: a compact set of equal tensor programs, represented by classes of equal nodes
// (Willsey et al., "egg: Fast and extensible equality saturation", POPL 2021). An e-class is a set
// of e-nodes with equal values. An e-node is an operator, its attributes and one class for each
// operand, so a node represents all programs that choose any member of each operand's class.
// E-nodes are hash-consed. Merging classes can make nodes congruent (equal operators over merged
// classes); rebuild() restores congruence, deferred as in egg.
//
// Example:
//
//   Graph graph(std::make_shared<Symbols>());
//   graph.add_output("x", graph.input("x", f32({4})));
//   graph.add_output("y", graph.input("y", f32({4})));
//   EGraph egraph = egraph_of(graph);
//   ClassId x = egraph.roots()[0].id, y = egraph.roots()[1].id;
//   ClassId a = add_node(egraph, OpKind::Relu, {}, {x});
//   ClassId b = add_node(egraph, OpKind::Relu, {}, {y}); // a != b
//   egraph.merge(x, y, {});
//   egraph.rebuild(); // egraph.find(a) == egraph.find(b), by congruence
//
// Invariants between operations, checked by verify():
//  - every member of a class has the type of the class; a node that `infer` refuses is not added;
//  - after rebuild(), children of live nodes are canonical, no two live nodes are equal, and a
//    class is weight-only if and only if a member is (a member whose children all are);
//  - of two nodes that became equal the older survives, with its own filter flag: so the oldest
//    live node of a class is never filtered, if filtering takes the newest node of a cycle
//    (cycle.h).
//
// The state is in columns that can be rolled back and forward (state.h). EGraph has the operations
// that rely on the invariants; operations that its methods can express are functions below it.
#pragma once

#include "compiler/egraph/memos.h"
#include "compiler/egraph/state.h"

#include <memory>
#include <string>

namespace tg {

struct EGraphRoot {
  std::string name;
  ClassId id; // as given; canonical: find
};

class EGraph {
public:
  explicit EGraph(std::shared_ptr<Symbols> symbols);
  EGraph(EGraph&&) = default;
  EGraph& operator=(EGraph&&) = default;
  /// For tests; the search uses checkpoints.
  explicit EGraph(const EGraph&) = default;

  // --- building -----------------------------------------------------------------------------
  /// Attributes in normal form and type of the result, or not ok(): then no such node may exist.
  Typing infer(OpKind op, AttrsId attrs, llvm::ArrayRef<TypeId> types) {
    return infer_(op, attrs, types);
  }
  /// Class of a node that infer() has passed, which is added where it is not there yet.
  ClassId add(OpKind op, Typing typing, llvm::ArrayRef<ClassId> children, Origin origin);
  /// States that the node equals the class: puts it there, or merges. True if that was news.
  /// Requires the type of the class.
  bool add_equal(ClassId target, OpKind op, Typing typing, llvm::ArrayRef<ClassId> children,
                 Origin origin);
  /// Returns the node with these children, or an invalid id. Requires normalised attributes.
  ENodeId lookup(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) const;
  /// States that two classes are equal. Returns true if the e-graph changed, and false also for
  /// classes of different types, which are not merged.
  bool merge(ClassId a, ClassId b, Origin why);
  /// Restores the invariants after merges.
  void rebuild();
  bool clean() const { return pending_.empty() && flag_queue_.empty(); }
  void add_root(std::string name, ClassId id) { roots_.push_back({std::move(name), id}); }
  /// Excludes a node from matching and extraction, until it is rolled back.
  void filter(ENodeId node);

  // --- reading ------------------------------------------------------------------------------
  const std::shared_ptr<Symbols>& shared_symbols() const { return symbols_; }
  Symbols& symbols() const { return *symbols_; }
  /// Ids are below these; not all of them are canonical or live.
  uint32_t class_bound() const { return static_cast<uint32_t>(state_.classes.size()); }
  uint32_t node_bound() const { return static_cast<uint32_t>(state_.nodes.size()); }
  /// How many are live.
  const Counters& counters() const { return state_.counters; }

  /// The canonical name of a class.
  ClassId find(ClassId id) const {
    while (!(state_.leaders[id.index] == id)) id = state_.leaders[id.index];
    return id;
  }
  const ENode& node(ENodeId id) const { return state_.nodes[id.index]; }
  llvm::ArrayRef<ClassId> children(ENodeId id) const { return state_.children(node(id)); }
  /// The class at one edge; edges of a node are node.first .. node.first + node.arity.
  ClassId edge_child(uint32_t edge) const { return state_.edge_child[edge]; }
  const EClass& eclass(ClassId canonical) const { return state_.classes[canonical.index]; }
  /// Live members of a canonical class, oldest class first; filtered ones included.
  struct NodeRange;
  NodeRange nodes(ClassId canonical) const;
  /// All nodes with an operator, in the order of their making; dead ones too.
  llvm::ArrayRef<ENodeId> with_op(OpKind op) const { return state_.by_op[static_cast<size_t>(op)]; }
  /// Calls `visit(ENodeId)` for each live user of a canonical class, once for each operand
  /// position.
  template <class Visit> void for_users(ClassId canonical, Visit visit) const {
    const EClass& c = eclass(canonical);
    uint32_t edge = c.first_edge;
    for (uint32_t i = 0; i < c.edge_count; ++i, edge = state_.edge_next[edge])
      if (ENodeId user = state_.edge_owner[edge]; node(user).alive()) visit(user);
  }
  const std::vector<EGraphRoot>& roots() const { return roots_; }
  const std::vector<Union>& unions() const { return state_.unions; }

  // --- what changed -------------------------------------------------------------------------
  /// Length of the change log. A node whose stamp is at least an earlier length has since been
  /// made, renamed, moved to another class, or has an operand whose flags changed. Every new match
  /// of a pattern contains such a node.
  uint32_t change_mark() const { return static_cast<uint32_t>(state_.changes.size()); }
  llvm::ArrayRef<ENodeId> changes_since(uint32_t mark) const {
    return llvm::ArrayRef<ENodeId>(state_.changes).drop_front(mark);
  }
  /// The mark up to which a rule's matches were searched; part of the state.
  uint32_t rule_seen(RuleId rule) const {
    return rule < state_.rule_seen.size() ? state_.rule_seen[rule] : 0;
  }
  void set_rule_seen(RuleId rule, uint32_t mark);

  // --- why ----------------------------------------------------------------------------------
  /// Starts recording the data for explanations (explain.h): each application that changed the
  /// e-graph with its bindings, and the original operands of nodes. The history is part of the
  /// state, so it is rolled back and redone with it. Requires that there were no merges yet.
  void record_history();
  bool recording() const { return state_.recording; }
  /// Notes an application: the rule and what it bound. Requires recording().
  void note_application(RuleId rule, llvm::ArrayRef<uint32_t> words);
  /// Applications in their order, one row each: rule | length << 16, and so many words. Class and
  /// value variables under the rule's numbering; of native rules see fuse.h.
  llvm::ArrayRef<uint32_t> history() const { return state_.history; }
  /// The children of a node when it was made. Requires recording().
  llvm::ArrayRef<ClassId> born_children(ENodeId id) const {
    return llvm::ArrayRef(state_.edge_born).slice(node(id).first, node(id).arity);
  }

  // --- rollback -----------------------------------------------------------------------------
  /// Requires clean(). Nothing is logged while there is no checkpoint.
  Checkpoint checkpoint();
  /// Returns to the state of the checkpoint, which remains. Later checkpoints are dropped.
  void rollback(Checkpoint to);
  /// The same, and returns the change that was undone.
  Delta take_back(Checkpoint to);
  /// Does a change again. False, and nothing happens, unless this is the state that it came from.
  [[nodiscard]] bool redo(const Delta& delta) { return clean() && state_.redo(delta); }
  /// Forgets the checkpoint and later ones, keeps the state.
  void release(Checkpoint c) { state_.release(c); }

  /// Names a state: equal for two equal histories of checkpoints, rollbacks and redos.
  uint64_t version() const { return state_.version(); }

  /// Room for that many nodes without moving; costs address space, not memory.
  void reserve(size_t nodes) { state_.reserve(nodes); }
  size_t memory_bytes() const { return state_.memory_bytes() + infer_.memory_bytes(); }

  // --- replicas -----------------------------------------------------------------------------
  /// Returns a copy of this state for another thread, with its own symbols and the same node and
  /// class numbers, but without history and checkpoints. Requires clean(). `to` maps to the new
  /// symbols.
  EGraph replica(std::shared_ptr<Symbols> symbols, SymbolMap& to) const;
  /// Does a change that was taken back from the e-graph of which this is a replica, as redo() does
  /// there: the words as they were written, nothing is searched. False, and nothing happens, unless
  /// this is the state that it came from.
  [[nodiscard]] bool feed(const Delta& delta, SymbolMap& from) {
    return clean() && state_.feed(delta, from);
  }

private:
  friend bool same_state(const EGraph&, const EGraph&, std::string*);

  ENodeId lookup(uint32_t hash, OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children) const;
  ClassId new_class(TypeId type);
  ENodeId new_node(ClassId home, OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children,
                   Origin origin);
  uint32_t flags_of(ENodeId node) const;
  void raise_flags(ClassId id, uint32_t flags);
  void repair(ENodeId node);
  void drain_flags();
  void kill(ENodeId node);

  std::shared_ptr<Symbols> symbols_;
  InferMemo infer_;
  EGraphState state_;
  std::vector<EGraphRoot> roots_;
  // Work of rebuild(); empty when clean.
  std::vector<ENodeId> pending_;
  std::vector<ClassId> flag_queue_;
};

struct EGraph::NodeRange {
  class Iterator {
  public:
    Iterator(const EGraph& egraph, uint32_t node, uint32_t left)
        : egraph_(&egraph), node_(node), left_(left) {}
    ENodeId operator*() const { return {node_}; }
    Iterator& operator++() {
      node_ = egraph_->node({node_}).next;
      --left_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }

  private:
    const EGraph* egraph_;
    uint32_t node_, left_;
  };
  Iterator first, last;
  Iterator begin() const { return first; }
  Iterator end() const { return last; }
};

inline EGraph::NodeRange EGraph::nodes(ClassId canonical) const {
  const EClass& c = eclass(canonical);
  return {{*this, c.first_node, c.node_count}, {*this, c.first_node, 0}};
}

/// The nodes that the graph's outputs need; one root for each output, in their order.
EGraph egraph_of(const Graph& graph);

/// EGraph::infer over the types of classes.
Typing type_of(EGraph& egraph, OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children);
/// Class of the node, which is added where it is not there yet. Invalid if it is ill-typed.
ClassId add_node(EGraph& egraph, OpKind op, llvm::ArrayRef<ValueId> attrs,
                 llvm::ArrayRef<ClassId> children, Origin origin = {});

inline bool canonical(const EGraph& egraph, ClassId id) { return egraph.find(id) == id; }
inline ClassId class_of(const EGraph& egraph, ENodeId id) {
  return egraph.find(egraph.node(id).home);
}
/// The class by any of its names.
inline const EClass& class_at(const EGraph& egraph, ClassId id) {
  return egraph.eclass(egraph.find(id));
}
inline size_t class_count(const EGraph& egraph) { return egraph.counters().live_classes; }
/// Live nodes, filtered ones included.
inline size_t node_count(const EGraph& egraph) { return egraph.counters().live_nodes; }
inline size_t filtered_count(const EGraph& egraph) { return egraph.counters().filtered_nodes; }
/// Returns true if the node is not an input and all its operands are weight-only.
bool is_weight_only(const EGraph& egraph, ENodeId id);

/// Checks the invariants of this file. Returns "" or a description of the first violation. Requires
/// clean().
std::string verify(const EGraph& egraph);

/// Returns true if two e-graphs are in the same state, number by number; else `why` names a
/// difference.
bool same_state(const EGraph& a, const EGraph& b, std::string* why = nullptr);

/// Returns text for tests and logs: a line for each class with its type and members.
std::string dump(const EGraph& egraph);

} // namespace tg
