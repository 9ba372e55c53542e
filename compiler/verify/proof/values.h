// Elements of terms at a symbolic index, after lang/core/semantics/.
//
// A model of an operator reads all of its attributes and types all of its operands: one that leaves
// something unread ends the proof (Types::expect_all_read), so that what is not modelled is never
// ignored.
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

/// Of one element of each operand: what is rational as it is, the rest as arbitrary functions; so
/// is a division that may be of integers. Attributes stand behind the operands.
Value pointwise(Sums& sums, OpKind op, std::vector<Value> args, bool integers = false);

} // namespace tg::proof
