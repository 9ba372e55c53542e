// Maintains the best known choice of nodes for the current state of a growing e-graph. Its cost
// counts each distinct node once, so shared work is free. The choice is updated from state to state
// instead of being extracted anew.
//
// update() starts from the choice of the previous state and applies three kinds of moves until none
// helps:
//
//   switch   a class takes another of its nodes
//   open     an unused class is opened, and all classes that could use it and gain from it switch
//            together (one joined matmul instead of four)
//   close    a class is closed, and all its users switch to nodes that do not need it (a chain of
//            products with weights)
//
// A move is evaluated by making it, with reference counts: classes without users are dropped, and
// classes that come into use take the node of least marginal cost, where classes already in use are
// free. This is the local search of extract/sharing.cpp on a data structure whose work is
// proportional to the changes.
//
// Invariant: the e-graph is rebuilt and free of cycles. Then every choice is acyclic, and no move
// needs a check.
#pragma once

#include "compiler/search/node_prices.h"

namespace tg {

class Incumbent {
public:
  Incumbent(const EGraph& egraph, PriceCache& prices) : egraph_(egraph), prices_(egraph, prices) {}

  /// The data needed to restore the incumbent of a state.
  struct State {
    std::vector<ENodeId> choice; // by class number; invalid: no choice
    double cost = kInfiniteCost;
  };

  /// Updates the choice to the current e-graph. Returns the cost: microseconds of the distinct
  /// nodes, or infinity if a root has no form with a finite price.
  double update();
  double cost() const { return state_.cost; }
  const State& save() const { return state_; }
  void restore(const State& state) { state_ = state; }
  NodePrices& prices() { return prices_; }

  /// Returns the chosen nodes, children first, as `graph_of` expects them. Requires update() since
  /// the last change and a finite cost.
  std::vector<ENodeId> used_nodes() const;
  size_t memory_bytes() const;

private:
  struct Row {
    double marginal = 0;  // cost of bringing the class into use
    double exclusive = 0; // cost saved by dropping it: its price, and that of classes only it uses
    double load = 0;      // work at load; ties go to less work
    ENodeId pick;         // node of least marginal cost
    uint32_t uses = 0;
  };
  struct Switch {
    ClassId cls;
    ENodeId before; // before the switch the new node, after it the old one
  };

  void carry_over();
  void note_known_uses();
  void value_classes();
  void value(ClassId cls);
  void count_uses();
  void value_exclusive();
  bool switch_nodes();
  bool open_classes();
  bool try_open(ClassId cls);
  bool close_classes();
  bool try_close(ClassId cls);
  ENodeId best_without(ClassId user, ClassId cls, double& delta) const;
  bool switch_all(double before);
  bool worth_trying(ClassId cls, ENodeId node) const;
  double estimate(ClassId cls, ENodeId node) const;
  void use(ClassId cls);
  void drop(ClassId cls);
  void change(ClassId cls, ENodeId node, bool back = false);
  double price(ENodeId node) { return prices_.price(node); }
  ENodeId& chosen(ClassId cls) { return state_.choice[cls.index]; }

  const EGraph& egraph_;
  NodePrices prices_;
  ClassOrder order_;
  const std::vector<ClassId>* classes_ = nullptr; // owned by order_
  std::vector<Row> rows_;                         // by class
  State state_;
  double total_ = 0;
  std::vector<ClassId> worklist_;
  std::vector<Switch> switches_;
};

} // namespace tg
