// Evaluates a rule's expressions at one match: conditions and computed attributes. It does not
// depend on the e-graph: ClassFacts answers questions about the bindings of class variables.
// Integers are exact. An overflow beyond 64 bits, a division with a remainder or an index out of
// range fails, and then the rule does not apply. Operands of an expression precede it (the compiler
// ensures this), so evaluation terminates; its depth is bounded by that of the rule's text.
#pragma once

#include "compiler/rules/rule.h"

#include <optional>

namespace tg {

/// The questions of expressions about the classes that a match binds, by class variable.
class ClassFacts {
public:
  virtual TypeId type(uint32_t class_var) const = 0;
  /// Returns true if some member of the class depends only on weights and constants.
  virtual bool weight_only(uint32_t class_var) const = 0;
  /// Returns true if some member of the class is a constant leaf.
  virtual bool constant(uint32_t class_var) const = 0;

protected:
  ~ClassFacts() = default;
};

/// One match. `values` and the classes hold the bindings of the left side. An unbound variable has
/// the invalid id, and an expression that needs it has no value.
struct RuleMatch {
  const Rule& rule;
  Symbols& symbols;
  llvm::ArrayRef<ValueId> values;
  const ClassFacts& classes;
};

/// Returns the value of `expr` at this match, interned; nullopt if it has none.
std::optional<ValueId> evaluate(const RuleMatch& match, ExprIndex expr);

/// The same without interning.
std::optional<Value> evaluate_value(const RuleMatch& match, ExprIndex expr);

/// Returns true if `expr` is the Bool true; false if it has no value. Interns nothing.
bool holds(const RuleMatch& match, ExprIndex expr);

/// Returns true if all conditions of the rule hold. Allocates only for lists of floats, and of more
/// than 6 integers.
bool conditions_hold(const RuleMatch& match);

/// Returns the value of a slot of a right-side term: literal, variable or computed. It is not yet
/// in normal form (an axis may be negative); `infer` normalises it.
std::optional<ValueId> attribute(const RuleMatch& match, const TermAttr& attr);

} // namespace tg
