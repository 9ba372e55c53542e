// What the variables of the rule stand for in a case, tensors and values, and its conditions, which
// are assumed as soon as everything in them is known. Of what nothing says what it is, the case
// chooses (ranks, absent operands) or has symbols (sizes).
#pragma once

#include "compiler/rules/rule.h"
#include "compiler/verify/proof/symbolic/exprs.h"

#include <optional>
#include <vector>

namespace tg::proof {

/// What a rule's text alone says of ranks: conv2d takes tensors of rank 4, a literal permutation
/// has so many axes, both sides of a rule have one rank. Without it a proof would try all ranks for
/// each tensor, and find most of them impossible.
///
/// A rank that stands here is the only one with which both sides are well typed; what stands here
/// for nothing may be any.
struct Ranks {
  std::vector<std::optional<size_t>>
      variables;                              // by class variable; of one that may be absent, none
  std::vector<std::optional<size_t>> terms;   // results, by term
  std::vector<std::optional<size_t>> lengths; // of lists, by value variable: len(s) == 2
  struct Plain {
    TermId term;
    std::vector<uint32_t> values; // of the right side: value variables that must be bound before
  };
  /// Operators whose types follow without a choice of ranks or of what broadcasts, those of the
  /// left side first: a case types these before all others, so that what broadcasts finds its sizes
  /// known.
  std::vector<Plain> plain;
};

Ranks known_ranks(const Rule& rule);

class Variables final : public Known {
public:
  /// `named`: how many axes of tensors of any rank have names; nullopt: ranks are cases.
  Variables(const Rule& rule, const Ranks& ranks, std::optional<size_t> named, Facts& facts);

  /// What a tensor is, known or from now on.
  const Tensor& tensor(uint32_t v) override;
  bool known(uint32_t v) const { return tensors_[v].has_value(); }
  void bind(uint32_t v, Tensor type);
  /// shape(x) == shape(y), rank(x) == rank(y), where the other is known.
  bool like_another(uint32_t v, Tensor& type);
  bool may_be_absent(uint32_t v) const { return may_be_absent_[v]; }

  const std::optional<Attr>& value(uint32_t v) const override { return values_[v]; }
  /// Gives a value that is not known what a condition says of it.
  void take_from_conditions(uint32_t v);
  void set(uint32_t v, Attr value) { values_[v] = std::move(value); }

  /// An expression over them; nullopt where it is not understood.
  std::optional<Attr> evaluate(ExprIndex at) { return exprs_.evaluate(at); }
  /// Assumes what can be assumed by now. A condition that is not understood is not assumed: then
  /// more is proved than the rule says.
  void try_conditions();

private:
  bool bound_all(ExprIndex at) const;
  bool assume_condition(ExprIndex at, bool truth);
  bool assume_comparison(const ValueExpr& e, bool truth);

  const Rule& rule_;
  const Ranks& ranks_;
  std::optional<size_t> named_;
  Facts& facts_;
  Exprs exprs_;
  std::vector<std::optional<Tensor>> tensors_;
  std::vector<std::optional<Attr>> values_;
  std::vector<bool> assumed_, may_be_absent_;
};

} // namespace tg::proof
