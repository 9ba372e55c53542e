// The state of an e-graph: columns that grow, and words in them that are overwritten. A change
// since a checkpoint can be undone and redone (trail.h). The invariants of the columns are stated
// in egraph.h; only its class changes them.
//
// Bytes for a node: 40 and 12 for each operand, about 12 in the hash table, 4 in the operator
// index, 4 in the change log; for a class 28.
#pragma once

#include "compiler/egraph/hashcons.h"
#include "compiler/egraph/symbol_map.h"
#include "compiler/egraph/trail.h"
#include "compiler/ir/graph.h"

#include <array>
#include <vector>

namespace tg {

struct ENode {
  AttrsId attrs;
  uint32_t first = 0; // operand edges: first .. first + arity
  uint32_t arity = 0;
  ClassId home;   // the class it was put into; canonical name: class_of
  ENodeId origin; // root of the match that made it
  OpKind op{};
  RuleId rule = kSourceRule;
  // Overwritten, hence logged on the trail:
  uint32_t state = 0;          // Dead | Filtered
  uint32_t stamp = 0;          // place of its latest change in the change log
  uint32_t next = 0, prev = 0; // ring of the class's live members
  enum : uint32_t { Dead = 1, Filtered = 2 };
  bool alive() const { return !(state & Dead); }
  bool filtered() const { return state & Filtered; }
};

struct EClass {
  uint32_t first_node = 0, node_count = 0; // ring of live members
  uint32_t first_edge = 0, edge_count = 0; // ring of operand edges that point here, dead ones too
  uint32_t flags = 0;
  TypeId type;
  enum : uint32_t { WeightOnly = 1, HasConstant = 2 };
  bool weight_only() const { return flags & WeightOnly; }
  bool has_constant() const { return flags & HasConstant; }
};

/// `kept` and `absorbed` became one class because the nodes `a` and `b` are equal.
struct Union {
  ClassId kept, absorbed;
  Origin why;
};

/// A state to come back to; states nest like brackets.
struct Checkpoint {
  uint32_t depth = 0;
};

/// A change that was rolled back, to be done again from the same state without searching.
struct Delta {
  uint64_t base = 0, result = 0; // EGraphState::version before and after
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

/// Hash of a node; the children as they are given.
uint32_t hash_of(OpKind op, AttrsId attrs, llvm::ArrayRef<ClassId> children);

class EGraphState {
public:
  std::vector<ENode> nodes;
  // Edges: operand positions of nodes, one node after the other.
  std::vector<ClassId> edge_child;
  std::vector<uint32_t> edge_next; // ring of the edges that point to one class
  std::vector<ENodeId> edge_owner;
  std::vector<EClass> classes;
  std::vector<ClassId> leaders; // union-find, by weight, paths not compressed
  std::vector<ENodeId> changes;
  std::vector<Union> unions;
  std::vector<uint32_t> rule_seen;
  // Empty unless `recording`.
  std::vector<ClassId> edge_born; // by edge
  std::vector<uint32_t> history;
  bool recording = false;
  std::array<std::vector<ENodeId>, kOpCount> by_op;
  Hashcons table;
  Counters counters;

  llvm::ArrayRef<ClassId> children(const ENode& node) const {
    return {edge_child.data() + node.first, node.arity};
  }

  /// Overwrites a word, which is logged.
  void set(Word which, uint32_t index, uint32_t& slot, uint32_t value) {
    trail_.log(which, index, slot);
    slot = value;
  }
  /// Gives the state another version. Every change needs that once.
  void mutated() { version_ = ++last_version_; }
  /// The node has changed: notes it in the change log.
  void touch(ENodeId node);
  void insert_hash(uint32_t hash, ENodeId node);

  // Rings of a class: its live members, and the edges that point to it.
  void link_member(ClassId home, ENodeId node);
  void unlink_member(ClassId home, ENodeId node);
  void link_edge(ClassId child, uint32_t edge);
  /// Joins the rings of two classes: four words for members, two for edges.
  void splice(ClassId kept, ClassId absorbed);

  // As EGraph has them.
  Checkpoint checkpoint();
  void undo(Checkpoint to, Delta* kept);
  void release(Checkpoint c);
  [[nodiscard]] bool redo(const Delta& delta);
  [[nodiscard]] bool feed(const Delta& delta, SymbolMap& from);
  /// Without history and checkpoints, over the symbols that `to` leads to.
  EGraphState replica(SymbolMap& to) const;

  uint64_t version() const { return version_; }
  void reserve(size_t count);
  size_t memory_bytes() const;

private:
  void grow_table();
  Sizes sizes() const;
  uint32_t& word(Word which, uint32_t index);
  void truncate(const Sizes& to, Delta* kept);
  /// All of a change but history and hash table.
  void replay(const Delta& delta);

  Trail trail_;
  uint64_t version_ = 0, last_version_ = 0; // equal for equal histories of changes
};

} // namespace tg
