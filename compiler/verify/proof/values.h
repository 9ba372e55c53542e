// Elements of terms at a symbolic index, following lang/core/semantics/.
//
// The model of an operator must read all of its attributes and type all of its operands. If it does
// not, the proof ends (Types::expect_all_read), so that unmodelled parts are never ignored.
#pragma once

#include "compiler/rules/instances/dtypes.h"
#include "compiler/verify/proof/symbolic/indices.h"
#include "compiler/verify/proof/types.h"

namespace tg::proof {

class Elements {
public:
  Elements(const Rule& rule, Types& types, Facts& facts)
      : rule_(rule), dtypes_(rule), types_(types), facts_(facts), sums_(facts.arith()),
        indices_(facts) {}

  Value at(TermId id, const Index& index);
  bool equal(const Value& a, const Value& b) { return sums_.equal(a, b); }
  bool overflowed() const { return sums_.overflowed(); }

private:
  Value element(TermId id, const Index& index);
  // `Value conv2d(TermId id, const Index& index);` and so on, of the shape rules that proofs know.
#define TG_OP(...)
#define TG_SHAPE(shape, ...) Value shape(TermId id, const Index& index);
#include "lang/core/ops.def"
  Value epilogue(TermId id, Value sum, const Index& index, size_t channel_axis);
  Value activated(const Attr& act, Value value);
  Index operand_index(TermId operand, const Index& index);
  Value within(TermId operand, const Index& index, std::vector<Fact> guards);

  const Rule& rule_;
  RuleDTypes dtypes_;
  Types& types_;
  Facts& facts_;
  Sums sums_;
  Indices indices_;
};

/// Applies an operator to one element of each operand. Rational operators are exact, the others
/// are uninterpreted functions, including a division that may be of integers. Attributes come
/// after the operands.
Value pointwise(Sums& sums, OpKind op, std::vector<Value> args, bool integers = false);

} // namespace tg::proof
