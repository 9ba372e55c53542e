// What dtypes the tensors of a rule may have, from its operators and conditions. Tensors that have
// to agree are one group; of each group it is known which dtypes all of its operators take.
//
// Invariant: a dtype that `infer` admits somewhere in a group is among those of the group; `infer`
// may refuse more.
#pragma once

#include "compiler/rules/rule.h"

#include <random>

namespace tg {

class RuleDTypes {
public:
  explicit RuleDTypes(const Rule& rule);

  /// Of class variables: f32 where that is possible.
  const std::vector<DType>& usual() const { return usual_; }
  /// Of class variables: the usual ones, or now and then any that are possible.
  std::vector<DType> draw(std::mt19937_64& rng) const;
  /// Whether nothing keeps a term from being of integers.
  bool may_be_integer(TermId term) const;

private:
  using Set = uint8_t; // a bit for each dtype
  size_t cell(TermId id) const;
  size_t find(size_t cell) const;
  void unite(size_t a, size_t b);
  void read_term(TermId id);
  void read_condition(const ValueExpr& e, bool truth);
  void read_number(const NumberLike& condition);

  const Rule& rule_;
  /// Of terms that are operators, then of class variables:
  /// the forest of groups, and of roots what is possible.
  mutable std::vector<size_t> parent_;
  std::vector<Set> possible_;
  std::vector<DType> usual_;
};

} // namespace tg
