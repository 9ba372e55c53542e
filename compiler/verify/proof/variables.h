// Bindings of the rule's variables in a case, tensors and values, and the rule's conditions, which
// are assumed as soon as all their variables are known. Undetermined ranks and absent operands are
// choices of the case; undetermined sizes are symbols.
#pragma once

#include "compiler/rules/rule.h"
#include "compiler/verify/proof/symbolic/exprs.h"

#include <optional>
#include <vector>

namespace tg::proof {

/// Ranks that follow from a rule's text alone: conv2d takes tensors of rank 4, a literal
/// permutation gives the number of axes, both sides of a rule have the same rank. Without them a
/// proof would try all ranks for each tensor, most of which are impossible.
///
/// A rank given here is the only one for which both sides are well typed; a missing rank may be
/// any.
struct Ranks {
  std::vector<std::optional<size_t>> variables; // by class variable; none if it may be absent
  std::vector<std::optional<size_t>> terms;     // of results, by term
  std::vector<std::optional<size_t>> lengths;   // of lists, by value variable: len(s) == 2
  struct Plain {
    TermId term;
    std::vector<uint32_t> values; // right side: value variables that must be bound before
  };
  /// Operators whose types need no choice of ranks or of broadcasting, those of the left side
  /// first. A case types these before all others, so that sizes are known when operands broadcast.
  std::vector<Plain> plain;
};

Ranks known_ranks(const Rule& rule);

class Variables final : public Known {
public:
  /// `named`: the number of named axes of tensors of any rank; nullopt: ranks are cases.
  Variables(const Rule& rule, const Ranks& ranks, std::optional<size_t> named, Facts& facts);

  /// Returns the type of a tensor; an unknown one is chosen now.
  const Tensor& tensor(uint32_t v) override;
  bool known(uint32_t v) const { return tensors_[v].has_value(); }
  void bind(uint32_t v, Tensor type);
  /// Applies shape(x) == shape(y) or rank(x) == rank(y), if the other one is known.
  bool apply_equality(uint32_t v, Tensor& type);
  bool may_be_absent(uint32_t v) const { return may_be_absent_[v]; }

  const std::optional<Attr>& value(uint32_t v) const override { return values_[v]; }
  /// Gives an unknown value the value that a condition states for it.
  void take_from_conditions(uint32_t v);
  void set(uint32_t v, Attr value) { values_[v] = std::move(value); }

  /// Evaluates an expression; nullopt if it is not supported.
  std::optional<Attr> evaluate(ExprIndex at) { return exprs_.evaluate(at); }
  /// Assumes the conditions that can be assumed so far. A condition that is not supported is not
  /// assumed; then the proof covers more than the rule states.
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
