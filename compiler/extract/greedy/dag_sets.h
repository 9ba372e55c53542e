// Sets of classes that share their storage. A set is a number; union makes a new set from the parts
// of old ones that differ. The sets are tries with eight branches over blocks of 32 classes. Every
// part stores the sum of the costs of its members, so that the cost of a union is known when it is
// made. A bit set for each of a million classes would take 125 GB. These sets take some hundred
// bytes per class, since a class's set consists of its operands' sets and itself.
#pragma once

#include "compiler/extract/problem.h"

namespace tg {

class DagSets {
public:
  using Set = uint32_t;
  static constexpr Set kEmpty = 0;

  explicit DagSets(size_t classes);
  /// Sets the cost of a class. A part of a set uses the cost at the time when the part is made.
  void set_cost(ClassIx cls, double cost) { cost_[cls.index] = cost; }
  Set unite(Set a, Set b) { return unite(a, b, height_, 0); }
  Set insert(Set set, ClassIx cls) { return insert(set, cls, height_); }
  bool contains(Set set, ClassIx cls) const;
  double cost(Set set) const { return cost(set, height_); }

  size_t bytes() const { return inner_.size() * sizeof(Inner) + leaves_.size() * sizeof(Leaf); }
  /// Forgets all sets made since the mark; they must not be used afterwards.
  struct Mark {
    size_t inner, leaves;
  };
  Mark mark() const { return {inner_.size(), leaves_.size()}; }
  void release(Mark mark);

private:
  static constexpr unsigned kBlockBits = 5, kBranchBits = 3; // 32 classes, 8 branches
  struct Leaf {
    uint32_t members = 0;
    double cost = 0;
  };
  struct Inner {
    uint32_t child[1u << kBranchBits] = {};
    double cost = 0;
  };

  // `level` 0 is the leaves. `place` encodes the branches taken so far; at level 0 it is the block.
  // The recursion is shallow: the number of levels does not depend on the shape of the problem.
  Set unite(Set a, Set b, unsigned level, uint32_t place);
  Set insert(Set set, ClassIx cls, unsigned level);
  Set make_leaf(uint32_t block, uint32_t members);
  double cost(Set set, unsigned level) const {
    return level == 0 ? leaves_[set].cost : inner_[set].cost;
  }
  unsigned branch(ClassIx cls, unsigned level) const {
    return cls.index >> (kBlockBits + kBranchBits * (level - 1)) & ((1u << kBranchBits) - 1);
  }

  unsigned height_ = 1;
  std::vector<Inner> inner_; // [0] is the empty set at every level
  std::vector<Leaf> leaves_; // the same
  std::vector<double> cost_; // by class
};

} // namespace tg
