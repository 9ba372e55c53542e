// Expressions of a rule over symbolic sizes, after compiler/rules/eval.cpp. What has no value (a
// division that leaves a remainder, the rank of an absent operand) makes the case impossible: there
// the rule does not apply.
#pragma once

#include "compiler/rules/rule.h"
#include "compiler/verify/proof/tensor.h"

namespace tg::proof {

/// What the variables in an expression stand for.
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

  /// nullopt where it is not understood.
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

/// A value that is written; nullopt for kinds that proofs do not know.
std::optional<Attr> literal(const tg::Value& value);

} // namespace tg::proof
