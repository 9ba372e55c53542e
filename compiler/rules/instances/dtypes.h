// The dtypes that the tensors of a rule may have, by its operators and conditions. Tensors that
// must have equal dtypes form a group; a group has the dtypes that all of its operators accept.
//
// Invariant: a dtype that `infer` admits somewhere in a group is one of the group's dtypes; `infer`
// may reject more.
#pragma once

#include "compiler/rules/rule.h"

#include <random>

namespace tg {

class RuleDTypes {
public:
  explicit RuleDTypes(const Rule& rule);

  /// By class variable: f32 if possible.
  const std::vector<DType>& usual() const { return usual_; }
  /// By class variable: the usual ones, or now and then any possible ones.
  std::vector<DType> draw(std::mt19937_64& rng) const;
  /// Returns true if a term may have integers.
  bool may_be_integer(TermId term) const;

private:
  using Set = uint8_t; // one bit per dtype
  size_t cell(TermId id) const;
  size_t find(size_t cell) const;
  void unite(size_t a, size_t b);
  void read_term(TermId id);
  void read_condition(const ValueExpr& e, bool truth);
  void read_number(const NumberLike& condition);

  const Rule& rule_;
  /// By term for operators, then by class variable: the forest of groups, and the possible dtypes
  /// of its roots.
  mutable std::vector<size_t> parent_;
  std::vector<Set> possible_;
  std::vector<DType> usual_;
};

} // namespace tg
