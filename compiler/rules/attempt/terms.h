// The terms of a rule in an attempt at an instance: which have types, and what variables stand for.
//
// Invariant: a term's type is what `infer` said of it, or nothing; a variable that is bound stays
// what it is until the attempt ends.
#pragma once

#include "compiler/rules/attempt/hints.h"

namespace tg {

/// What gives operators types, by shape rule.
class OperatorMaker {
public:
  virtual bool make_op(TermId id, const Shape* want) = 0;

protected:
  ~OperatorMaker() = default;
};

class AttemptTerms {
public:
  /// All outlive it; `dtypes` are of class variables. What it finds goes to `instance`, why it
  /// fails to `why`.
  AttemptTerms(Symbols& symbols, const Rule& rule, llvm::ArrayRef<DType> dtypes,
               const RuleHints& hints, InstanceDraws& draws, OperatorMaker& operators,
               RuleInstance& instance, std::string& why);

  const Term& operator[](TermId id) const { return rule_.terms[id]; }
  bool is_op(TermId id) const { return rule_.terms[id].kind == Term::Kind::Op; }
  const TensorType& type(TermId id) const { return symbols_.type(types_[id]); }
  const Shape& shape(TermId id) const { return type(id).shape; }
  /// The shape of a term that is decided already, by bound variables alone.
  std::optional<Shape> known(TermId id);

  /// Gives the term a type, of that shape if one is wanted.
  bool make(TermId id, const Shape* want);
  bool make(TermId id, const Shape& want) { return make(id, &want); }
  /// An operand that may be absent.
  bool make_optional(TermId id, const Shape& want);
  bool make_with_rank(TermId id, const Shape* want, int64_t least);
  bool make_none(TermId id);
  /// A constant of a pattern: of the dtype that is drawn for what it stands beside.
  bool make_number(TermId id);
  /// Types the term from its operands and these attributes, and binds what the slots bind.
  bool finish(TermId id, llvm::ArrayRef<Value> values);
  /// Bias and residual, once x and y are made, and the whole.
  bool finish_with_epilogue(TermId id, int64_t channels, llvm::ArrayRef<Value> attrs);

  /// What a slot holds if that is decided: a literal, a bound variable, or what a condition says.
  std::optional<Value> attr(const Term& term, size_t slot) const;
  Value attr_or(const Term& term, size_t slot, Value otherwise) const;
  int64_t int_or(const Term& term, size_t slot, int64_t otherwise) const;
  /// What a variable in the slot stands for from now on: other slots may depend on it.
  void settle(const Term& term, size_t slot, const Value& value);
  /// Whether a slot is what a condition computes from what is not known yet: the operand, mostly.
  bool waits_for_type(const Term& term) const;

private:
  bool decided(TermId id) const;
  /// Fails where no tensor has the type: what regroups a shape may split it into too many axes.
  bool bind(uint32_t variable, const TensorType& type);

  Symbols& symbols_;
  const Rule& rule_;
  llvm::ArrayRef<DType> dtypes_;
  const RuleHints& hints_;
  InstanceDraws& draws_;
  OperatorMaker& operators_;
  RuleInstance& in_;
  std::string& why_;
  std::vector<TypeId> types_; // of terms; invalid until made
};

} // namespace tg
