// Expressions of a rule over symbolic sizes, following compiler/rules/eval.cpp. An expression
// without a value (a division with a remainder, the rank of an absent operand) makes the case
// impossible: the rule does not apply there.
#pragma once

#include "compiler/rules/rule.h"
#include "compiler/verify/proof/tensor.h"

namespace tg::proof {

/// The bindings of the variables in an expression.
class Known {
public:
  virtual const Tensor& tensor(uint32_t v) = 0;
  virtual const std::optional<Attr>& value(uint32_t v) const = 0;

protected:
  ~Known() = default;
};

class Exprs {
public:
  Exprs(const Rule& rule, Known& known, Facts& facts) : rule_(rule), known_(known), facts_(facts) {}

  /// Returns nullopt if the expression is not supported.
  std::optional<Attr> evaluate(ExprIndex at);

private:
  std::optional<Attr> question(const ValueExpr& e);
  std::optional<Attr> list(const ValueExpr& e);
  std::optional<Attr> item(const ValueExpr& e);
  std::optional<Attr> permuted(const ValueExpr& e);
  std::optional<Attr> number(const ValueExpr& e);
  std::optional<Attr> arithmetic(const ValueExpr& e);
  std::optional<Attr> integers(ValueExpr::Kind kind, const Poly& a, const Poly& b);
  std::optional<int64_t> constant(const Poly& p) { return facts_.arith().normal(p).constant(); }

  const Rule& rule_;
  Known& known_;
  Facts& facts_;
};

/// Converts a literal; nullopt for kinds that proofs do not support.
std::optional<Attr> literal(const tg::Value& value);

} // namespace tg::proof
