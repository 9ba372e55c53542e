#include "compiler/search/incumbent.h"

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

/// Breaks ties between equal prices in favour of fewer operators. Far below measurable differences;
/// extract.cpp has the same constant.
constexpr double kOperatorTie = 1e-5;
constexpr int kRounds = 4;

} // namespace

double Incumbent::update() {
  prices_.announce();
  classes_ = &order_.compute(egraph_);
  rows_.resize(egraph_.class_bound());
  carry_over();
  note_known_uses();
  value_classes();
  state_.cost = kInfiniteCost;
  for (const EGraphRoot& root : egraph_.roots()) {
    const Row& row = rows_[egraph_.find(root.id).index];
    if (!row.pick.valid() || row.marginal == kInfiniteCost) return kInfiniteCost;
  }
  count_uses();
  for (int round = 0; round < kRounds; ++round) {
    value_exclusive();
    bool better = switch_nodes();
    if (better) value_exclusive();
    better |= open_classes();
    if (better) value_exclusive();
    better |= close_classes();
    if (!better) break;
    value_classes();
  }
  count_uses(); // recompute the sums to avoid drift
  return state_.cost = total_;
}

/// Moves the choices of merged classes to the canonical class, and clears choices of dead nodes.
void Incumbent::carry_over() {
  state_.choice.resize(egraph_.class_bound());
  for (uint32_t c = 0; c < state_.choice.size(); ++c) {
    ENodeId node = state_.choice[c];
    ClassId cls = egraph_.find({c});
    if (!node.valid()) continue;
    bool sound = node.index < egraph_.node_bound() && usable(egraph_, node) &&
                 class_of(egraph_, node) == cls;
    if (cls.index == c) {
      if (!sound) state_.choice[c] = {};
    } else {
      state_.choice[c] = {};
      if (sound && !state_.choice[cls.index].valid()) state_.choice[cls.index] = node;
    }
  }
}

/// Counts the uses of the carried-over choices. Classes without a choice are skipped.
void Incumbent::note_known_uses() {
  for (Row& row : rows_) row.uses = 0;
  for (const EGraphRoot& root : egraph_.roots()) worklist_.push_back(egraph_.find(root.id));
  while (!worklist_.empty()) {
    ClassId cls = worklist_.back();
    worklist_.pop_back();
    if (!chosen(cls).valid() || rows_[cls.index].uses++ > 0) continue;
    for (ClassId child : egraph_.children(chosen(cls))) worklist_.push_back(egraph_.find(child));
  }
}

// --- values -----------------------------------------------------------------------------------

void Incumbent::value_classes() {
  for (ClassId cls : *classes_) value(cls);
}

/// Picks the node of least marginal cost; classes in use cost nothing. Children must be valued
/// already. A class that is known at load picks, among its nodes known at load, the one of least
/// work.
void Incumbent::value(ClassId cls) {
  Row& row = rows_[cls.index];
  bool load = class_at(egraph_, cls).weight_only();
  row.pick = {};
  row.marginal = row.load = kInfiniteCost;
  for (ENodeId node : egraph_.nodes(cls)) {
    if (!usable(egraph_, node) || (load && !is_weight_only(egraph_, node))) continue;
    double cost = price(node), work = 0;
    bool leaf = op_info(egraph_.node(node).op).has(Trait::Leaf);
    if (!load && !leaf) cost += kOperatorTie;
    for (ClassId child : egraph_.children(node)) {
      child = egraph_.find(child);
      const Row& below = rows_[child.index];
      work = add_costs(work, class_at(egraph_, child).weight_only() ? below.load : 0);
      if (below.uses == 0) cost = add_costs(cost, below.marginal);
    }
    if (load && !leaf) work += 1;
    bool better = load ? work < row.load : cost < row.marginal;
    bool older = (load ? work == row.load : cost == row.marginal) && node.index < row.pick.index;
    if (row.pick.valid() && !better && !older) continue;
    row.pick = node, row.marginal = load ? 0 : cost, row.load = load ? work : 0;
  }
}

/// Counts the users of each class, from the roots down, and sums up the prices.
void Incumbent::count_uses() {
  for (ClassId cls : *classes_) rows_[cls.index].uses = 0;
  total_ = 0;
  for (const EGraphRoot& root : egraph_.roots()) use(egraph_.find(root.id));
}

