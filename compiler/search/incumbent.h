// The best choice of nodes that a search knows for the e-graph as it is: the value of an e-graph
// while it grows, priced by its distinct nodes (shared work once), and kept up from state to state
// instead of extracted anew.
//
// The choice is that of the state before, improved by three kinds of moves until none helps: a
// class takes another of its nodes; a class that nobody uses is opened, and all classes that could
// use it and gain by it change over together (one joined matmul instead of four); or a class is
// closed, and all its users make do without it (a chain of products with weights). What a move is
// worth is found by making it, with reference counts: classes that nobody uses any more are given
// up, and classes that come into use take the node of least marginal cost, where what is used
// already is free. It is the local search of extract/sharing.cpp on a data structure that pays for
// changes only.
//
// The e-graph must be rebuilt and free of cycles: then every choice is, and no move needs a check.
#pragma once

#include "compiler/search/node_prices.h"

namespace tg {

class Incumbent {
public:
  Incumbent(const EGraph& egraph, PriceCache& prices) : egraph_(egraph), prices_(egraph, prices) {}

  /// What a state needs to come back.
  struct State {
    std::vector<ENodeId> choice; // by class as numbered in the e-graph; invalid: no choice
    double cost = kInfiniteCost;
  };

  /// Brings the choice up to the e-graph as it is now. The cost: microseconds of the distinct
  /// nodes; infinite if a root has no form with a finite price.
  double update();
  double cost() const { return state_.cost; }
  const State& save() const { return state_; }
  void restore(const State& state) { state_ = state; }
  NodePrices& prices() { return prices_; }

  /// The nodes chosen, children first: `graph_of` makes a graph of them. Requires update() since
  /// the last change, and a finite cost.
  std::vector<ENodeId> used_nodes() const;
  size_t memory_bytes() const;

private:
  struct Row {
    double marginal = 0;  // of bringing the class into use
    double exclusive = 0; // given up with the class: its price, and what only it uses
    double load = 0;      // work at load; ties go to less
    ENodeId pick;         // of least marginal cost
    uint32_t uses = 0;
  };
  struct Switch {
    ClassId cls;
    ENodeId before; // first the node to take, then the one that was there
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
  const std::vector<ClassId>* classes_ = nullptr; // of order_
  std::vector<Row> rows_;                         // by class
  State state_;
  double total_ = 0;
  std::vector<ClassId> worklist_;
  std::vector<Switch> switches_;
};

} // namespace tg
