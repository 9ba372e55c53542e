// Tree costs of all classes of an e-graph, kept up to date while it changes: after rules have been
// applied, nodes filtered or classes merged only what depends on the change is computed again, and
// after a rollback nothing is. What a search asks thousands of times ("what is this state worth?")
// then costs what the step has changed.
//
// Algorithm: greedy's worklist (greedy.h), started from the e-graph's change log. A choice that is
// gone or has become dearer takes every class with it whose choice depends on it, along the chosen
// nodes only; those start from infinity again (Ramalingam and Reps 1996).
//
// Invariant after update(): the cost of a class is that of its choice, the least over its living,
// unfiltered nodes, as a computation from nothing would find it; infinite where only cycles are.
#pragma once

#include "compiler/egraph/egraph.h"
#include "compiler/extract/problem.h"

namespace tg {

class TreeCosts {
public:
  /// Own price of a node, >= 0, infinite if it cannot be chosen. It may change only for nodes that
  /// the change log names.
  using Price = llvm::function_ref<double(ENodeId)>;

  /// Brings everything up to the state of the e-graph, which must be clean() and the same, or a
  /// later state of the same history, as at the last update or rollback.
  void update(const EGraph& egraph, Price price);

  /// Of a canonical class.
  double cost(ClassId cls) const { return cost_[cls.index]; }
  ENodeId choice(ClassId cls) const { return choice_[cls.index]; }
  /// Sum over the roots; each counts, also if it is given twice.
  double cost_of_roots(const EGraph& egraph) const;

  /// States to come back to, beside those of the e-graph and in the same order.
  void checkpoint();
  void rollback(); // to the last checkpoint, which stays
  void release();  // forgets the last checkpoint, keeps the state

private:
  struct Undo {
    uint32_t cls;
    ENodeId choice;
    double cost;
  };
  struct Mark {
    size_t undo, classes, filtered, unions;
    uint32_t changes;
  };

  void set(uint32_t cls, double cost, ENodeId choice);
  double price_with_children(const EGraph& egraph, ENodeId node, Price price) const;
  void collect_changes(const EGraph& egraph, Price price);
  void check_choice_of(const EGraph& egraph, ClassId cls, Price price);
  void invalidate(const EGraph& egraph, ClassId cls);
  void push(ENodeId node);
  void push_members(const EGraph& egraph, ClassId cls);
  void drain(const EGraph& egraph, Price price);

  std::vector<double> cost_; // by class id; of canonical classes
  std::vector<ENodeId> choice_;
  std::vector<Undo> undo_;
  std::vector<Mark> marks_;
  uint32_t changes_ = 0; // of the log, seen so far
  size_t filtered_ = 0;  // nodes, seen so far
  size_t unions_ = 0;    // the same
  std::vector<ENodeId> work_;
  std::vector<bool> queued_; // by node
};

} // namespace tg
