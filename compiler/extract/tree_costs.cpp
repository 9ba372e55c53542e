#include "compiler/extract/tree_costs.h"

#include <cassert>

namespace tg {

void TreeCosts::set(uint32_t cls, double cost, ENodeId choice) {
  if (!marks_.empty()) undo_.push_back({cls, choice_[cls], cost_[cls]});
  cost_[cls] = cost;
  choice_[cls] = choice;
}

double TreeCosts::price_with_children(const EGraph& egraph, ENodeId node, Price price) const {
  if (!egraph.alive(node) || egraph.filtered(node)) return kInfiniteCost;
  double sum = price(node);
  for (ClassId child : egraph.children(node)) sum = add_costs(sum, cost_[egraph.find(child).index]);
  return sum;
}

void TreeCosts::update(const EGraph& egraph, Price price) {
  assert(egraph.clean() && "costs of canonical classes");
  cost_.resize(egraph.class_bound(), kInfiniteCost);
  choice_.resize(egraph.class_bound());
  queued_.resize(egraph.node_bound());
  collect_changes(egraph, price);
  drain(egraph, price);
}

/// Choices that do not hold any more first: what depends on them must not feed the worklist.
void TreeCosts::collect_changes(const EGraph& egraph, Price price) {
  llvm::ArrayRef<ENodeId> changed = egraph.changes_since(changes_);
  changes_ = egraph.change_mark();
  bool merged = unions_ < egraph.unions().size();
  // A merge can close a circle of choices, and where prices are 0 no sum shows it.
  for (; unions_ < egraph.unions().size(); ++unions_)
    invalidate(egraph, egraph.find(egraph.unions()[unions_].kept));
  for (ENodeId node : changed) check_choice_of(egraph, egraph.class_of(node), price);
  // Neither filtering nor the end of a node that has become another's double is logged: one look at
  // every choice, where there can have been such.
  if (merged || filtered_ != egraph.filtered_count())
    for (uint32_t c = 0; c < choice_.size(); ++c)
      if (choice_[c].valid() && !(egraph.alive(choice_[c]) && !egraph.filtered(choice_[c])) &&
          egraph.canonical({c}))
        invalidate(egraph, {c});
  filtered_ = egraph.filtered_count();
  for (ENodeId node : changed) {
    push(node);
    // A merge moves nodes; the users of what was absorbed now see another class.
    egraph.for_users(egraph.class_of(node), [&](ENodeId user) { push(user); });
  }
}

void TreeCosts::check_choice_of(const EGraph& egraph, ClassId cls, Price price) {
  ENodeId choice = choice_[cls.index];
  if (!choice.valid()) return;
  bool holds = egraph.class_of(choice) == cls &&
               price_with_children(egraph, choice, price) <= cost_[cls.index];
  if (!holds) invalidate(egraph, cls);
}

/// The class and all whose choices depend on it: no cost, and all their nodes to be looked at.
void TreeCosts::invalidate(const EGraph& egraph, ClassId cls) {
  std::vector<ClassId> stack = {cls};
  while (!stack.empty()) {
    ClassId at = stack.back();
    stack.pop_back();
    push_members(egraph, at);
    if (!choice_[at.index].valid()) continue;
    set(at.index, kInfiniteCost, ENodeId{});
    egraph.for_users(at, [&](ENodeId user) {
      ClassId above = egraph.class_of(user);
      if (choice_[above.index] == user) stack.push_back(above);
    });
  }
}

void TreeCosts::push(ENodeId node) {
  if (queued_[node.index]) return;
  queued_[node.index] = true;
  work_.push_back(node);
}

void TreeCosts::push_members(const EGraph& egraph, ClassId cls) {
  for (ENodeId node : egraph.nodes(cls)) push(node);
}

/// First in, first out; a node comes again whenever one of its children has become cheaper.
void TreeCosts::drain(const EGraph& egraph, Price price) {
  for (size_t i = 0; i < work_.size(); ++i) {
    ENodeId node = work_[i];
    queued_[node.index] = false;
    double cost = price_with_children(egraph, node, price);
    ClassId cls = egraph.class_of(node);
    if (!(cost < cost_[cls.index])) continue;
    set(cls.index, cost, node);
    egraph.for_users(cls, [&](ENodeId user) { push(user); });
  }
  work_.clear();
}

double TreeCosts::cost_of_roots(const EGraph& egraph) const {
  double sum = 0;
  for (const EGraphRoot& root : egraph.roots()) sum = add_costs(sum, cost(egraph.find(root.id)));
  return sum;
}

void TreeCosts::checkpoint() {
  marks_.push_back({undo_.size(), cost_.size(), filtered_, unions_, changes_});
}

void TreeCosts::rollback() {
  assert(!marks_.empty());
  Mark mark = marks_.back();
  for (; undo_.size() > mark.undo; undo_.pop_back()) {
    const Undo& last = undo_.back();
    cost_[last.cls] = last.cost;
    choice_[last.cls] = last.choice;
  }
  cost_.resize(mark.classes);
  choice_.resize(mark.classes);
  filtered_ = mark.filtered;
  unions_ = mark.unions;
  changes_ = mark.changes;
}

void TreeCosts::release() {
  assert(!marks_.empty());
  marks_.pop_back();
  if (marks_.empty()) undo_.clear();
}

} // namespace tg
