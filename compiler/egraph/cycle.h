// Keeps the unfiltered nodes of an e-graph free of cycles, so that extraction needs no cycle
// constraints (TENSAT, MLSys 2021, section 5.2).
//
// Merges can close cycles. break_cycles() finds the strongly connected components. In each it
// visits the nodes from old to young, and filters a node if it closes a cycle with the nodes kept.
// So a filtered node is always the youngest of a cycle, as published, and no more nodes are
// filtered than this order requires.
//
// Invariant: the oldest live node of a class is never filtered. Proof: let n be the youngest node
// of a cycle, and m the node on the cycle that has n's class as a child. If m = n or m is older
// than n, then m's child had a member older than m when m was made. That member, or an older equal
// one, is in n's class now. Consequence: the unfiltered nodes are acyclic and every class has one,
// so every class can be extracted.
//
// descends() and reaches() are the filter before an application: they test whether it would close a
// cycle through the matched classes. The efficient form, descends(), uses the descendants at the
// last break_cycles(). Most queries are answered by the topological order. The others use a bit set
// for each class, built on first use while these are small; beyond that, a search pruned by the
// order, with memoised answers. Later changes may be missed; the next break_cycles() catches them.
// The vanilla form, reaches(), searches the whole current e-graph each time.
#pragma once

#include "compiler/egraph/egraph.h"

namespace tg {

enum class CycleFilter : uint8_t { Efficient, Vanilla, None };

class Cycles {
public:
  explicit Cycles(EGraph& egraph) : egraph_(egraph) {}
  /// Filters nodes until no cycle is left, records the topological order and returns the number of
  /// filtered nodes. Requires a rebuilt e-graph.
  size_t break_cycles();
  /// Returns true if `target` was at or below `from` through unfiltered nodes at the last
  /// break_cycles(). Newer classes are unrelated to all others.
  bool descends(ClassId from, ClassId target);
  /// Returns true if `target` is at or below `from` in the current e-graph.
  bool reaches(ClassId from, ClassId target);
  size_t memory_bytes() const;

private:
  struct Visit {
    uint32_t id, node, nodes_left, edge, edges_left;
  };
  void explore(uint32_t root);
  void enter(uint32_t id);
  bool step(Visit& v);
  void leave(uint32_t id);
  void sort_by_finish(size_t first);
  void collect_descendants();
  bool search(ClassId from, ClassId target, uint32_t floor, uint32_t node_bound);
  uint32_t place(ClassId id) const {
    return id.index < place_.size() ? place_[id.index] : kUnplaced;
  }
  void break_component(llvm::ArrayRef<uint32_t> component, uint32_t first_place);

  EGraph& egraph_;
  // By class; place_ is the topological order, children before users. kUnplaced: made later.
  static constexpr uint32_t kUnplaced = UINT32_MAX;
  std::vector<uint32_t> index_, low_, finish_, place_;
  std::vector<bool> self_loop_;
  std::vector<Visit> visits_;
  std::vector<uint32_t> open_; // Tarjan's stack
  uint32_t next_index_ = 0, next_place_ = 0, next_finish_ = 0;
  size_t filtered_ = 0;
  uint32_t snapshot_nodes_ = 0; // nodes from here on are newer than the last break_cycles()
  // descends(): bit t of row f is set if the class at place t is below that at place f.
  static constexpr size_t kMaxBits = size_t{1} << 26; // 8 MiB
  std::vector<uint64_t> descendants_;
  size_t row_words_ = 0;
  struct Answer {
    uint32_t from = kUnplaced, target = kUnplaced;
    bool yes = false;
  };
  static constexpr size_t kAnswers = size_t{1} << 14; // memoised, by a hash of the query
  std::vector<Answer> answers_;
  std::vector<uint32_t> seen_, worklist_; // of search()
  uint32_t generation_ = 0;
};

/// Returns true if the unfiltered nodes are acyclic. A simple check for tests and TG_VERIFY.
bool acyclic(const EGraph& egraph);

} // namespace tg