/// Computes, for each class in use, the cost saved by dropping it if it is the only user of its
/// operands.
void Incumbent::value_exclusive() {
  for (ClassId cls : *classes_) {
    Row& row = rows_[cls.index];
    row.exclusive = 0;
    if (row.uses == 0 || class_at(egraph_, cls).weight_only()) continue;
    row.exclusive = price(chosen(cls));
    for (ClassId child : egraph_.children(chosen(cls))) {
      const Row& below = rows_[egraph_.find(child).index];
      if (below.uses == 1) row.exclusive += below.exclusive;
    }
  }
}

// --- reference counts -------------------------------------------------------------------------

/// Adds a user. A class that comes into use adds uses of its node's operands.
void Incumbent::use(ClassId cls) {
  worklist_.push_back(cls);
  while (!worklist_.empty()) {
    cls = worklist_.back();
    worklist_.pop_back();
    Row& row = rows_[cls.index];
    if (row.uses++ > 0) continue;
    ENodeId& node = chosen(cls);
    if (!node.valid() || class_at(egraph_, cls).weight_only()) node = row.pick;
    assert(node.valid() && "a used class has a node of finite cost");
    total_ += price(node);
    for (ClassId child : egraph_.children(node)) worklist_.push_back(egraph_.find(child));
  }
}

void Incumbent::drop(ClassId cls) {
  worklist_.push_back(cls);
  while (!worklist_.empty()) {
    cls = worklist_.back();
    worklist_.pop_back();
    Row& row = rows_[cls.index];
    assert(row.uses > 0);
    if (--row.uses > 0) continue;
    total_ -= price(chosen(cls));
    for (ClassId child : egraph_.children(chosen(cls))) worklist_.push_back(egraph_.find(child));
  }
}

/// Adds the uses of the new node before dropping those of the old one, so that shared classes are
/// not dropped in between. A class that was out of use may hold an outdated choice, so it takes the
/// cheapest node now, unless `back` restores that choice.
void Incumbent::change(ClassId cls, ENodeId node, bool back) {
  ENodeId before = chosen(cls);
  for (ClassId child : egraph_.children(node)) {
    child = egraph_.find(child);
    const Row& below = rows_[child.index];
    if (below.uses == 0 && !back) chosen(child) = below.pick;
    use(child);
  }
  chosen(cls) = node;
  total_ += price(node) - price(before);
  for (ClassId child : egraph_.children(before)) drop(egraph_.find(child));
}

// --- moves ------------------------------------------------------------------------------------

/// Estimates the change in cost if the class took the node. It is not exact, because the classes
/// that come into use or go out of use may be shared.
double Incumbent::estimate(ClassId cls, ENodeId node) const {
  auto self = const_cast<Incumbent*>(this);
  ENodeId now = state_.choice[cls.index];
  double delta = self->price(node) - self->price(now);
  for (ClassId child : egraph_.children(node)) {
    const Row& below = rows_[egraph_.find(child).index];
    if (below.uses == 0) delta += below.marginal;
  }
  for (ClassId child : egraph_.children(now)) {
    const Row& below = rows_[egraph_.find(child).index];
    if (below.uses == 1) delta -= below.exclusive;
  }
  return delta;
}

bool Incumbent::worth_trying(ClassId cls, ENodeId node) const {
  return !(node == state_.choice[cls.index]) && usable(egraph_, node) && estimate(cls, node) < 0;
}

bool Incumbent::switch_nodes() {
  bool better = false;
  for (size_t i = classes_->size(); i-- > 0;) { // users first
    ClassId cls = (*classes_)[i];
    if (rows_[cls.index].uses == 0 || class_at(egraph_, cls).weight_only()) continue;
    for (ENodeId node : egraph_.nodes(cls)) {
      if (!worth_trying(cls, node)) continue;
      double before = total_;
      ENodeId old = chosen(cls);
      change(cls, node);
      if (total_ < before * (1 - kLeastGain))
        better = true;
      else
        change(cls, old, /*back=*/true);
    }
  }
  return better;
}

