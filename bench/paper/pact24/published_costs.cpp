#include "bench/paper/pact24/published_costs.h"

#include <algorithm>
#include <cassert>

namespace tg::paper {

namespace {

/// The classes that a class has paid for with the amounts, sorted by class.
using History = std::vector<std::pair<uint32_t, double>>;

const double* find(const History& history, uint32_t cls) {
  auto at = std::lower_bound(history.begin(), history.end(), cls,
                             [](const auto& entry, uint32_t c) { return entry.first < c; });
  return at != history.end() && at->first == cls ? &at->second : nullptr;
}

void insert(History& history, uint32_t cls, double value) {
  auto at = std::lower_bound(history.begin(), history.end(), cls,
                             [](const auto& entry, uint32_t c) { return entry.first < c; });
  if (at == history.end() || at->first != cls) history.insert(at, {cls, value});
}

/// Merges the entries of `from` into `into`. Returns the largest value of an entry that is in both.
double join(History& into, const History& from) {
  double overlap = 0;
  History all;
  all.reserve(into.size() + from.size());
  auto a = into.begin();
  for (const auto& entry : from) {
    while (a != into.end() && a->first < entry.first) all.push_back(*a++);
    if (a != into.end() && a->first == entry.first) {
      overlap = std::max(overlap, entry.second);
      all.push_back(*a++);
    } else {
      all.push_back(entry);
    }
  }
  all.insert(all.end(), a, into.end());
  into = std::move(all);
  return overlap;
}

class Greedy {
public:
  Greedy(const EGraph& egraph, NodePrices& prices, bool shared, const StopToken& stop)
      : egraph_(egraph), prices_(prices), shared_(shared), stop_(stop),
        rows_(egraph.class_bound()) {}

  PublishedCost run() {
    prices_.announce();
    const std::vector<ClassId>& order = order_.compute(egraph_);
    PublishedCost out{kInfiniteCost, {}};
    if (shared_) count_readers(order);
    for (ClassId cls : order) {
      if (stop_.asked()) return out;
      value(cls);
      if (shared_) release_read_histories(cls);
    }
    llvm::SmallVector<ClassId, 8> roots;
    for (const EGraphRoot& root : egraph_.roots()) roots.push_back(egraph_.find(root.id));
    History history;
    out.cost_us = pay(roots, history);
    if (out.cost_us != kInfiniteCost) out.nodes = walk(order, roots);
    return out;
  }

private:
  struct Row {
    double cost = kInfiniteCost, load = kInfiniteCost;
    ENodeId pick;
    History history;
    uint32_t readers = 0; // pending reads of `history`
  };

  template <typename Each> void each_child(ClassId cls, Each each) {
    for (ENodeId node : egraph_.nodes(cls))
      if (usable(egraph_, node))
        for (ClassId child : egraph_.children(node)) each(rows_[egraph_.find(child).index]);
  }

  /// Counts the readers of each history, so that it can be freed after the last. In a chain each
  /// history contains all earlier ones, so keeping all of them would need quadratic memory.
  void count_readers(const std::vector<ClassId>& order) {
    for (ClassId cls : order) each_child(cls, [](Row& row) { ++row.readers; });
    for (const EGraphRoot& root : egraph_.roots()) ++rows_[egraph_.find(root.id).index].readers;
  }
  void release_read_histories(ClassId cls) {
    each_child(cls, [](Row& row) {
      if (--row.readers == 0) History().swap(row.history);
    });
  }

  void value(ClassId cls) {
    Row& row = rows_[cls.index];
    bool load = class_at(egraph_, cls).weight_only();
    History history;
    for (ENodeId node : egraph_.nodes(cls)) {
      if (!usable(egraph_, node) || (load && !is_weight_only(egraph_, node))) continue;
      llvm::SmallVector<ClassId, 6> children;
      double work = op_info(egraph_.node(node).op).has(Trait::Leaf) ? 0 : 1;
      for (ClassId child : egraph_.children(node)) {
        children.push_back(egraph_.find(child));
        if (load) work = add_costs(work, rows_[children.back().index].load);
      }
      history.clear();
      double cost = load ? 0 : add_costs(prices_.price(node), pay(children, history));
      if (row.pick.valid() && !(load ? work < row.load : cost < row.cost)) continue;
      row.cost = cost, row.pick = node;
      if (load) row.load = work;
      std::swap(row.history, history);
    }
  }

  /// Returns the joint cost of the operands, and sets `history` to that of their user.
  double pay(llvm::ArrayRef<ClassId> children, History& history) {
    double sum = 0;
    for (ClassId child : children) {
      const Row& row = rows_[child.index];
      double paid = row.cost;
      if (shared_) {
        if (find(history, child.index))
          paid = 0;
        else if (history.empty())
          history = row.history;
        else if (!row.history.empty())
          paid = std::max(row.cost - join(history, row.history), 0.0);
        if (paid > 0) insert(history, child.index, paid);
      }
      sum = add_costs(sum, paid);
    }
    return sum;
  }

  std::vector<ENodeId> walk(const std::vector<ClassId>& order, llvm::ArrayRef<ClassId> roots) {
    std::vector<bool> used(rows_.size());
    for (ClassId root : roots) used[root.index] = true;
    std::vector<ENodeId> nodes;
    for (size_t i = order.size(); i-- > 0;) {
      if (!used[order[i].index]) continue;
      nodes.push_back(rows_[order[i].index].pick);
      for (ClassId child : egraph_.children(nodes.back())) used[egraph_.find(child).index] = true;
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  const EGraph& egraph_;
  NodePrices& prices_;
  bool shared_;
  StopToken stop_;
  ClassOrder order_;
  std::vector<Row> rows_;
};

} // namespace

PublishedCost default_greedy(const EGraph& egraph, NodePrices& prices, const StopToken& stop) {
  return Greedy(egraph, prices, false, stop).run();
}

PublishedCost shared_greedy(const EGraph& egraph, NodePrices& prices, const StopToken& stop) {
  return Greedy(egraph, prices, true, stop).run();
}

} // namespace tg::paper
