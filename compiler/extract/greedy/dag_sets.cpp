#include "compiler/extract/greedy/dag_sets.h"

#include <bit>

namespace tg {

DagSets::DagSets(size_t classes) : inner_(1), leaves_(1), cost_(classes) {
  while (classes > size_t{1} << (kBlockBits + kBranchBits * height_)) ++height_;
}

DagSets::Set DagSets::make_leaf(uint32_t block, uint32_t members) {
  Leaf leaf{members, 0};
  for (uint32_t rest = members; rest != 0; rest &= rest - 1)
    leaf.cost += cost_[(block << kBlockBits) + static_cast<uint32_t>(std::countr_zero(rest))];
  leaves_.push_back(leaf);
  return static_cast<Set>(leaves_.size() - 1);
}

/// If one side contains the other, it is the union itself, so that equal parts stay shared.
DagSets::Set DagSets::unite(Set a, Set b, unsigned level, uint32_t place) {
  if (a == b || b == kEmpty) return a;
  if (a == kEmpty) return b;
  if (level == 0) {
    uint32_t x = leaves_[a].members, y = leaves_[b].members;
    if ((y & ~x) == 0) return a;
    if ((x & ~y) == 0) return b;
    return make_leaf(place, x | y);
  }
  Inner merged;
  bool is_a = true, is_b = true;
  for (uint32_t i = 0; i < 1u << kBranchBits; ++i) {
    Set x = inner_[a].child[i], y = inner_[b].child[i];
    Set child = merged.child[i] = unite(x, y, level - 1, place << kBranchBits | i);
    merged.cost += cost(child, level - 1);
    is_a &= child == x;
    is_b &= child == y;
  }
  if (is_a) return a;
  if (is_b) return b;
  inner_.push_back(merged);
  return static_cast<Set>(inner_.size() - 1);
}

DagSets::Set DagSets::insert(Set set, ClassIx cls, unsigned level) {
  if (level == 0) {
    uint32_t bit = 1u << (cls.index & ((1u << kBlockBits) - 1));
    return make_leaf(cls.index >> kBlockBits, leaves_[set].members | bit);
  }
  Inner changed = inner_[set];
  Set& child = changed.child[branch(cls, level)];
  child = insert(child, cls, level - 1);
  changed.cost = 0;
  for (Set part : changed.child) changed.cost += cost(part, level - 1);
  inner_.push_back(changed);
  return static_cast<Set>(inner_.size() - 1);
}

bool DagSets::contains(Set set, ClassIx cls) const {
  for (unsigned level = height_; level > 0; --level) set = inner_[set].child[branch(cls, level)];
  return leaves_[set].members >> (cls.index & ((1u << kBlockBits) - 1)) & 1;
}

void DagSets::release(Mark mark) {
  inner_.resize(mark.inner);
  leaves_.resize(mark.leaves);
}

} // namespace tg
