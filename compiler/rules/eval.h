// Evaluation of a rule's expressions at one match: conditions and computed attributes. Knows no
// e-graph: what a class variable is bound to is asked through ClassFacts. Integers are exact; what
// does not fit 64 bits, leaves a remainder or indexes out of range fails, and then the rule does
// not apply. Expressions name only earlier ones as operands (the compiler keeps that), so that an
// evaluation ends; its depth is bounded by the depth of the rule's text.
#pragma once

#include "compiler/rules/rule.h"

#include <optional>

namespace tg {

/// What expressions may ask about the classes that a match binds; numbers are class variables.
class ClassFacts {
public:
  virtual TypeId type(uint32_t class_var) const = 0;
  /// Some member of the class depends on weights and constants only.
  virtual bool weight_only(uint32_t class_var) const = 0;
  /// Some member of the class is a constant leaf.
  virtual bool constant(uint32_t class_var) const = 0;

protected:
  ~ClassFacts() = default;
};

/// One match. `values` and the classes hold what the left side binds; what is not yet bound has the
/// invalid id, and an expression that needs it has no value.
struct RuleMatch {
  const Rule& rule;
  Symbols& symbols;
  llvm::ArrayRef<ValueId> values;
  const ClassFacts& classes;
};

/// The value of `expr` at this match, interned; nullopt where it has none.
std::optional<ValueId> evaluate(const RuleMatch& match, ExprIndex expr);

/// The same, not interned.
std::optional<Value> evaluate_value(const RuleMatch& match, ExprIndex expr);

/// Whether `expr` is the Bool true. An expression that has no value does not hold. Interns nothing.
bool holds(const RuleMatch& match, ExprIndex expr);

/// Whether all conditions of the rule hold. Does not allocate but for lists of floats, or of more
/// than 6 integers.
bool conditions_hold(const RuleMatch& match);

/// The value of a slot of a right-side term: literal, variable or computed. Not yet in normal form
/// (a negative axis, say): `infer` brings it there.
std::optional<ValueId> attribute(const RuleMatch& match, const TermAttr& attr);

} // namespace tg
