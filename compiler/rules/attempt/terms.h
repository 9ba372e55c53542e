// The terms of a rule in an attempt at an instance: their types so far, and the bindings of
// variables.
//
// Invariant: a term's type is the result of `infer`, or unset; a bound variable keeps its binding
// until the attempt ends.
#pragma once

#include "compiler/rules/attempt/hints.h"

namespace tg {

/// Types operators, by shape rule.
class OperatorMaker {
public:
  virtual bool make_op(TermId id, const Shape* want) = 0;

protected:
  ~OperatorMaker() = default;
};

class AttemptTerms {
public:
  /// All arguments must outlive the object; `dtypes` is by class variable. The result goes to
  /// `instance`, the reason of a failure to `why`.
  AttemptTerms(Symbols& symbols, const Rule& rule, llvm::ArrayRef<DType> dtypes,
               const RuleHints& hints, InstanceDraws& draws, OperatorMaker& operators,
               RuleInstance& instance, std::string& why);

  const Term& operator[](TermId id) const { return rule_.terms[id]; }
  bool is_op(TermId id) const { return rule_.terms[id].kind == Term::Kind::Op; }
  const TensorType& type(TermId id) const { return symbols_.type(types_[id]); }
  const Shape& shape(TermId id) const { return type(id).shape; }
  /// Returns the shape of a term if bound variables alone determine it.
  std::optional<Shape> known(TermId id);

  /// Types the term, with the wanted shape if there is one.
  bool make(TermId id, const Shape* want);
  bool make(TermId id, const Shape& want) { return make(id, &want); }
  /// Types an operand that may be absent.
  bool make_optional(TermId id, const Shape& want);
  bool make_with_rank(TermId id, const Shape* want, int64_t least);
  bool make_none(TermId id);
  /// Types a constant of a pattern, with the dtype drawn for its neighbour.
  bool make_number(TermId id);
  /// Types the term from its operands and these attributes, and binds the variables of the slots.
  bool finish(TermId id, llvm::ArrayRef<Value> values);
  /// Types bias and residual, once x and y are typed, and then the term.
  bool finish_with_epilogue(TermId id, int64_t channels, llvm::ArrayRef<Value> attrs);

  /// Returns the value of a slot if it is determined: by a literal, a bound variable, or a
  /// condition.
  std::optional<Value> attr(const Term& term, size_t slot) const;
  Value attr_or(const Term& term, size_t slot, Value otherwise) const;
  int64_t int_or(const Term& term, size_t slot, int64_t otherwise) const;
  /// Binds a variable in the slot now: other slots may depend on it.
  void fix_slot(const Term& term, size_t slot, const Value& value);
  /// Returns true if a slot is computed by a condition from a value that is not known yet, usually
  /// the operand.
  bool waits_for_type(const Term& term) const;

private:
  bool decided(TermId id) const;
  /// Fails if no tensor has the type: regrouping a shape may give too many axes.
  bool bind(uint32_t variable, const TensorType& type);

  Symbols& symbols_;
  const Rule& rule_;
  llvm::ArrayRef<DType> dtypes_;
  const RuleHints& hints_;
  InstanceDraws& draws_;
  OperatorMaker& operators_;
  RuleInstance& in_;
  std::string& why_;
  std::vector<TypeId> types_; // by term; invalid until typed
};

} // namespace tg