bool Incumbent::open_classes() {
  bool better = false;
  for (size_t i = classes_->size(); i-- > 0;) {
    ClassId cls = (*classes_)[i];
    const Row& row = rows_[cls.index];
    if (row.uses > 0 || class_at(egraph_, cls).weight_only() || row.marginal == kInfiniteCost)
      continue;
    better |= try_open(cls);
  }
  return better;
}

/// Switches together all classes in use that could use this class and would gain if it were in use.
bool Incumbent::try_open(ClassId cls) {
  switches_.clear();
  double gain = 0;
  double marginal = std::exchange(rows_[cls.index].marginal, 0); // as if it were in use
  egraph_.for_users(cls, [&](ENodeId node) {
    ClassId user = class_of(egraph_, node);
    if (rows_[user.index].uses == 0 || class_at(egraph_, user).weight_only() ||
        !usable(egraph_, node))
      return;
    if (!switches_.empty() && switches_.back().cls == user) return;
    double delta = estimate(user, node);
    if (node == chosen(user) || delta >= 0) return;
    gain -= delta;
    switches_.push_back({user, node});
  });
  rows_[cls.index].marginal = marginal;
  if (switches_.size() < 2 || gain <= marginal) return false;
  return switch_all(total_);
}

bool Incumbent::close_classes() {
  bool better = false;
  for (ClassId cls : *classes_) {
    const Row& row = rows_[cls.index];
    // With one user, switching that user is the same move.
    if (row.uses < 2 || class_at(egraph_, cls).weight_only() || row.exclusive <= 0) continue;
    better |= try_close(cls);
  }
  return better;
}

/// Switches all users of a class together to their best nodes that do not need the class.
bool Incumbent::try_close(ClassId cls) {
  switches_.clear();
  double gain = rows_[cls.index].exclusive;
  uint32_t uses = 0;
  egraph_.for_users(cls, [&](ENodeId node) {
    ClassId user = class_of(egraph_, node);
    if (rows_[user.index].uses == 0 || !(state_.choice[user.index] == node)) return;
    ++uses;
    if (gain <= 0 || (!switches_.empty() && switches_.back().cls == user)) return;
    double delta = kInfiniteCost;
    ENodeId other = best_without(user, cls, delta);
    gain -= delta;
    switches_.push_back({user, other});
  });
  // An output needs the class, or a user has no alternative.
  if (uses < rows_[cls.index].uses || switches_.empty() || gain <= 0) return false;
  return switch_all(total_);
}

ENodeId Incumbent::best_without(ClassId user, ClassId cls, double& delta) const {
  ENodeId best;
  for (ENodeId node : egraph_.nodes(user)) {
    if (!usable(egraph_, node) || node == state_.choice[user.index]) continue;
    if (llvm::any_of(egraph_.children(node), [&](ClassId c) { return egraph_.find(c) == cls; }))
      continue;
    double d = estimate(user, node);
    if (d < delta) best = node, delta = d;
  }
  return best;
}

/// Makes all switches, and undoes them unless the cost falls.
bool Incumbent::switch_all(double before) {
  for (Switch& s : switches_) {
    if (rows_[s.cls.index].uses == 0) { // another switch put it out of use
      s.before = {};
      continue;
    }
    ENodeId old = chosen(s.cls);
    change(s.cls, s.before);
    s.before = old;
  }
  if (total_ < before * (1 - kLeastGain)) return true;
  for (size_t i = switches_.size(); i-- > 0;)
    if (switches_[i].before.valid() && rows_[switches_[i].cls.index].uses > 0)
      change(switches_[i].cls, switches_[i].before, /*back=*/true);
  return false;
}

// --- results ----------------------------------------------------------------------------------

std::vector<ENodeId> Incumbent::used_nodes() const {
  std::vector<ENodeId> nodes;
  for (ClassId cls : *classes_)
    if (rows_[cls.index].uses > 0) nodes.push_back(state_.choice[cls.index]);
  return nodes;
}

size_t Incumbent::memory_bytes() const {
  return rows_.capacity() * sizeof(Row) + state_.choice.capacity() * sizeof(ENodeId) +
         prices_.memory_bytes();
}

} // namespace tg
