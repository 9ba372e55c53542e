#include "compiler/verify/proof/case.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

Case::Case(const Rule& rule, const Ranks& ranks, Choices& choices, std::optional<size_t> named,
           std::shared_ptr<Solver> solver, size_t budget)
    : rule_(rule), ranks_(ranks), facts_(choices, std::move(solver), budget),
      variables_(rule, ranks, named, facts_), types_(rule, ranks, variables_, facts_),
      elements_(rule, types_, facts_) {}

/// Types come first, then values. All assumptions are made before values are compared: the engine
/// applies a rule only if both sides are typed, their types are equal, and conditions hold.
Outcome Case::run() {
  type_plain();
  for (TermId root : rule_.lhs) types_.type(root);
  variables_.try_conditions();
  type_sides();
  variables_.try_conditions();
  types_.windows().join();
  if (!facts_.halted() && !facts_.arith().consistent()) facts_.stop(Outcome::Impossible);
  for (size_t i = 0; i < rule_.rhs.size() && !facts_.halted(); ++i) compare(i);
  if (facts_.arith().exhausted() || elements_.overflowed()) return Outcome::Unproved;
  return facts_.outcome();
}

/// Types both sides together, in any order: a case is what both admit. Attributes are bound only by
/// the left side, whose slots determine their kinds.
void Case::type_plain() {
  for (const Ranks::Plain& plain : ranks_.plain) {
    if (facts_.halted()) return;
    if (llvm::all_of(plain.values, [&](uint32_t v) { return variables_.value(v).has_value(); }))
      types_.type(plain.term);
  }
}

/// Requires both sides of each result to have the same type.
void Case::type_sides() {
  for (size_t i = 0; i < rule_.rhs.size() && !facts_.halted(); ++i) {
    Tensor left = types_.type(rule_.lhs[i]), right = types_.type(rule_.rhs[i]);
    if (facts_.halted()) break;
    must_be_as_many(facts_, left, right);
    for (size_t axis = 0; axis < left.dims.size() && !facts_.halted(); ++axis)
      facts_.must_equal(left.dims[axis], right.dims[axis]);
  }
}

void Case::compare(size_t result) {
  const std::vector<Poly> dims = types_.type(rule_.lhs[result]).dims;
  Index index;
  for (const Poly& dim : dims) {
    if (facts_.is(dim, 1)) {
      index.push_back(0);
      continue;
    }
    index.push_back(facts_.arith().fresh_poly(0));
    facts_.arith().assume(less(index.back(), dim));
  }
  Value left = elements_.at(rule_.lhs[result], index),
        right = elements_.at(rule_.rhs[result], index);
  if (facts_.halted()) return;
  if (!facts_.arith().consistent()) return facts_.stop(Outcome::Impossible);
  if (!elements_.equal(left, right)) facts_.stop(Outcome::Unproved, "the normal forms differ");
}

} // namespace tg::proof
