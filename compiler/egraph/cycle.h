// Keeps the e-graph, seen through its unfiltered nodes, free of cycles, so that extraction needs no
// cycle constraints (TENSAT, MLSys 2021, section 5.2).
//
// Merges can close cycles. break_cycles() finds the strongly connected components and, in each,
// takes the nodes from old to young and filters a node if it closes a cycle with those kept. So
// what is filtered is always the youngest node of a cycle, as published, and nothing more than
// needed in this order. Consequence: the oldest live node of a class is never filtered. (Let n be
// the youngest node of a cycle, m the one on the cycle that has n's class as a child; if m = n or m
// is older than n, then when m was made its child had a member older than m, which, or an older
// equal one, is in n's class now.) As the unfiltered nodes form no cycle and no class is without
// one, every class can be extracted.
//
// descends() and reaches() are the filter before an application: would it close a cycle over the
// matched classes? The efficient form asks the descendants as they were at the last break_cycles():
// by topological order in most cases; else in a bit set for each class, made when first asked, as
// long as they stay small, and by a search pruned by the order beyond that, with answers
// remembered. What changed since may slip through and is caught by the next break_cycles(). The
// vanilla form searches the present e-graph, all of it, each time.
#pragma once

#include "compiler/egraph/egraph.h"

namespace tg {

enum class CycleFilter : uint8_t { Efficient, Vanilla, None };

class Cycles {
public:
  explicit Cycles(EGraph& egraph) : egraph_(egraph) {}
  /// Filters nodes until no cycle is left; notes the topological order. Returns how many. Requires
  /// a rebuilt e-graph.
  size_t break_cycles();
  /// Whether `target` was at or below `from` at the last break_cycles(), through unfiltered nodes.
  /// Classes made since are below nothing and above nothing.
  bool descends(ClassId from, ClassId target);
  /// Whether it is now.
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
  // By class; place_ is the topological order, children before users. kUnplaced: made since.
  static constexpr uint32_t kUnplaced = UINT32_MAX;
  std::vector<uint32_t> index_, low_, finish_, place_;
  std::vector<bool> self_loop_;
  std::vector<Visit> visits_;
  std::vector<uint32_t> open_; // Tarjan's stack
  uint32_t next_index_ = 0, next_place_ = 0, next_finish_ = 0;
  size_t filtered_ = 0;
  uint32_t snapshot_nodes_ = 0; // nodes from here on were made after the last break_cycles()
  // descends(): bit t of row f is set if the class at place t is below that at place f.
  static constexpr size_t kMaxBits = size_t{1} << 26; // 8 MiB
  std::vector<uint64_t> descendants_;
  size_t row_words_ = 0;
  struct Answer {
    uint32_t from = kUnplaced, target = kUnplaced;
    bool yes = false;
  };
  static constexpr size_t kAnswers = size_t{1} << 14; // remembered, by a hash of the question
  std::vector<Answer> answers_;
  std::vector<uint32_t> seen_, worklist_; // of search()
  uint32_t generation_ = 0;
};

/// Whether the unfiltered nodes form no cycle: a plain check for tests and TG_VERIFY.
bool acyclic(const EGraph& egraph);

} // namespace tg
